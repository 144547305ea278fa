import { describe, expect, test } from 'vitest';
import { monthLine, placeBeside, spread, trend } from '../../../src/pages/report/time-charts.ts';
import {
  formatDay,
  formatDays,
  formatMoment,
  formatMonth,
  formatShare,
  personOf,
  shorten,
} from '../../../src/pages/words.ts';

test('days are written with the name of the month', () => {
  expect(formatDay('2026-09-03')).toBe('3 Sep 2026');
  expect(formatDay(null)).toBe('–');
  expect(formatMonth('2026-09-01')).toBe('Sep 2026');
  expect([formatDay('58123-05-01'), formatMonth('58123-05-01')]).toEqual(['1 May 58123', 'May 58123']);
});

test('moments are written in the time zone of the account', () => {
  const ms = Date.UTC(2026, 11, 31, 23, 30);
  expect(formatMoment(ms, 'Europe/Oslo')).toBe('1 Jan 2027, 00:30');
});

test('a share is 0 % or 100 % only if it is exact', () => {
  expect([formatShare(0, 9), formatShare(1, 1000), formatShare(999, 1000), formatShare(9, 9)]).toEqual([
    '0\u00a0%',
    '1\u00a0%',
    '99\u00a0%',
    '100\u00a0%',
  ]);
  expect(formatShare(0, 0)).toBe('–');
});

test('a median of days shows its half day', () => {
  expect([formatDays(11.5), formatDays(11), formatDays(null)]).toEqual(['11.5', '11', '–']);
});

test('a person is shown by name, or else by id', () => {
  expect([personOf('Ann', '1'), personOf(null, '1'), personOf(null, null)]).toEqual([
    'Ann',
    '1',
    'not assigned',
  ]);
});

describe('labels', () => {
  test('the label of a point on a line is placed beside the line', () => {
    const at = (...values: [number | undefined, number, number | undefined]) => {
      const { anchor, dy } = placeBeside(...values);
      return `${anchor} ${dy < 0 ? 'above' : 'below'}`;
    };
    expect([at(1, 2, 1), at(2, 1, 2), at(2, 1, undefined)]).toEqual([
      'middle above',
      'middle below',
      'middle below',
    ]);
    expect([at(1, 2, 3), at(3, 2, 1), at(undefined, 2, undefined)]).toEqual([
      'end above',
      'start above',
      'middle above',
    ]);
  });

  test('labels that would overlap are moved apart, and the others stay', () => {
    expect(spread([1, 2, 30], 10)).toEqual([1, 11, 30]);
  });

  test('labels are cut between characters', () => {
    expect(shorten('short', 5)).toBe('short');
    expect(shorten('a👷b👷c', 4)).toBe('a👷b…');
  });
});

/** The texts of an axis or a mark, of the drawing for wide places. */
const textsOf = ({ text }: { readonly text: string }): string[] =>
  [...(text.split('class="narrow"')[0] ?? '').matchAll(/<text[^>]*>([^<]+)</g)].map(([, one]) => one ?? '');

test('an axis of months has the name of each month and no day', () => {
  const months = ['2027-12-01', '2028-01-01', '2028-02-01'].map((month) => ({
    month,
    value: 3,
    isUnfinished: false,
  }));
  const drawn = textsOf(monthLine({ title: 'T', label: 'L' }, { months, format: () => 'last' }));
  expect(drawn.filter((text) => /[a-z]/i.test(text))).toEqual(['Dec 2027', 'Jan 2028', 'Feb 2028', 'last']);
});

test('the axis of a trend has room for its largest count, because paper cuts it off at its edge', () => {
  const values = ['2028-01-01', '2028-01-02'].map((date) => ({ date, series: 'open', value: 1_234_567 }));
  const drawn = trend({ title: 'T', label: 'L' }, [{ name: 'open', color: 'red' }], values);
  expect(textsOf(drawn)).toContain('1,000,000');
  const right = /<text x="([\d.]+)"[^>]* text-anchor="end">1,000,000</.exec(drawn.text)?.[1];
  expect(Number(right)).toBeGreaterThanOrEqual('1,000,000'.length * 7);
});

test('the axis of a trend shows its first and last day if no other day has room', () => {
  const dates = Array.from({ length: 20 }, (_, at) => `2028-01-${String(at + 3).padStart(2, '0')}`);
  const values = dates.map((date) => ({ date, series: 'a series with a long name', value: 3 }));
  const { text } = trend(
    { title: 'T', label: 'L' },
    [{ name: 'a series with a long name', color: 'red' }],
    values,
  );
  const narrow = text.split('class="narrow"')[1] ?? '';
  expect([...narrow.matchAll(/>(\d+ Jan)</g)].map(([, day]) => day)).toEqual(['3 Jan', '22 Jan']);
});
