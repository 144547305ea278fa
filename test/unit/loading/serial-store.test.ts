import { expect, test } from 'vitest';
import type { Loader, Preparation } from '../../../src/loading/load.ts';
import { createSerialStore } from '../../../src/loading/serial-store.ts';

interface Stored {
  readonly records: unknown[];
  readonly notes: string[];
}

/** A loader that holds what it takes until a commit; `refuse` makes the commit fail that brings this record. */
function setUp(refuse?: unknown) {
  const commits: Stored[] = [];
  const prepared: unknown[] = [];
  let taken: unknown[] = [];
  const loader = {
    prepare(records: readonly unknown[]) {
      prepared.push(...records);
      return { batch: records } as unknown as Preparation;
    },
    take(preparation: Preparation) {
      taken.push(...(preparation.batch as readonly unknown[]));
      return Promise.resolve();
    },
  } as unknown as Loader;
  let notes: string[] = [];
  const store = createSerialStore({
    loader,
    async checkpoint(alsoStore) {
      const records = taken;
      taken = [];
      notes = [];
      await alsoStore(undefined as never);
      if (records.includes(refuse)) throw new Error(`refused ${String(refuse)}`);
      commits.push({ records, notes });
    },
  });
  const note = (text: string) => () => {
    notes.push(text);
    return Promise.resolve();
  };
  return { store, commits, prepared, note };
}

test('is prepared when it is delivered, and stored with what belongs to it', async () => {
  const { store, commits, prepared, note } = setUp();
  const delivery = store.deliver([1, 2]);
  expect(prepared).toEqual([1, 2]);
  expect(commits).toEqual([]);
  await delivery.store(note('a'));
  expect(commits).toEqual([{ records: [1, 2], notes: ['a'] }]);
});

test('what waits meanwhile goes into one transaction, but never more records than the loader can hold', async () => {
  const { store, commits, note } = setUp();
  const page = (name: number) => Array.from({ length: 1400 }, () => name);
  await Promise.all([1, 2, 3, 4, 5].map((name) => store.deliver(page(name)).store(note(String(name)))));
  expect(commits.map(({ notes }) => notes)).toEqual([['1'], ['2', '3'], ['4', '5']]);
  await store.deliver(Array.from({ length: 9000 }, () => 6)).store(note('6'));
  expect(commits.at(-1)?.records).toHaveLength(9000);
});

test('nothing is stored after something that could not be: it may build on it', async () => {
  const { store, commits, note } = setUp(2);
  await store.deliver([1]).store(note('before'));
  const failing = store.deliver([2]).store(note('page'));
  const waiting = store.deliver(Array.from({ length: 3000 }, () => 3)).store(note('done'));
  await expect(failing).rejects.toThrow('refused 2');
  await expect(waiting).rejects.toThrow('refused 2');
  await expect(store.deliver([4]).store(note('later'))).rejects.toThrow('refused 2');
  expect(commits).toEqual([{ records: [1], notes: ['before'] }]);
  await store.idle();
});
