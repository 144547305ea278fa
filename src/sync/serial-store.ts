/**
 * Several readers, one loader: what they bring is prepared as it comes, and everything that waits is stored in one
 * transaction (group commit). A reader that waits for its answer to be stored cannot run ahead of the database.
 */
import type { Transaction } from '../warehouse/connection.ts';
import type { ExtractContext } from './extract.ts';
import type { Preparation } from './load.ts';

interface Delivery {
  readonly records: readonly unknown[];
  /** Part of the transaction that stores the records. */
  readonly alsoStore: (tx: Transaction) => Promise<void>;
}

interface Waiting extends Pick<Delivery, 'alsoStore'> {
  readonly preparation: Preparation;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface SerialStore {
  /** Resolves when the delivery is stored. */
  store(delivery: Delivery): Promise<void>;
  /** Resolves when nothing is being stored, however that ended. Nobody may use the session before. */
  idle(): Promise<void>;
}

export function createSerialStore({
  loader,
  checkpoint,
}: Pick<ExtractContext, 'loader' | 'checkpoint'>): SerialStore {
  let waiting: Waiting[] = [];
  let working: Promise<void> | undefined;

  async function storeAll(deliveries: readonly Waiting[]): Promise<void> {
    for (const { preparation } of deliveries) await loader.take(preparation);
    await checkpoint(async (tx) => {
      for (const { alsoStore } of deliveries) await alsoStore(tx);
    });
  }

  async function work(): Promise<void> {
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
    working = undefined;
  }

  return {
    store: (delivery) =>
      new Promise((resolve, reject) => {
        const preparation = loader.prepare(delivery.records, {});
        waiting.push({ alsoStore: delivery.alsoStore, preparation, resolve, reject });
        working ??= work();
      }),
    async idle() {
      await working;
    },
  };
}
