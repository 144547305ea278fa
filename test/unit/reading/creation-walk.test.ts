import { expect, test } from 'vitest';
import type { ListPage } from '../../../src/engine/api/requests.ts';
import { WHOLE_TIME } from '../../../src/engine/reading/creation-slice.ts';
import { walkCreation, type WalkStep } from '../../../src/engine/reading/creation-walk.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { Received } from '../../../src/shared/received.ts';
import type { TimeSlice } from '../../../src/engine/streams/state.ts';
import type { SliceReader } from '../../../src/engine/reading/slice-reader.ts';

const created = (...times: number[]) =>
  times.map((created_on) => Received.of({ id: created_on, created_on }));

function page(records: readonly Received[], total: number): ListPage {
  const response = { count: records.length, envelope: {}, paging: { total, lastPage: undefined } };
  return { ...response, records, serviceTimeMs: undefined, requestId: undefined };
}

// eslint-disable-next-line require-yield, @typescript-eslint/require-await -- It shows none.
async function* showNone(): ReturnType<SliceReader['readByPages']> {
  return 0;
}

/** A service that returns these responses one after the other, regardless of the request. */
function answering(pages: readonly ListPage[]): SliceReader & { readonly asked: TimeSlice[] } {
  const asked: TimeSlice[] = [];
  let next = 0;
  return {
    asked,
    keyField: 'id',
    pageSize: 3,
    incompleteOf: (_, why) => new SafetySyncError('read_incomplete', why),
    fetch: (slice) => {
      asked.push({ fromMs: slice.fromMs, toMs: slice.toMs });
      const answered = pages[next++];
      if (answered === undefined) throw new Error('one question too many');
      return Promise.resolve({ page: answered, distinct: answered.records.length, shortfall: null });
    },
    fetchTotal: () => Promise.resolve(0),
    fetchNewestOf: () => Promise.resolve(undefined),
    isWell: () => Promise.resolve(false),
    mayDivide: () => false,
    areTotalsWrong: () => false,
    endSearch: () => undefined,
    readByPages: showNone,
    readUnseen: showNone,
  };
}

test('after a repeated request because of vanished records, the range below it is still marked as unread', async () => {
  // Five records, three at a time; then two are gone below, and one had been kept back above.
  const reader = answering([
    page(created(100, 90, 80), 5),
    page(created(80), 1),
    page(created(100, 95, 90), 3),
  ]);
  const steps: WalkStep[] = [];
  for await (const step of walkCreation(WHOLE_TIME, reader)) steps.push(step);
  expect(reader.asked).toEqual([WHOLE_TIME, { fromMs: -Infinity, toMs: 81 }, { fromMs: 81, toMs: Infinity }]);
  expect(
    steps.flatMap((step) => (step.kind === 'records' ? [[step.records.length, step.remainingTo]] : [])),
  ).toEqual([
    [3, 81],
    // After a crash between these two, the record at 80 must not count as seen from below 81 on.
    [3, 81],
    [0, -Infinity],
    // The end of a comparison with the total.
    [0, -Infinity],
  ]);
});

test('a record newer than those of an unordered first response counts as seen if the plan includes it, or in the same second', async () => {
  const seenAtEnd = async (newer: number, plannedToMs?: number): Promise<number | undefined> => {
    const reader = answering([
      page(created(90, 80, 85), 4),
      page(created(90, 85, newer), 3),
      page(created(80), 1),
    ]);
    let last: number | undefined;
    for await (const step of walkCreation({ fromMs: 75, toMs: Infinity }, reader, { plannedToMs }))
      if (step.kind === 'records') last = step.seen;
    return last;
  };
  expect(await seenAtEnd(1100, 1101)).toBe(4);
  expect(await seenAtEnd(100)).toBe(4);
  // Without a plan it may be growth.
  expect(await seenAtEnd(1100)).toBe(3);
});
