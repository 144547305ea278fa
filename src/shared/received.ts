/**
 * A record as received: the bytes of its JSON text, and the fields that readers use. The text is parsed only if the
 * warehouse does not know these bytes.
 */
import { SafetySyncError } from './errors.ts';

interface About {
  /** Fields of the record itself, by their names: those that readers use. */
  readonly fields: Readonly<Record<string, unknown>>;
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
  /** Set by `recordKey`, because readers need the key several times; undefined: not read yet. */
  key: string | null | undefined;
  private readonly fields: Readonly<Record<string, unknown>>;
  private readonly value: About['value'];

  constructor(source: Buffer, { fields, value, from = 0, to = source.length }: About) {
    this.source = source;
    this.from = from;
    this.length = to - from;
    this.fields = fields;
    this.value = value;
  }

  /** A record that was created by this program, or that was parsed already; `text` has the digits that JavaScript's numbers lack. */
  static of(value: unknown, text?: string): Received {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const fields = isObject ? (value as Record<string, unknown>) : {};
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

  /** Error: `response_not_json`. */
  parse(text = this.text): unknown {
    return this.value === undefined ? parseReceived(text) : this.value.parsed;
  }
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
