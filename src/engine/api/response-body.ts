/** Reads the body of one response as a whole, decompressed. */
import { pipeline, type Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { createGunzip } from 'node:zlib';
import { UnusableResponse } from './response-errors.ts';

const CHUNK_BYTES = 64 * 1024;
const LARGEST_MIB = 256;
const LARGEST_BYTES = LARGEST_MIB * 1024 * 1024;
/** Pages of a list are smaller. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** A failure of either side destroys the other; the reader of the result receives it as an error. */
function decompressed(body: Readable, encoding: string): Readable {
  if (encoding === 'gzip') return pipeline(body, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
  throw new UnusableResponse(
    'response_not_json',
    'the response has a content encoding that was not requested',
  );
}

/** zlib has its own error messages; other errors have broken the connection. */
function toUnusable(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR')
    return new UnusableResponse('response_cut', 'the compressed response ends in the middle');
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error;
  return new UnusableResponse('response_not_json', 'the response is not compressed as its header states');
}

/** `headers`: as they announce the body. Throws UnusableResponse, or the error that broke the connection. */
export async function readBody(
  body: Readable,
  headers: { readonly contentEncoding: string | undefined; readonly contentLength: number },
): Promise<Buffer> {
  const { contentEncoding: encoding, contentLength } = headers;
  // The length of a compressed body is another one than that of its content.
  const announcedBytes = encoding === undefined ? contentLength : 0;
  const sizeOf = (needed: number): number => {
    if (needed <= LARGEST_BYTES) return needed;
    throw new UnusableResponse('response_too_large', `the response has more than ${LARGEST_MIB} MB`);
  };
  try {
    let bytes = Buffer.allocUnsafeSlow(sizeOf(Math.max(CHUNK_BYTES, announcedBytes)));
    let length = 0;
    const chunks = encoding === undefined ? body : decompressed(body, encoding);
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      const needed = sizeOf(length + chunk.length);
      // From the first large response on V8 collects garbage early, for about a tenth more processor time.
      if (needed > LARGE_BYTES) setFlagsFromString('--heap-growing-percent=55');
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
    throw toUnusable(error);
  } finally {
    // A response that was not read to its end closes its connection.
    body.destroy();
  }
}
