/** One place between a producer that pushes and a consumer that pulls. */
export interface Channel<T> {
  /** Fulfilled when the consumer took the item; rejects when the channel is closed before that. */
  put(item: T): Promise<void>;
  /** The next item; undefined when the channel is closed. One consumer at a time. */
  take(): Promise<T | undefined>;
  readonly close: () => void;
}

export function createChannel<T>(): Channel<T> {
  let offered:
    { readonly item: T; readonly accept: () => void; readonly reject: (error: Error) => void } | undefined;
  let wakeConsumer: (() => void) | undefined;
  let isClosed = false;
  const closedError = (): Error => new Error('the channel is closed');
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
