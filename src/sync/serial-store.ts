/**
 * Several readers, one loader: what they bring is added in turn, and everything that waits is stored in one
 * transaction (group commit). A reader that waits for its answer to be stored cannot run ahead of the database.
 */
import type { Transaction } from '../warehouse/connection.ts';
import type { ExtractContext } from './extract.ts';

interface Delivery {
  readonly records: readonly unknown[];
  /** Part of the transaction that stores the records. */
  readonly alsoStore: (tx: Transaction) => Promise<void>;
}

export interface SerialStore {
  /** Resolves when the delivery is stored. */
  store(delivery: Delivery): Promise<void>;
}

export function createSerialStore({
  loader,
  checkpoint,
}: Pick<ExtractContext, 'loader' | 'checkpoint'>): SerialStore {
  let waiting: (Delivery & { resolve: () => void; reject: (error: unknown) => void })[] = [];
  let isBusy = false;

  async function storeAll(deliveries: readonly Delivery[]): Promise<void> {
    for (const { records } of deliveries) await loader.add(records, {});
    await checkpoint(async (tx) => {
      for (const { alsoStore } of deliveries) await alsoStore(tx);
    });
  }

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await storeAll(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isBusy = false;
  }

  return {
    store: (delivery) =>
      new Promise((resolve, reject) => {
        waiting.push({ ...delivery, resolve, reject });
        void work();
      }),
  };
}
