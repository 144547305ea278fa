/** Reads the body of one response: decompressed, cut into records and passed on as it arrives. */
import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { BrotliDecompress, Gunzip } from 'node:zlib';
import { SECOND_MS } from '../../shared/time.ts';
import type { Clock } from '../../shared/time.ts';
import type { Received } from '../../shared/received.ts';
import { ElementScanner } from './json-elements.ts';
import { EnvelopeScanner, type ListFound } from './json-envelope.ts';
import { UnusableResponse } from './response-errors.ts';

/** Sent as Accept-Encoding: what `createDecompressor` can undo. */
export const ACCEPTED_ENCODINGS = 'gzip, br';

const CHUNK_BYTES = 64 * 1024;

function createDecompressor(encoding: string): Gunzip | BrotliDecompress {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ chunkSize: CHUNK_BYTES });
    case 'br':
      return createBrotliDecompress({ chunkSize: CHUNK_BYTES });
    default:
      throw new UnusableResponse(
        'response_not_json',
        'the response has a content encoding that was not asked for',
      );
  }
}

/**
 * The body before compression, chunk by chunk; `onReceived` receives the number of bytes that came over the
 * wire.
 */
function openChunks(
  body: Readable,
  encoding: string | undefined,
  onReceived: (bytes: number) => void,
): AsyncIterator<Buffer> {
  const count = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      onReceived(chunk.length);
      yield chunk;
    }
  };
  if (encoding === undefined) return count(body);
  const plain = createDecompressor(encoding);
  // A failure of either side destroys the other; the reader of `plain` receives it as an error.
  pipeline(body, count, plain, () => undefined);
  return plain[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
}

/** The problem of the response; undefined: none, its connection broke. zlib has its own error messages. */
function toUnusable(error: unknown): UnusableResponse | undefined {
  if (error instanceof UnusableResponse) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR') {
    return new UnusableResponse('response_cut', 'the compressed response ends in the middle');
  }
  if (typeof code === 'string' && (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT'))) {
    return new UnusableResponse('response_not_json', 'the response is not compressed in the way it says');
  }
  return undefined;
}

/** A response that arrives at this rate or faster is healthy, however long it takes in total. */
const HEALTHY_BYTES_PER_SECOND = 16 * 1024;

/**
 * The time for which the service may delay one response. Only the time from the request for the next bytes to their arrival
 * counts, not the program's own processing time. There are two limits: the request's timeout for each single wait, and the
 * request's timeout plus an allowance for each received byte for all waits together. So a response that arrives byte by
 * byte ends, and so does one that stops after a gigabyte; a large healthy response does not.
 */
interface WaitingBudget {
  /** The wait for the response's beginning does not count for its body. */
  beginBody(): void;
  startWaiting(): void;
  stopWaiting(bytesReceived: number): void;
}

interface WaitingBudgetOptions {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onExhausted: () => void;
}

export function createWaitingBudget({ timeoutMs, clock, onExhausted }: WaitingBudgetOptions): WaitingBudget {
  let allowedMs = timeoutMs;
  let waitedMs = 0;
  let waitingSinceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    beginBody: () => {
      allowedMs = timeoutMs;
      waitedMs = 0;
    },
    startWaiting: () => {
      waitingSinceMs = clock.monotonicMs();
      timer = setTimeout(onExhausted, Math.max(0, Math.min(timeoutMs, allowedMs - waitedMs)));
    },
    stopWaiting: (bytesReceived) => {
      clearTimeout(timer);
      waitedMs += clock.monotonicMs() - waitingSinceMs;
      allowedMs += (bytesReceived / HEALTHY_BYTES_PER_SECOND) * SECOND_MS;
    },
  };
}

/** A response at its end. */
export interface CutResponse {
  /** The whole response, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly listFound: ListFound;
  readonly count: number;
}

interface ElementCutter {
  /** Reads further. Throws UnusableResponse as soon as the response cannot become a usable one. */
  push(chunk: Buffer): void;
  /** Elements of the list that ended since the last call. */
  take(): Received[];
  /** Throws UnusableResponse when the response has not ended yet. May leave elements to take. */
  end(): CutResponse;
}

/**
 * Cuts the elements of the top-level array `listKey` out of a JSON response as its bytes arrive, so that a response of
 * any size needs the memory of one chunk and one element. Without a key everything is envelope. `fields`: those of an element
 * that readers look at.
 */
export function createElementCutter(
  listKey: string | undefined,
  fields: readonly string[] = [],
): ElementCutter {
  const envelope = new EnvelopeScanner(listKey);
  let list: ElementScanner | undefined;
  let elements: Received[] = [];
  let count = 0;

  const takeFrom = (scanner: ElementScanner): void => {
    const taken = scanner.take();
    count += taken.length;
    elements = elements.length === 0 ? taken : [...elements, ...taken];
  };

  const push = (chunk: Buffer): void => {
    let rest: Buffer | undefined = chunk;
    while (rest !== undefined && rest.length > 0) {
      if (list === undefined) {
        const at = envelope.push(rest, 0);
        if (at !== undefined) list = new ElementScanner(fields);
        rest = at === undefined ? undefined : rest.subarray(at);
      } else {
        rest = list.push(rest);
        takeFrom(list);
        if (rest !== undefined) list = undefined;
      }
    }
  };
  return {
    push,
    take: () => {
      const taken = elements;
      elements = [];
      return taken;
    },
    end: () => {
      const rest = list?.end();
      if (list !== undefined && rest !== undefined) {
        takeFrom(list);
        list = undefined;
        push(rest);
      }
      return { envelope: envelope.end(), listFound: envelope.listFound, count };
    },
  };
}

const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

/** The number of bytes of an unusable response that are read for the excerpt in the error. */
const HEAD_BYTES = 4096;

/** The result is awaited, so a slow consumer slows the response down. Called at least once for a successful response. */
export type TakeRecords = (records: readonly Received[]) => Promise<void>;

/** Passes records on in batches. */
function createBatcher(takeRecords: TakeRecords | undefined): {
  add(records: Received[], bytes: number): Promise<void>;
  flush(): Promise<void>;
} {
  let pending: Received[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    const records = pending;
    pending = [];
    pendingBytes = 0;
    let from = 0;
    do {
      await takeRecords?.(records.slice(from, from + BATCH_RECORDS));
      from += BATCH_RECORDS;
    } while (from < records.length);
  };
  return {
    add: async (records, bytes) => {
      pending = pending.length === 0 ? records : pending.concat(records);
      pendingBytes += bytes;
      if (pending.length >= BATCH_RECORDS || (pending.length > 0 && pendingBytes >= BATCH_BYTES))
        await flush();
    },
    flush,
  };
}

interface BodyReading {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  /** The list with the elements to pass on; undefined: the whole response is envelope. */
  readonly listKey: string | undefined;
  /** Fields of an element that readers look at. */
  readonly fields: readonly string[];
  readonly takeRecords: TakeRecords | undefined;
  readonly budget: WaitingBudget;
  /** Bytes as they came over the wire. */
  readonly onReceived: (bytes: number) => void;
}

/**
 * Returns the part outside of the list at the end of the response. Throws UnusableResponse, or the error that
 * broke the connection.
 */
export async function readBody(reading: BodyReading): Promise<CutResponse> {
  const { budget } = reading;
  const cutter = createElementCutter(reading.listKey, reading.fields);
  const batcher = createBatcher(reading.takeRecords);
  let head = Buffer.alloc(0);
  let unusable: UnusableResponse | undefined;
  let receivedSinceAsked = 0;

  try {
    const chunks = openChunks(reading.body, reading.contentEncoding, (bytes) => {
      receivedSinceAsked += bytes;
      reading.onReceived(bytes);
    });
    for (;;) {
      budget.startWaiting();
      let next: IteratorResult<Buffer>;
      try {
        next = await chunks.next();
      } finally {
        budget.stopWaiting(receivedSinceAsked);
        receivedSinceAsked = 0;
      }
      if (next.done === true) break;
      const chunk = next.value;
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      if (unusable === undefined) {
        try {
          cutter.push(chunk);
        } catch (error) {
          if (!(error instanceof UnusableResponse)) throw error;
          unusable = error;
        }
        await batcher.add(cutter.take(), chunk.length);
      }
      // For an unusable response only the excerpt is still read.
      if (unusable !== undefined && head.length >= HEAD_BYTES) break;
    }
    if (unusable !== undefined) throw unusable;
    const response = cutter.end();
    await batcher.add(cutter.take(), 0);
    if (response.envelope['ok'] === true) await batcher.flush();
    return response;
  } catch (error) {
    const found = unusable ?? toUnusable(error);
    if (found === undefined) throw error;
    found.head = head.toString('utf8');
    throw found;
  } finally {
    // A response that was not read to its end closes its connection.
    reading.body.destroy();
  }
}
