/** Reads the body of one response as it arrives: decompressed, cut into records. */
import { pipeline, type Readable } from 'node:stream';
import { type BrotliDecompress, createBrotliDecompress, createGunzip, type Gunzip } from 'node:zlib';
import { type Clock, SECOND_MS } from '../../shared/time.ts';
import type { Received } from '../../shared/received.ts';
import type { CutResponse, ElementCutter } from './element-cutter.ts';
import type { ListEvent } from './requests.ts';
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
        'the response has a content encoding that was not requested',
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
    return new UnusableResponse('response_not_json', 'the response is not compressed as its header states');
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
export function createWaitingBudget(timeoutMs: number, clock: Clock, onExhausted: () => void) {
  let allowedMs = timeoutMs;
  return {
    async wait<T>(arriving: Promise<T>): Promise<T> {
      const sinceMs = clock.monotonicMs();
      const timer = setTimeout(onExhausted, Math.max(0, Math.min(timeoutMs, allowedMs)));
      try {
        return await arriving;
      } finally {
        clearTimeout(timer);
        allowedMs -= clock.monotonicMs() - sinceMs;
      }
    },
    receive(bytes: number): void {
      allowedMs += (bytes / HEALTHY_BYTES_PER_SECOND) * SECOND_MS;
    },
  };
}

/** Elements are passed on when there are as many records or bytes. */
const YIELDED_RECORDS = 500;
const YIELDED_BYTES = 1024 * 1024;

/** Bytes of an unusable response that are kept for the excerpt in the error. */
const HEAD_BYTES = 4096;

interface BodyReading {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  readonly cutter: ElementCutter;
  readonly budget: ReturnType<typeof createWaitingBudget>;
  /** Bytes as they came over the wire. */
  readonly onReceived: (bytes: number) => void;
}

/**
 * Yields the records as they arrive, and returns what is outside of the list at the end of the response. Throws
 * UnusableResponse, or the error that broke the connection.
 */
export async function* readBody(reading: BodyReading): AsyncGenerator<ListEvent, CutResponse, undefined> {
  const { body, cutter, budget } = reading;
  let head = Buffer.alloc(0);
  let elements: Received[] = [];
  let elementBytes = 0;
  try {
    const chunks = openChunks(body, reading.contentEncoding, (bytes) => {
      budget.receive(bytes);
      reading.onReceived(bytes);
    });
    for (;;) {
      const next = await budget.wait(chunks.next());
      if (next.done === true) break;
      const chunk = next.value;
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      cutter.push(chunk);
      const taken = cutter.take();
      elements = elements.length === 0 ? taken : elements.concat(taken);
      elementBytes += chunk.length;
      if (elements.length >= YIELDED_RECORDS || (elements.length > 0 && elementBytes >= YIELDED_BYTES)) {
        yield { kind: 'records', records: elements };
        elements = [];
        elementBytes = 0;
      }
    }
    const response = cutter.end();
    elements = elements.concat(cutter.take());
    if (elements.length > 0) yield { kind: 'records', records: elements };
    return response;
  } catch (error) {
    const found = toUnusable(error);
    if (found === undefined) throw error;
    found.head = head.toString('utf8');
    throw found;
  } finally {
    // A response that was not read to its end closes its connection.
    body.destroy();
  }
}
