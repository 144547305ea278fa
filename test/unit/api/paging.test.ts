import { expect, test } from 'vitest';
import { readPaging } from '../../../src/engine/api/http.ts';

test('paging is read from numbers and from numbers as text', () => {
  expect(readPaging({ paging: { total: 12, last_page: '3' } })).toEqual({ total: 12, lastPage: 3 });
  expect(readPaging({ paging: { total: 0 } })).toEqual({ total: 0, lastPage: undefined });
});

test.each([-1, 1.5, 'many', null, '', {}, 1e300])('a total of %j is treated as absent', (total) => {
  expect(readPaging({ paging: { total, last_page: 2 } })).toEqual({ total: undefined, lastPage: 2 });
});

test.each([[undefined], [null]])('paging with the value %j is treated as absent', (paging) => {
  expect(readPaging({ paging })).toBeUndefined();
});

test.each([[[]], [{}], ['x'], [3]])('paging with the value %j has neither total nor last page', (paging) => {
  expect(readPaging({ paging })).toEqual({ total: undefined, lastPage: undefined });
});
