import { expect, test } from 'vitest';
import { nextWatermark, readFirstResponse, updatedAfter } from '../../../src/engine/reading/watermark.ts';
import { Received } from '../../../src/shared/received.ts';

const seen = (times: readonly unknown[], serviceTimeMs: number | undefined, ourMs: number) =>
  readFirstResponse(
    {
      records: times.map((updated_on) => Received.of({ updated_on })),
      envelope: {},
      paging: undefined,
      serviceTimeMs,
      requestId: undefined,
    },
    ourMs,
  ).seenMs;

test.each([
  ['the latest time of a record', [5, 9, 7], 100, 9],
  ['the latest time of a record that is not in the future', [5, 900, 7], 100, 7],
  ['the latest time, also as text and beside unusable ones', ['6', null, {}, 'x'], 100, 6],
  ['the time of the response, if all records are from the future', [900, 901], 100, 100],
  ['the latest time before the local one, if the response has none', [900, 9000], undefined, 900],
  ['unknown without records', [], 100, undefined],
] as const)('the first response shows %s', (_name, times, serviceMs, expected) => {
  expect(seen(times, serviceMs, 5000)).toBe(expected);
});

test.each([
  ['moves to the newest time of a record', 900, 950, 1000, 950],
  ['stays if no record is newer', 900, 899, 1000, 900],
  ['stays if no record has a time', 900, undefined, 1000, 900],
  ['is never beyond the time of the service', 900, undefined, 880, 880],
  ['is the newest time of a record after a first read', null, 950, 1000, 950],
  ['is null after a first read without a time', null, undefined, 1000, null],
])('the next watermark %s', (_name, stored, seenMs, timeMs, expected) => {
  expect(nextWatermark(stored, { seenMs, timeMs, total: undefined })).toBe(expected);
});

test('changes are requested from the watermark minus the overlap and one millisecond', () => {
  expect(updatedAfter(1_000_000, 600_000)).toBe(399_999);
  expect(updatedAfter(5, 600_000)).toBe(0);
});
