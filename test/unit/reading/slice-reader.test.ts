import { Received } from '../../../src/shared/received.ts';
/** Ties in another order in each response: when several attempts by page numbers count as one. */
import { describe, expect, test } from 'vitest';
import type { ListRequest } from '../../../src/engine/api/requests.ts';
import { createSliceReader } from '../../../src/engine/reading/slice-reader.ts';
import { STREAMS } from '../../../src/engine/streams/index.ts';

type Attempt = readonly [first: string[], second: string[], total?: number, lastPage?: null];

/** Pages of two records: two of them, and empty ones. */
async function attemptsNeeded(toMs: number, attempts: readonly Attempt[]): Promise<number | string> {
  let begun = 0;
  const page = ({ params }: ListRequest) => {
    if (params['page'] === undefined) begun += 1;
    const [first, second, total, lastPage = 2] = attempts[Math.min(attempts.length, begun) - 1] as Attempt;
    const ids = [first, second][Number(params['page'] ?? 1) - 1] ?? [];
    // "-" has no key, and other bytes in each attempt.
    const toRecord = (id: string) =>
      Received.of(id === '-' ? { id: null, begun, created_on: 5 } : { id, created_on: 5 });
    const records = ids.map(toRecord);
    return Promise.resolve({
      records,
      count: records.length,
      paging: total === undefined ? undefined : { total, lastPage: lastPage ?? undefined },
      envelope: {},
    });
  };
  const stream = {
    ...STREAMS.find(({ name }) => name === 'followups'),
    readMode: { kind: 'incremental', pageSize: 2 },
  };
  const read = { stream, service: { api: { page } } } as unknown as Parameters<typeof createSliceReader>[0];
  const slice = { fromMs: 5, toMs };
  try {
    const lists = createSliceReader(read).readByPages(slice);
    while ((await lists.next()).done !== true);
    return begun;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const MISSES_C: Attempt = [['a', 'b'], ['a'], 3];
const MISSES_A: Attempt = [['b', 'c'], ['b'], 3];

test('attempts that contain different ties are complete together', async () => {
  expect(await attemptsNeeded(6, [MISSES_C, MISSES_A])).toBe(2);
});

test('in a slice that still grows, each attempt must be complete alone', async () => {
  expect(await attemptsNeeded(Infinity, [MISSES_C, MISSES_A])).toBe('read_incomplete');
});

test('attempts before a deletion do not count, because the deleted record would replace a missing one', async () => {
  // "a" is deleted after the first attempt, "d" is never shown.
  expect(await attemptsNeeded(6, [[['a', 'b'], ['a'], 4], MISSES_A])).toBe('read_incomplete');
});

test('pages with a total but no last page end when that many records were seen', async () => {
  expect(await attemptsNeeded(6, [[['a', 'b'], ['c'], 3, null]])).toBe(1);
});

describe('pages without a total', () => {
  /** "b" moved to the first page when "x" was deleted. */
  const DELETED: Attempt = [['x', 'a'], ['c']];
  const AFTER: Attempt = [['a', 'b'], ['c']];

  test('without a total, pages are read until an attempt has no new record, because a deletion moves a record to a page already read', async () => {
    expect(await attemptsNeeded(6, [DELETED, AFTER])).toBe(3);
    expect(await attemptsNeeded(Infinity, [DELETED, AFTER])).toBe(3);
  });

  test('without a total, a record without a key counts as one record, also if its bytes differ in each attempt', async () => {
    expect(await attemptsNeeded(6, [[['a', '-'], ['c']]])).toBe(2);
  });

  test('without a total, a slice that does not grow is incomplete if each attempt has other records', async () => {
    const others = Array.from('bcdef', (id): Attempt => [['a'], [id]]);
    expect(await attemptsNeeded(6, others)).toBe('read_incomplete');
    expect(await attemptsNeeded(Infinity, others)).toBe(5);
  });
});
