/**
 * Where the records of a list go as they arrive. The client awaits both: a slow sink slows the response down.
 * A sink must not ask the same client for something else: with a concurrency of 1 that would wait for itself.
 */
export interface RecordSink {
  /**
   * Called before the first record of every attempt: a response that broke in the middle is read again from its
   * beginning, so everything received so far is void. What a sink holds counts only once the list is fulfilled.
   */
  restart(): void | Promise<void>;
  records(batch: readonly unknown[]): void | Promise<void>;
}

export function collectRecords(): RecordSink & { readonly all: unknown[] } {
  const all: unknown[] = [];
  return {
    all,
    restart: () => {
      all.length = 0;
    },
    records: (batch) => {
      for (const record of batch) all.push(record);
    },
  };
}
