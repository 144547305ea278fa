/**
 * A record as received: the bytes of its JSON text, and the fields that readers use. The text is parsed only if the
 * warehouse does not know these bytes.
 */
import { SafetySyncError } from './errors.ts';

/** Deeper records cannot be stored: PostgreSQL and recursive functions fail somewhere beyond a thousand levels. */
export const DEEPEST = 200;

interface About {
  /** Fields of the record itself, by their names: those that readers use. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The reason why the record cannot be stored as a row, and is not complete here; null: it can. */
  readonly excess?: string | null;
  /** Its value if it was not received as text. */
  readonly value?: { readonly parsed: unknown } | undefined;
  /** Where its bytes are; default: all of them. */
  readonly from?: number;
  readonly to?: number;
}

export class Received {
  /** Bounds instead of a view: the views of 100,000 records take 20 MB. */
  private readonly source: Buffer;
  private readonly from: number;
  readonly length: number;
  readonly excess: string | null;
  /** Set by `recordKey`, because readers need the key several times; undefined: not read yet. */
  key: string | null | undefined;
  private readonly fields: Readonly<Record<string, unknown>>;
  private readonly value: About['value'];

  constructor(source: Buffer, { fields, excess = null, value, from = 0, to = source.length }: About) {
    this.source = source;
    this.from = from;
    this.length = to - from;
    this.fields = fields;
    this.excess = excess;
    this.value = value;
  }

  /** A record that was created by this program, or that was parsed already; `text` has the digits that JavaScript's numbers lack. */
  static of(value: unknown, text?: string): Received {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const fields = isObject ? (value as Record<string, unknown>) : {};
    if (isTooDeep(value)) {
      const flat = Object.entries(fields).filter(([, inner]) => typeof inner !== 'object');
      return new Received(Buffer.alloc(0), { fields: Object.fromEntries(flat), excess: TOO_DEEP });
    }
    const bytes = Buffer.from(text ?? JSON.stringify(value));
    return new Received(bytes, { fields, value: { parsed: value } });
  }

  /** One of the fields that readers use; undefined: the record has none of this name. */
  field(name: string): unknown {
    return this.fields[name];
  }

  get bytes(): Buffer {
    return this.source.subarray(this.from, this.from + this.length);
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** Error: `response_not_json`. A record that is too large or too deep has only its fields here. */
  parse(text = this.text): unknown {
    if (this.value !== undefined) return this.value.parsed;
    return this.excess === null ? parseReceived(text) : this.fields;
  }

  /** The record with another value. */
  replace(value: unknown): Received {
    const made = Received.of(value);
    if (this.excess === null || made.excess !== null) return made;
    return new Received(made.bytes, { fields: made.fields, excess: this.excess });
  }
}

export const TOO_DEEP = `the record is nested deeper than ${DEEPEST} levels`;

function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > DEEPEST || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

/** Error: `response_not_json`. */
export function parseReceived(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The message of JSON.parse quotes the failing text, which may contain anything, so it is not passed on.
    throw new SafetySyncError('response_not_json', 'an element of the list is not JSON');
  }
}
