import pc from 'picocolors';
import { describe, expect, it, vi } from 'vitest';
import { formatAge, formatDuration, formatNumber, formatTime } from '../../../src/shared/format.ts';
import { parseDate } from '../../../src/cli/arguments.ts';
import { renderFailures } from '../../../src/cli/run-results.ts';
import { type ColumnOf, renderRows } from '../../../src/cli/table.ts';
import { createTerminal, toPrintable } from '../../../src/cli/terminal.ts';
import { ERROR_KINDS, type ErrorCode } from '../../../src/shared/errors.ts';
import { wrapLines } from '../../../src/shared/wrap-lines.ts';

const colors = pc.createColors(false);

describe('a duration', () => {
  it.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [9_949, '9.9 s'],
    [9_960, '10 s'],
    [59_499, '59 s'],
    [59_600, '1 min'],
    [3_599_400, '59 min 59 s'],
    [3_599_700, '1 h'],
    [86_380_000, '1 d'],
    [5 * 86_400_000 + 23.6 * 3_600_000, '6 d'],
  ])('a duration of %d ms is printed as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('a time as an argument', () => {
  it.each([
    ['2026-03-01', Date.UTC(2026, 2, 1)],
    ['2026-03-01T12:30', Date.UTC(2026, 2, 1, 12, 30)],
    ['2026-03-01T12:30:05.5', Date.UTC(2026, 2, 1, 12, 30, 5, 500)],
    ['2026-03-01T12:30:05Z', Date.UTC(2026, 2, 1, 12, 30, 5)],
    ['2026-03-01T12:30+02:00', Date.UTC(2026, 2, 1, 10, 30)],
  ])('the time %s is in UTC if it has no zone', (text, ms) => {
    vi.stubEnv('TZ', 'America/New_York');
    expect(parseDate(text, '--from')).toBe(ms);
    vi.unstubAllEnvs();
  });

  it.each([
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-11-24 (x)',
    '2026-11-24T25:00',
    '2026',
    'yesterday',
    '',
  ])('the time %j is refused', (text) => {
    expect(() => parseDate(text, '--from')).toThrow('--from: expected a day such as 2026-03-01');
  });
});

describe('other figures', () => {
  it('an age in the future is printed as just now, and a missing time as never', () => {
    const now = Date.UTC(2026, 2, 2, 12);
    expect(formatAge('2026-03-02T11:00:00Z', now)).toBe('1 h ago');
    expect(formatAge('2026-03-02T13:00:00Z', now)).toBe('just now');
    expect(formatAge(null, now)).toBe('never');
  });

  it('a time is printed in UTC with a Z', () => {
    expect(formatTime('2026-03-02T13:00:00.123+02:00')).toBe('2026-03-02 11:00:00Z');
    expect(formatTime(null)).toBe('–');
  });

  it('a count of one has a singular noun, other counts have a plural', () => {
    expect([formatNumber(1, 'record'), formatNumber(2000, 'record')]).toEqual(['1 record', '2,000 records']);
  });
});

describe('a line that is too long for its terminal', () => {
  it('a line that is too long for its terminal breaks between words, with the indent of its beginning', () => {
    expect(wrapLines('short\nok    database: PostgreSQL 15.20, database warehouse', 34)).toBe(
      'short\nok    database: PostgreSQL 15.20,\n      database warehouse',
    );
    expect(wrapLines('  - SAFETY_TOKEN is not set: the API token', 30)).toBe(
      '  - SAFETY_TOKEN is not set:\n    the API token',
    );
  });

  it('a long word and JSON are never broken, and colours do not count as width', () => {
    const path = '/a/path/that/is/longer/than/the/line';
    expect(wrapLines(`written to ${path} now`, 20)).toBe(`written to\n${path}\nnow`);
    const red = pc.createColors(true).red('twelve chars');
    expect(wrapLines(red, 12)).toBe(red);
    expect(wrapLines('{"note": "a b c d e"}', 10)).toBe('{"note": "a b c d e"}');
    expect(wrapLines('no terminal at all', undefined)).toBe('no terminal at all');
  });
});

describe('a table', () => {
  type Cells = readonly string[];
  const cell = (at: number) => (row: Cells) => row[at] ?? '';
  const columns: ColumnOf<Cells>[] = [
    { title: 'stream', cellOf: cell(0) },
    { title: 'read', align: 'right', spare: 1, cellOf: cell(1) },
    { title: 'remark', spare: 2, cellOf: cell(2) },
  ];
  const rows = [
    ['resources', '5', 'as ever'],
    ['users', '1,234', ''],
  ];

  it('a table is aligned, without blanks at the ends of lines', () => {
    expect(renderRows(rows, columns, { colors })).toBe(
      ['stream      read  remark', 'resources      5  as ever', 'users      1,234'].join('\n'),
    );
  });

  it('a table omits columns that do not fit, the least important first, and lists them', () => {
    expect(renderRows(rows, columns, { colors, width: 24 })).toBe(
      ['stream      read', 'resources      5', 'users      1,234', '(no room for: remark)'].join('\n'),
    );
    expect(renderRows(rows, columns, { colors, width: 10 })).toBe(
      ['stream', 'resources', 'users', '(no room for: read, remark)'].join('\n'),
    );
  });

  it('a table shows control characters, text direction marks and line breaks as escapes', () => {
    const [, line = ''] = renderRows(
      [['\u001b[2J\u0007', 'a\nforged\u202e\u009b']],
      [
        { title: 'field', cellOf: cell(0) },
        { title: 'value', cellOf: cell(1) },
      ],
      { colors },
    ).split('\n');
    expect(line).toBe('\\u001b[2J\\u0007  a\\u000aforged\\u202e\\u009b');
  });

  it('a table cuts the column of remarks and omits other columns for it', () => {
    const reasons = [
      ['1', 'failed', 'the service did not respond within 60 seconds'],
      ['2', 'succeeded', ''],
    ];
    const titles: ColumnOf<Cells>[] = [
      { title: 'run', cellOf: cell(0) },
      { title: 'status', spare: 1, cellOf: cell(1) },
      { title: 'remark', isCut: true, cellOf: cell(2) },
    ];
    expect(renderRows(reasons, titles, { colors, width: 40 }).split('\n')).toEqual([
      'run  status     remark',
      '1    failed     the service did not res…',
      '2    succeeded',
    ]);
    expect(renderRows(reasons, titles, { colors, width: 30 }).split('\n')[1]).toBe(
      '1    the service did not resp…',
    );
    expect(renderRows(reasons, titles, { colors }).split('\n')[1]).toContain('60 seconds');
  });

  it('a table with colours has the same width', () => {
    const red = pc.createColors(true).red;
    const coloured = rows.map((row) => row.map((cell) => red(cell)));
    expect(renderRows(coloured, columns, { colors, width: 25 }).split('\n')[0]).toContain('remark');
  });
});

describe('a text for the terminal', () => {
  const hostile = '{"id":"\u001b]0;title\u0007\u202e \u0085 \u2066","name":"Zoë 👩‍🚒\tx"}';

  it('a text shows control characters as escapes, and its JSON keeps its meaning', () => {
    const shown = toPrintable(hostile);
    expect(shown).toBe('{"id":"\\u001b]0;title\\u0007\\u202e \\u0085 \\u2066","name":"Zoë 👩‍🚒\tx"}');
    expect(toPrintable(`{"id":"\u009b"}`)).toBe(String.raw`{"id":"\u009b"}`);
  });

  it('a text keeps its colours, but no escape that hides text', () => {
    const { red, bold } = pc.createColors(true);
    expect(toPrintable(bold(red('refused')))).toBe(bold(red('refused')));
    expect(toPrintable('\u001b[8mhidden')).toBe('\\u001b[8mhidden');
  });
});

it('streams that failed for one reason are listed below one advice', () => {
  const advice = (code: ErrorCode) => ({ code, advice: ERROR_KINDS[code].advice });
  const failure = { ...advice('token_invalid'), message: 'refused' };
  expect(
    renderFailures(
      [
        { stream: 'resources', ...failure, requestId: 'abc' },
        { stream: 'users', ...advice('network_error'), message: 'no answer' },
        { stream: 'equipments', ...failure },
      ],
      colors,
    ),
  ).toEqual([
    `token_invalid: ${ERROR_KINDS.token_invalid.advice}`,
    '  resources: refused [request abc]',
    '  equipments: refused',
    `network_error: ${ERROR_KINDS.network_error.advice}`,
    '  users: no answer',
  ]);
});

it('a terminal receives no line longer than its width, a pipe receives whole lines', () => {
  const { isTTY, columns } = process.stdout;
  const written: string[] = [];
  const write = vi
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    for (const [isTerminal, width] of [
      [true, 20],
      [true, 0],
      [false, undefined],
    ]) {
      Object.assign(process.stdout, { isTTY: isTerminal, columns: width });
      createTerminal({}).print('a sentence of more than twenty letters');
    }
  } finally {
    write.mockRestore();
    Object.assign(process.stdout, { isTTY, columns });
  }
  expect(written).toEqual([
    'a sentence of more\nthan twenty letters\n',
    'a sentence of more than twenty letters\n',
    'a sentence of more than twenty letters\n',
  ]);
});
