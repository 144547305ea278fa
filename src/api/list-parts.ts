/** Makes a generator of a request that pushes its records: p-retry repeats functions, and a generator cannot be repeated. */
import type { Received } from '../shared/received.ts';
import type { ListPart } from './requests.ts';

/** One place between a producer that pushes and a consumer that pulls. */
interface Channel<T> {
  /** Fulfilled when the consumer took the item; rejects when the channel is closed before that. */
  put(item: T): Promise<void>;
  /** The next item; undefined when the channel is closed. One consumer at a time. */
  take(): Promise<T | undefined>;
  readonly close: () => void;
}

function createChannel<T>(): Channel<T> {
  const closedError = (): Error => new Error('the channel is closed');
  let offered:
    { readonly item: T; readonly accept: () => void; readonly reject: (error: Error) => void } | undefined;
  let wakeConsumer: (() => void) | undefined;
  let isClosed = false;
  return {
    put: async (item) => {
      if (isClosed) throw closedError();
      await new Promise<void>((accept, reject) => {
        offered = { item, accept, reject };
        wakeConsumer?.();
      });
    },
    take: async () => {
      if (offered === undefined && !isClosed) {
        await new Promise<void>((resolve) => (wakeConsumer = resolve));
      }
      const taken = offered;
      offered = undefined;
      taken?.accept();
      return taken?.item;
    },
    close: () => {
      isClosed = true;
      offered?.reject(closedError());
      offered = undefined;
      wakeConsumer?.();
    },
  };
}

/** Records of one response, from 1; a successful one hands on at least an empty array. */
export type DeliverRecords = (records: readonly Received[], ofResponse: number) => Promise<void>;

/**
 * Yields what `request` delivers. `request` goes on when its records are taken, so it is one batch ahead of the consumer
 * at most. When the generator is left, `request` is aborted and its end is awaited.
 */
export async function* listParts<T>(
  request: (deliver: DeliverRecords, abandoned: AbortSignal) => Promise<T>,
): AsyncGenerator<ListPart, T, undefined> {
  const channel = createChannel<ListPart>();
  const abandoned = new AbortController();
  /** The response whose records were yielded last. */
  let yielded: number | undefined;
  const deliver: DeliverRecords = async (records, ofResponse) => {
    if (yielded !== undefined && yielded !== ofResponse) await channel.put({ kind: 'restart' });
    yielded = records.length > 0 || yielded !== undefined ? ofResponse : undefined;
    if (records.length > 0) await channel.put({ kind: 'records', records });
  };
  const requested = request(deliver, abandoned.signal);
  const ended = requested.then(channel.close, channel.close);
  try {
    for (let part = await channel.take(); part !== undefined; part = await channel.take()) yield part;
    return await requested;
  } finally {
    abandoned.abort();
    channel.close();
    await ended;
  }
}
