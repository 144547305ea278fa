import { Received } from '../../../src/shared/received.ts';
import { describe, expect, test } from 'vitest';
import type { Paging } from '../../../src/engine/api/paging.ts';
import { PageTally } from '../../../src/engine/reading/pages.ts';

/** Pages as [ids, total, last page]. */
type Pages = [ids: unknown[], total?: number, lastPage?: number][];

const shortfallOf = (...pages: Pages): string | null => tallyOf(pages).shortfall();

function tallyOf(pages: Pages) {
  const tally = new PageTally('id');
  for (const [ids, total, lastPage] of pages) {
    const paging = { total, lastPage } as Paging;
    const page = {
      records: ids.map((id) => Received.of({ id })),
      count: ids.length,
      envelope: {},
      paging: total === undefined && lastPage === undefined ? undefined : paging,
      serviceTimeMs: undefined,
      requestId: undefined,
    };
    tally.add(page);
  }
  return tally;
}

describe('pages are complete', () => {
  test.each([
    [
      'when they show as many records as were announced',
      [
        [[1, 2], 3, 2],
        [[3], 3, 2],
      ],
    ],
    [
      'when records were added and pushed others to later pages',
      [
        [[1, 2], 3, 2],
        [[2, 3], 4, 2],
      ],
    ],
    ['when one page holds a record twice and the total counts it once', [[[1, 1, 2], 2, 1]]],
    ['when nothing is announced at all', [[[1, 2]], [[3]]]],
    [
      'when every announced page brought something, without a total',
      [
        [[1], undefined, 2],
        [[2], undefined, 2],
      ],
    ],
    ['when an empty list has one page', [[[], undefined, 1]]],
    ['when records without a usable key are counted by what they are', [[[null, 'a', 7], 3, 1]]],
  ] as [string, Parameters<typeof shortfallOf>][])('%s', (_name, pages) => {
    expect(shortfallOf(...pages)).toBeNull();
  });
});

describe('pages are not complete', () => {
  test.each([
    [
      'when fewer records came than were announced',
      [
        [[1, 2], 4, 2],
        [[3], 4, 2],
      ],
    ],
    [
      'when the total shrank',
      [
        [[1, 2], 4, 2],
        [[3, 4], 3, 2],
      ],
    ],
    [
      'when a later page repeats an earlier one',
      [
        [[1, 2], 4, 2],
        [[1, 2], 4, 2],
      ],
    ],
    ['when one page holds a record twice in the place of another one', [[[1, 1, 2], 3, 1]]],
    ['when the total is smaller than what came beside it', [[[1, 2, 3], 2, 1]]],
    ['when an announced page did not come, without a total', [[[1, 2], undefined, 2]]],
    ['when a page repeats a record, without a total', [[[1, 1, 2], undefined, 1]]],
    ['when a page repeats a record, and nothing is announced at all', [[[1, 1, 2]], [[3]]]],
    [
      'when an announced page brought nothing, without a total',
      [
        [[1, 2], undefined, 2],
        [[1, 2], undefined, 2],
      ],
    ],
  ] as [string, Parameters<typeof shortfallOf>][])('%s', (_name, pages) => {
    expect(shortfallOf(...pages)).not.toBeNull();
  });
});

test('records that were seen again are known by their keys, those without a key by their content', () => {
  const tally = tallyOf([
    [[1, null, { a: 1 }], 3],
    [[1, null, { a: 1 }, 2], 3],
  ]);
  expect([...tally.repeated.keys()]).toEqual(['1', '{"id":null}', '{"id":{"a":1}}']);
});
