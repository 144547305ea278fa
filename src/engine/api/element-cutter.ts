/**
 * Cuts the elements of the top-level array `listKey` out of a JSON response as its bytes arrive, so that a response of
 * any size needs the memory of one chunk and one element. Everything outside of the list is the envelope.
 */
import { parseExactJson } from '../../shared/exact-json.ts';
import { DEEPEST, Received, TOO_DEEP } from '../../shared/received.ts';
import { CLOSING_BRACKET, COMMA, ElementScan, ElementSkip, readOutline, SPACE } from './json-elements.ts';
import { UnusableResponse } from './response-errors.ts';

/** An element and what is outside of the list are held in memory. Only the fields at the beginning of a larger element are read. */
const LARGEST_HELD_BYTES = 16 * 1024 * 1024;

/** If more is held, it is scanned again when its length has doubled, because each scan begins at its start. */
const RESCANNED_BYTES = 64 * 1024;

/** A response at its end. */
export interface CutResponse {
  /** The whole response, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly count: number;
}

/** The section of the response that the held bytes belong to; `skip`: an element that is too large to be held. */
type ResponseSection = 'head' | 'list' | 'skip' | 'tail';

const NO_BYTES = Buffer.alloc(0);
const notJson = (message: string) => new UnusableResponse('response_not_json', message);

export class ElementCutter {
  private readonly listKey: string | undefined;
  private readonly scan: ElementScan;
  private skipping = new ElementSkip();
  private section: ResponseSection = 'head';
  /** Bytes that are not cut yet. */
  private held: Buffer[] = [];
  private heldBytes = 0;
  private scanFromBytes = 0;
  private receivedBytes = 0;
  /** The response up to the bracket that opens its list. */
  private head = NO_BYTES;
  private elements: Received[] = [];
  private count = 0;

  /** `listKey` undefined: the whole response is envelope. `fields`: those of an element that readers look at. */
  constructor(listKey: string | undefined, fields: readonly string[] = []) {
    this.listKey = listKey;
    this.scan = new ElementScan(fields);
  }

  /** Reads further. Throws UnusableResponse as soon as the response cannot become a usable one. */
  push(chunk: Buffer): void {
    this.held.push(chunk);
    this.heldBytes += chunk.length;
    this.receivedBytes += chunk.length;
    if (this.heldBytes >= this.scanFromBytes || this.heldBytes > LARGEST_HELD_BYTES) this.cut();
  }

  /** Elements of the list that ended since the last call. */
  take(): Received[] {
    const taken = this.elements;
    this.elements = [];
    return taken;
  }

  /** Throws UnusableResponse when the response has not ended yet. May leave elements to take. */
  end(): CutResponse {
    this.cut();
    const bytes = Buffer.concat([this.head, ...this.held]);
    // Without white space and a byte order mark.
    const text = bytes.toString().trim();
    const { end, keys } = readOutline(bytes, this.listKey);
    if (text === '') throw new UnusableResponse('response_cut', 'the response is empty');
    if (end === undefined || this.section === 'list' || this.section === 'skip') {
      const after = `after ${this.receivedBytes} bytes`;
      throw new UnusableResponse('response_cut', `the response ends in the middle, ${after}`);
    }
    if (keys > 1) throw new UnusableResponse('response_invalid', 'the response has its list twice');
    if (bytes.subarray(end).toString().trim() !== '')
      throw notJson('something follows the end of the response');
    try {
      // Without a list this is the requested record; with a list it only contains counts and times.
      const parse = this.listKey === undefined ? parseExactJson : JSON.parse;
      return { envelope: parse(text) as CutResponse['envelope'], count: this.count };
    } catch {
      throw notJson('the response is not JSON');
    }
  }

  /** Cuts the held bytes as far as they go. */
  private cut(): void {
    let bytes = this.held.length === 1 ? (this.held[0] ?? NO_BYTES) : Buffer.concat(this.held);
    let section: ResponseSection;
    do {
      ({ section } = this);
      if (section === 'head') bytes = this.cutHead(bytes);
      else if (section === 'list') bytes = this.cutList(bytes);
      else if (section === 'skip') bytes = this.cutSkipped(bytes);
      else this.checkSize(bytes);
    } while (section !== this.section);
    this.held = bytes.length === 0 ? [] : [bytes];
    this.heldBytes = bytes.length;
    this.scanFromBytes = bytes.length < RESCANNED_BYTES ? 0 : 2 * bytes.length;
  }

  private checkSize({ length }: Buffer): void {
    if (length <= LARGEST_HELD_BYTES) return;
    const message = `the response has more than ${LARGEST_HELD_BYTES} bytes outside of its list`;
    throw new UnusableResponse('response_invalid', message);
  }

  private cutHead(bytes: Buffer): Buffer {
    // The first character after a byte order mark and white space.
    const [first = '{'] = /[^\xef\xbb\xbf\s]/.exec(bytes.toString('latin1', 0, 64)) ?? [];
    if (first !== '{') throw notJson('the response is not a JSON object');
    const { listAt } = readOutline(bytes, this.listKey, true);
    if (listAt === undefined) {
      this.checkSize(bytes);
      return bytes;
    }
    // The list leaves two brackets behind: it stays in the envelope as an empty array.
    this.head = Buffer.concat([bytes.subarray(0, listAt), Buffer.from(']')]);
    this.section = 'list';
    return bytes.subarray(listAt);
  }

  private cutList(bytes: Buffer): Buffer {
    let start = 0;
    for (;;) {
      const end = this.scan.run(bytes, start);
      if (end === -1) break;
      const isLast = bytes[end] !== COMMA;
      this.add(bytes, start, end, isLast);
      if (isLast) return this.close(bytes, end);
      start = end + 1;
    }
    const rest = bytes.subarray(start);
    if (rest.length > LARGEST_HELD_BYTES) {
      this.count += 1;
      const excess = `the record is larger than ${LARGEST_HELD_BYTES} bytes (number ${this.count} of its response)`;
      // The fields that ended in the beginning of the element are kept.
      this.elements.push(new Received(NO_BYTES, { fields: this.scan.fields(bytes), excess }));
      this.skipping = new ElementSkip();
      this.section = 'skip';
    }
    return rest;
  }

  private cutSkipped(bytes: Buffer): Buffer {
    const end = this.skipping.run(bytes);
    if (end === -1) return NO_BYTES;
    if (bytes[end] !== COMMA) return this.close(bytes, end);
    this.section = 'list';
    return bytes.subarray(end + 1);
  }

  private close(bytes: Buffer, end: number): Buffer {
    if (bytes[end] !== CLOSING_BRACKET) throw notJson('the list is closed by a brace');
    this.section = 'tail';
    return bytes.subarray(end + 1);
  }

  private add(bytes: Buffer, from: number, to: number, isLast: boolean): void {
    let start = from;
    let end = to;
    while (start < end && (bytes[start] ?? 0) <= SPACE) start += 1;
    while (end > start && (bytes[end - 1] ?? 0) <= SPACE) end -= 1;
    if (start === end) {
      if (isLast && this.count === 0) return;
      throw notJson('the list has a comma without an element');
    }
    this.count += 1;
    const { deepest, hasLongNumber } = this.scan;
    const excess = deepest > DEEPEST ? TOO_DEEP : null;
    const fields = this.scan.fields(bytes);
    this.elements.push(new Received(bytes.subarray(start, end), { fields, excess, hasLongNumber }));
  }
}
