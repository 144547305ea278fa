import type { Readings } from './readings.ts';

const MARK = '\u0001raw number ';

/** A number that a double cannot hold, written verbatim. Planted records may contain it. */
export class RawNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The JSON.stringify form; `writeJson` removes the mark. */
  toJSON(): string {
    return `${MARK}${this.text}`;
  }
}

/** With dots in its name, which no path of a known field has at this place. */
const EXTRA_FIELD = 'x.extra.field';
const EXTRA_VALUE = { since: 'later', list: [1, null, 'x'] };
/** Objects of these fields have keys of their own. */
const FREE_OBJECTS = ['metavalues', 'signature', EXTRA_FIELD];

/** Number of responses that were sent. */
let turn = 0;

/** JSON.stringify of a response by the readings. */
export function writeJson(
  response: object,
  { leftOut, extraFields, bytes }: Readings,
  isPretty: boolean,
): string {
  turn += 1;
  const isOther = bytes === 'other-each-time';
  const toOther = (value: object): object => {
    const entries = Object.entries(value);
    const from = turn % Math.max(1, entries.length);
    return Object.fromEntries([...entries.slice(from), ...entries.slice(0, from)]);
  };
  const shape = (key: string, value: unknown): unknown => {
    if (leftOut.includes(key)) return undefined;
    if (isOther && Number.isSafeInteger(value) && turn % 2 === 0) return `${MARK}${String(value)}.0`;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    // Not the response itself: because of an unknown member of that a worker deletes nothing.
    const isExtended = extraFields && key !== '' && !FREE_OBJECTS.includes(key) && !('item_ids' in value);
    const fields = isExtended ? { ...value, [EXTRA_FIELD]: EXTRA_VALUE } : value;
    return isOther ? toOther(fields) : fields;
  };
  const isShaped = isOther || extraFields || leftOut.length > 0;
  const space = isPretty ? 2 : isOther ? turn % 3 : undefined;
  const text = JSON.stringify(response, isShaped ? shape : undefined, space);
  return text.includes('\\u0001raw number ') ? text.replace(/"\\u0001raw number ([^"]*)"/g, '$1') : text;
}
