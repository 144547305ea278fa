import pc from 'picocolors';
import pino from 'pino';
import { describe, expect, it, vi } from 'vitest';
import * as format from '../../../src/shared/format.ts';
import { parseDate } from '../../../src/cli/arguments.ts';
import { createProgress } from '../../../src/cli/progress.ts';
import { renderRows } from '../../../src/cli/table.ts';
import { createTerminal, toPrintable } from '../../../src/cli/terminal.ts';
import { sandbox } from '../../../src/cli/verbs/sandbox.ts';
import { wrapLines } from '../../../src/shared/wrap-lines.ts';

const colors = pc.createColors(false);
const { formatAge, formatCount, formatDuration, formatNumber, formatTime, nameSome, roughly } = format;

describe('arguments and figures', () => {
  it.each([
    [400, '400 ms'],
    [999.5, '1.0 s'],
    [9_950, '10 s'],
    [59_000, '59 s'],
    [59_500, '1 min'],
    [3_599_000, '59 min 59 s'],
    [3_599_500, '1 h'],
    [86_340_000, '23 h 59 min'],
    [86_370_000, '1 d'],
    [5 * 86_400_000 + 23.6 * 3_600_000, '6 d'],
  ])('a duration of %d ms is printed as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('an age in the future is printed as just now, and a missing time as never', () => {
    const now = Date.UTC(2026, 2, 2, 12);
    const ages = [now - 874_000, now - 1000, now - 999, now + 1, null].map((one) => formatAge(one, now));
    expect(ages).toEqual(['14 min 34 s ago', '1.0 s ago', 'just now', 'just now', 'never']);
    expect(roughly('14 min 34 s ago')).toBe('14 min ago');
    expect([formatTime(now), formatTime(null)]).toEqual(['2026-03-02 12:00:00Z', '–']);
  });

  it('a count has commas, and a long list its beginning and the number of the others', () => {
    expect([999, 1000, 1_234_567].map(formatCount)).toEqual(['999', '1,000', '1,234,567']);
    expect([0, 1].map((count) => formatNumber(count, 'row'))).toEqual(['0 rows', '1 row']);
    const names = ['a', 'b', 'c'];
    expect([nameSome(names, 3), nameSome(names, 1)]).toEqual(['a, b, c', 'a and 2 more']);
  });

  it('a time as an argument is in UTC if it has no zone, and others are refused', () => {
    vi.stubEnv('TZ', 'America/New_York');
    const times = ['2026-03-01', '2026-03-01T12:30', '2026-03-01T12:30:05Z', '2026-03-01T12:30:00+02:00'];
    expect(times.map((text) => new Date(parseDate(text, '--from')).toISOString())).toEqual([
      '2026-03-01T00:00:00.000Z',
      '2026-03-01T12:30:00.000Z',
      '2026-03-01T12:30:05.000Z',
      '2026-03-01T10:30:00.000Z',
    ]);
    vi.unstubAllEnvs();
    for (const text of ['2026-02-30', '2026-11-24T25:00', '2026', 'yesterday', ''])
      expect(() => parseDate(text, '--from')).toThrow('--from: expected a day such as 2026-03-01');
  });
});

describe('a line for a terminal', () => {
  it('a line that is too long breaks between words with its indent, below its second column; a long word and JSON are never broken', () => {
    const path = '/a/path/that/is/longer/than/forty/columns';
    expect(wrapLines(`\n  the report was written to ${path} now`, 43)).toBe(
      `\n  the report was written to\n  ${path}\n  now`,
    );
    const finding = `${pc.createColors(true).green('ok')}    the database is one of those with PostgreSQL`;
    expect(wrapLines(finding, 46)).toBe(finding.replace(' PostgreSQL', '\n      PostgreSQL'));
    expect(wrapLines('a first column with eleven words  and a second', 43)).toBe(
      'a first column with eleven words  and a\nsecond',
    );
    const json = `{"note": "${'a word and '.repeat(9)}"}`;
    expect(wrapLines(json, 40)).toBe(json);
    expect(wrapLines(`  ${path}  ${path} `, undefined)).toBe(`  ${path}  ${path} `);
  });

  it('control characters are escapes, colours stay, and JSON keeps its meaning', () => {
    const hostile = '{"id":"\u001b]0;title\u0007\u202e \u0085 \u2066","name":"Zoë 👩‍🚒\tx"}';
    expect(toPrintable(hostile)).toBe(
      '{"id":"\\u001b]0;title\\u0007\\u202e \\u0085 \\u2066","name":"Zoë 👩‍🚒\tx"}',
    );
    const { red, bold } = pc.createColors(true);
    expect(toPrintable(bold(red('refused')))).toBe(bold(red('refused')));
    expect(toPrintable('\u001b[8mhidden')).toBe('\\u001b[8mhidden');
  });
});

describe('a table', () => {
  const rows = [
    { name: 'resources', count: 5, remark: 'the service did not respond within a minute' },
    { name: 'users', count: 1234, remark: 'a\nforged \u202eline' },
  ];
  const columns = {
    stream: ({ name }: (typeof rows)[number]) => name,
    read: ({ count }: (typeof rows)[number]) => count,
    remark: ({ remark }: (typeof rows)[number]) => remark,
  };

  it('columns are aligned, and a cell is on one line', () => {
    expect(renderRows({ colors }, rows, columns).split('\n')).toEqual([
      'stream      read  remark',
      'resources      5  the service did not respond within a minute',
      'users      1,234  a\\u000aforged \\u202eline',
    ]);
  });

  it('columns that do not fit are left out and named, or cut if they are texts', () => {
    const linesAt = (width: number) => renderRows({ colors, width }, rows, columns).split('\n');
    expect(linesAt(28)).toEqual([
      'stream      read  remark',
      'resources      5  the servi…',
      'users      1,234  a\\u000afo…',
    ]);
    expect(linesAt(16)).toEqual([
      'stream      read',
      'resources      5',
      'users      1,234',
      '(no room for: remark)',
    ]);
    expect(linesAt(15)).toEqual(['stream', 'resources', 'users', '(no room for: read, remark)']);
  });
});

it('progress is one line at a terminal, a bar where all are counted, and is erased; elsewhere it is a log line', () => {
  const written: string[] = [];
  const write = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);
  const bar = createProgress(pino({ level: 'silent' }), true);
  bar.events.onRead?.('followups', 600, { records: 600, total: 2400, slicesDone: 1 });
  bar.erase();
  createProgress(pino({ level: 'silent' }), true).events.onRead?.('users', 1200);
  createProgress(pino({ level: 'silent' }), false).events.onRead?.('users', 1200);
  write.mockRestore();
  expect(written).toEqual([
    '\r\u001b[2Kfollowups ███░░░░░░░░░ 25%  600 of 2,400 records, 0/s',
    '\r\u001b[2K',
    '\r\u001b[2Kreading names of people: 1,200 records',
  ]);
});

it('on a terminal the sandbox prints lines to paste into a shell', async () => {
  const printed: string[] = [];
  const terminal = { ...createTerminal({}), width: 80, print: (text: string) => void printed.push(text) };
  const size = { followups: 1, employees: 1, equipment: 1, resources: 1, users: 1 };
  const signal = AbortSignal.timeout(1);
  await sandbox.runAlone?.(
    { env: {}, terminal: { ...terminal, note: () => undefined }, signal },
    { ...size, host: '127.0.0.1', port: 0, live: 0, latency: 0, faults: 0 },
  );
  expect(printed.join('\n')).toMatch(
    /^export SAFETY_BASE_URL=http:\/\/127\.0\.0\.1:\d+\nexport SAFETY_TOKEN=sandbox-token$/,
  );
});
