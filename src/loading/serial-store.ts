/**
 * Several readers, one loader: what they bring is prepared as it comes, and everything that waits is stored in one
 * transaction (group commit). A reader that waits for its answer to be stored cannot run ahead of the database.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Transaction } from '../database/connection.ts';
import type { ExtractContext } from '../reading/extract.ts';
import { MOST_HELD, type Preparation } from './load.ts';

/** Records on their way. Work on them begins at once, also while those before them are still being stored. */
export interface Delivery {
  readonly records: readonly unknown[];
  /**
   * Resolves when they are stored, in one transaction with `alsoStore`, after everything that was to be stored before.
   * Rejects when one of those could not be stored. Call once, or never.
   */
  store(alsoStore: AlsoStore): Promise<void>;
}

type AlsoStore = (tx: Transaction) => Promise<void>;

interface Waiting {
  readonly preparation: Preparation;
  readonly alsoStore: AlsoStore;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface SerialStore {
  deliver(records: readonly unknown[]): Delivery;
  /** Resolves when nothing is being stored, however that ended. Nobody may use the session before. */
  idle(): Promise<void>;
}

export function createSerialStore({
  loader,
  checkpoint,
}: Pick<ExtractContext, 'loader' | 'checkpoint'>): SerialStore {
  const waiting: Waiting[] = [];
  let working: Promise<void> | undefined;
  /** What could not be stored. Nothing is stored after it: it may be what a later one builds on. */
  let broken: { readonly error: unknown } | undefined;

  async function storeAll(deliveries: readonly Waiting[]): Promise<void> {
    for (const { preparation } of deliveries) await loader.take(preparation);
    await checkpoint(async (tx) => {
      await Promise.all(deliveries.map(({ alsoStore }) => alsoStore(tx)));
    });
  }

  /** What one transaction takes of what waits: no more than the loader holds in memory, but at least one delivery. */
  function takeGroup(): Waiting[] {
    let records = 0;
    const end = waiting.findIndex(({ preparation: { batch } }, index) => {
      records += batch.length;
      return index > 0 && records > MOST_HELD;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const group = takeGroup();
      try {
        if (broken !== undefined) throw broken.error;
        await storeAll(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        broken = { error };
        for (const { reject } of group) reject(error);
      }
      // Whoever waited for this brings what he has ready meanwhile: it goes into the next transaction.
      await nextTurn();
    }
    working = undefined;
  }

  return {
    deliver(records) {
      const preparation = loader.prepare(records, {});
      return {
        records,
        store: (alsoStore) =>
          new Promise((resolve, reject) => {
            waiting.push({ alsoStore, preparation, resolve, reject });
            working ??= work();
          }),
      };
    },
    async idle() {
      await working;
    },
  };
}
