import { expect, test } from 'vitest';
import { titleOf } from '../../../src/pages/report/cells.ts';
import { lineChart } from '../../../src/pages/report/line-chart.ts';
import { formatDay, formatShare, shorten } from '../../../src/pages/words.ts';

test('days are written with the name of the month', () => {
  expect(formatDay('2026-09-03')).toBe('3 Sep 2026');
  expect(formatDay(null)).toBe('–');
  expect(formatDay('58123-05-01')).toBe('1 May 58123');
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

test('a text is cut between characters', () => {
  expect(shorten('short', 5)).toBe('short');
  expect(shorten('a👷b👷c', 4)).toBe('a👷b…');
});

test('a column is named in words', () => {
  expect(
    ['days_overdue', 'due_on', 'form_label', 'is_active', 'open_followups', 'response_id', 'user_id'].map(
      titleOf,
    ),
  ).toEqual(['Days overdue', 'Due', 'Form', 'Active', 'Open follow-ups', 'Response id', 'Person id']);
});

test('a line chart says its last values and its first and last day, and there is none of a single day', () => {
  const draw = (...days: string[]) =>
    lineChart('Open', [['open', 'bad', days.map((day, at) => [day, at + 1] as const)]]);
  const { text = '' } = draw('2028-01-01', '2028-03-01', '2028-05-01') ?? {};
  expect(text).toContain('open: 3');
  expect(text).toContain('<span>1 Jan 2028</span><span>1 May 2028</span>');
  expect(text).toContain('aria-label="Open, from 1 Jan 2028 to 1 May 2028"');
  expect([draw(), draw('2028-01-01')]).toEqual([null, null]);
});
