/**
 * Converts a request that pushes its records to a generator. The request itself is a function, because it may be retried,
 * and a generator cannot be repeated.
 */
import type { ListPart } from './requests.ts';
import type { TakeRecords } from './response-body.ts';

/**
 * Yields the records of a request, which calls `takeNext` for each response. That promise resolves when the consumer has
 * the records, so the request is at most one batch ahead. If the consumer leaves the generator, the request is aborted, and
 * its end is awaited.
 */
export async function* listParts<T>(
  request: (takeNext: () => TakeRecords, abandoned: AbortSignal) => Promise<T>,
): AsyncGenerator<ListPart, T, undefined> {
  const { readable, writable } = new TransformStream<ListPart, ListPart>();
  const writer = writable.getWriter();
  const abandoned = new AbortController();
  let responses = 0;
  /** The response with the newest records. */
  let written: number | undefined;
  const requested = request(() => {
    responses += 1;
    const response = responses;
    return async (records) => {
      if (written !== undefined && written !== response) await writer.write({ kind: 'restart' });
      written = records.length > 0 || written !== undefined ? response : undefined;
      if (records.length > 0) await writer.write({ kind: 'records', records });
    };
  }, abandoned.signal);
  const close = (): Promise<void> => writer.close();
  const ended = requested.then(close, close).catch(() => undefined);
  try {
    for await (const part of readable) yield part;
    return await requested;
  } finally {
    abandoned.abort();
    await ended;
  }
}
