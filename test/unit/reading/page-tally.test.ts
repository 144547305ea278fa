import { expect, test } from 'vitest';
import { PageTally } from '../../../src/engine/reading/pages.ts';
import { Received } from '../../../src/shared/received.ts';

type Page = Parameters<PageTally['add']>[0];

/** Pages with these ids and, in each of them or in one after the other, this total and last page. */
function of(
  total: number | number[] | undefined,
  lastPage: number | undefined,
  ...pages: unknown[][]
): Page[] {
  return pages.map((ids, at) => {
    const ofPage = Array.isArray(total) ? total[at] : total;
    const isPaged = ofPage !== undefined || lastPage !== undefined;
    return {
      records: ids.map((id) => Received.of({ id })),
      count: ids.length,
      envelope: {},
      paging: isPaged ? { total: ofPage, lastPage } : undefined,
      serviceTimeMs: undefined,
      requestId: undefined,
    };
  });
}
const none = undefined;

function tallyOf(pages: readonly Page[]): PageTally {
  const tally = new PageTally('id');
  for (const page of pages) tally.add(page);
  return tally;
}

test.each([
  ['they contain as many records as announced', of(3, 2, [1, 2], [3])],
  ['added records pushed others to later pages', of([3, 4], 2, [1, 2], [2, 3])],
  ['one page contains a record twice and the total counts it once', of(2, 1, [1, 1, 2])],
  ['neither a total nor a last page is announced', of(none, none, [1, 2], [3])],
  ['every announced page had new records, without a total', of(none, 2, [1], [2])],
  ['an empty list has one page', of(none, 1, [])],
  ['records without a usable key are counted by their content', of(3, 1, [null, 'a', 7])],
])('pages are complete if %s', (_name, pages) => {
  expect(tallyOf(pages).shortfall()).toBeNull();
});

test.each([
  ['they contain fewer records than announced', of(4, 2, [1, 2], [3])],
  ['the total decreased', of([4, 3], 2, [1, 2], [3, 4])],
  ['a later page repeats an earlier one', of(4, 2, [1, 2], [1, 2])],
  ['one page contains a record twice in place of another one', of(3, 1, [1, 1, 2])],
  ['the total is smaller than the number of records', of(2, 1, [1, 2, 3])],
  ['an announced page is missing, without a total', of(none, 2, [1, 2])],
  ['a page repeats a record, without a total', of(none, 1, [1, 1, 2])],
  ['a page repeats a record, without a total or a last page', of(none, none, [1, 1, 2], [3])],
  ['an announced page had no new record, without a total', of(none, 2, [1, 2], [1, 2])],
])('pages are incomplete if %s', (_name, pages) => {
  expect(tallyOf(pages).shortfall()).not.toBeNull();
});

test('repeated records are recognized by their keys, and those without a key by their content', () => {
  const tally = tallyOf(of(3, none, [1, null, { a: 1 }], [1, null, { a: 1 }, 2]));
  expect([...tally.repeated.keys()]).toEqual(['1', '{"id":null}', '{"id":{"a":1}}']);
});
