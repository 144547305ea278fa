import { Received } from '../../../src/shared/received.ts';
/** Ties in another order in each response: when several attempts by page numbers count as one. */
import { expect, test } from 'vitest';
import type { ListRequest } from '../../../src/engine/api/requests.ts';
import { createSliceReader } from '../../../src/engine/reading/slice-reader.ts';
import { STREAMS } from '../../../src/engine/streams/index.ts';

type Attempt = readonly [first: string[], second: string[], total: number, lastPage?: null];

/** Pages of two records; each attempt asks for two of them. */
async function attemptsNeeded(toMs: number | null, attempts: readonly Attempt[]): Promise<number | string> {
  let asked = 0;
  const page = ({ params }: ListRequest) => {
    const [first, second, total, lastPage = 2] = attempts[
      Math.min(attempts.length - 1, Math.floor(asked / 2))
    ] as Attempt;
    asked += 1;
    const records = (params['page'] === 2 ? second : first).map((id) => Received.of({ id, created_on: 5 }));
    return Promise.resolve({
      records,
      count: records.length,
      paging: { total, lastPage: lastPage ?? undefined },
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
    return asked / 2;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const MISSES_C: Attempt = [['a', 'b'], ['a'], 3];
const MISSES_A: Attempt = [['b', 'c'], ['b'], 3];

test('attempts that show different ties are complete together', async () => {
  expect(await attemptsNeeded(6, [MISSES_C, MISSES_A])).toBe(2);
});

test('in a slice that still grows each attempt must be complete by itself', async () => {
  expect(await attemptsNeeded(null, [MISSES_C, MISSES_A])).toBe('read_incomplete');
});

test('attempts before a deletion do not count: the deleted record would stand for a missing one', async () => {
  // "a" is deleted after the first attempt, "d" is never shown.
  expect(await attemptsNeeded(6, [[['a', 'b'], ['a'], 4], MISSES_A])).toBe('read_incomplete');
});

test('pages with a total but no last page end when that many records were seen', async () => {
  expect(await attemptsNeeded(6, [[['a', 'b'], ['c'], 3, null]])).toBe(1);
});
