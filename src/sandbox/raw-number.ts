/** A number that a double cannot hold, written verbatim. Planted records may contain it. */
export class RawNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The JSON.stringify form; `writeJson` removes the mark. */
  toJSON(): string {
    return `\u0001raw number ${this.text}`;
  }
}

/** JSON.stringify with support for raw numbers. */
export function writeJson(value: unknown, spaces?: number): string {
  const text = JSON.stringify(value, null, spaces);
  return text.includes('\\u0001raw number ') ? text.replace(/"\\u0001raw number ([^"]*)"/g, '$1') : text;
}

/** Writes the value in another spelling, selected by `turn`: order of fields, white space, numbers and characters. */
export function writeOtherJson(value: unknown, turn: number): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value);
    return turn % 2 === 0
      ? text
      : text.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
  if (typeof value === 'number' && Number.isSafeInteger(value)) {
    return [`${value}`, `${value}.0`, `${value}e0`, value === 0 ? '-0' : `${value}0e-1`][turn % 4] ?? '';
  }
  if (typeof value !== 'object' || value === null || value instanceof RawNumber) return writeJson(value);
  const space = [' ', '\n', '\t', ''][turn % 4] ?? '';
  if (Array.isArray(value)) {
    return `[${space}${value.map((one) => writeOtherJson(one, turn)).join(`,${space}`)}${space}]`;
  }
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const from = entries.length === 0 ? 0 : turn % entries.length;
  const fields = [...entries.slice(from), ...entries.slice(0, from)].map(
    ([name, inner]) => `${JSON.stringify(name)}${space}:${space}${writeOtherJson(inner, turn)}`,
  );
  return `{${space}${fields.join(`${space},`)}${space}}`;
}
