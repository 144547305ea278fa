import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { BrotliDecompress, Gunzip } from 'node:zlib';
import { AnswerDefect } from './answer-defect.ts';

/** Sent as Accept-Encoding: what `openBodyChunks` can undo. */
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
      throw new AnswerDefect('response_not_json', 'the answer has a content encoding that was not asked for');
  }
}

/** The body as it was before compression, chunk by chunk; `onReceived` is told the bytes that came over the wire. */
export function openBodyChunks(
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
  // A failure of either side destroys the other; whoever reads `plain` is told by it.
  pipeline(body, count, plain, () => undefined);
  return plain[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
}

/** zlib's own words for compressed bytes that end early or are none. */
export function toCompressionDefect(error: unknown): AnswerDefect | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'Z_BUF_ERROR') {
    return new AnswerDefect('response_cut', 'the compressed answer ends in the middle');
  }
  if (typeof code === 'string' && (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT'))) {
    return new AnswerDefect('response_not_json', 'the answer is not compressed in the way it says');
  }
  return undefined;
}
