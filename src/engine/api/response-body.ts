/** Reads the body of one response as a whole, decompressed. */
import { pipeline, type Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { UnusableResponse } from './response-errors.ts';

/** Sent as Accept-Encoding: what `createDecompressor` can undo. */
export const ACCEPTED_ENCODINGS = 'gzip';

const CHUNK_BYTES = 64 * 1024;
const LARGEST_MIB = 256;
const LARGEST_BYTES = LARGEST_MIB * 1024 * 1024;

function createDecompressor(encoding: string): Gunzip {
  if (encoding === 'gzip') return createGunzip({ chunkSize: CHUNK_BYTES });
  throw new UnusableResponse(
    'response_not_json',
    'the response has a content encoding that was not requested',
  );
}

/** A failure of either side destroys the other; the reader of the result receives it as an error. */
const decompressed = (body: Readable, encoding: string): Readable =>
  pipeline(body, createDecompressor(encoding), () => undefined);

/** The problem of the response; undefined: none, its connection broke. zlib has its own error messages. */
function toUnusable(error: unknown): UnusableResponse | undefined {
  if (error instanceof UnusableResponse) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR') {
    return new UnusableResponse('response_cut', 'the compressed response ends in the middle');
  }
  if (typeof code === 'string' && code.startsWith('Z_')) {
    return new UnusableResponse('response_not_json', 'the response is not compressed as its header states');
  }
  return undefined;
}

interface BodyReading {
  readonly contentEncoding: string | undefined;
  /** As the headers announce it; 0: they do not. */
  readonly announcedBytes: number;
  readonly onReceived: (bytes: number) => void;
}

/** Throws UnusableResponse, or the error that broke the connection. */
export async function readBody(body: Readable, reading: BodyReading): Promise<Buffer> {
  const { contentEncoding: encoding, announcedBytes, onReceived } = reading;
  const sizeOf = (needed: number): number => {
    if (needed <= LARGEST_BYTES) return needed;
    throw new UnusableResponse('response_too_large', `the response has more than ${LARGEST_MIB} MB`);
  };
  let bytes = Buffer.alloc(0);
  let length = 0;
  try {
    const chunks = encoding === undefined ? body : decompressed(body, encoding);
    bytes = Buffer.allocUnsafeSlow(sizeOf(Math.max(CHUNK_BYTES, announcedBytes)));
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      onReceived(chunk.length);
      const needed = sizeOf(length + chunk.length);
      if (needed > bytes.length) {
        // Pages that are not written yet take no memory.
        const larger = Buffer.allocUnsafeSlow(Math.min(LARGEST_BYTES, 2 * needed));
        bytes.copy(larger, 0, 0, length);
        bytes = larger;
      }
      chunk.copy(bytes, length);
      length = needed;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    const found = toUnusable(error);
    if (found === undefined) throw error;
    found.showBeginningOf(bytes.subarray(0, length));
    throw found;
  } finally {
    // A response that was not read to its end closes its connection.
    body.destroy();
  }
}
