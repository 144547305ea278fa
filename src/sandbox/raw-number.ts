/** A number of a response that a double does not hold: written as it is. Records may be planted with it. */
export class RawNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** What JSON.stringify makes of it; `writeJson` takes the mark away. */
  toJSON(): string {
    return `\u0001raw number ${this.text}`;
  }
}

/** JSON.stringify that also knows raw numbers. */
export function writeJson(value: unknown, spaces?: number): string {
  const text = JSON.stringify(value, null, spaces);
  return text.includes('\\u0001raw number ') ? text.replace(/"\\u0001raw number ([^"]*)"/g, '$1') : text;
}
