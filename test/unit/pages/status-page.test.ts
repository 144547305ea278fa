import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../../src/pages/status/render-status.ts';
import { describeIssue } from '../../../src/pages/words.ts';
import { statusPage } from '../../../src/operate/worker/routes.ts';
import { roughly } from '../../../src/shared/format.ts';
import { GONE, runRow, statusOf } from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

const pageOf = (facts?: Parameters<typeof statusOf>[0]): string => renderStatus(statusOf(facts), 'N');

const EVIL = "\"><script>alert('x')</script><img src=x onerror=alert(1)>&`${1}";

const run = {
  status: 'failed',
  error_code: EVIL,
  error_message: EVIL,
  owner: EVIL,
  request_id: EVIL,
} as const;
const kinds = ['record_rejected', 'field_nulled', 'unknown_field', 'unknown_value'] as const;
const EVIL_PAGE = pageOf({
  owner: EVIL,
  accounts: [
    {
      id: EVIL,
      streams: {
        followups: {
          isRunning: true,
          failingWith: EVIL,
          failedMessage: EVIL,
          heldUpBy: EVIL,
          newFields: [EVIL],
        },
      },
      retries: [
        {
          ...{ method: 'followups.list', code: EVIL, reason: EVIL, attempt: 1, attempts: 9 },
          ...{ sinceMs: NOON, nextMs: NOON },
        },
      ],
    },
  ],
  rows: {
    recentRuns: [
      runRow({ run_id: 3, ...run }),
      runRow({ run_id: 2, status: 'skipped', note: EVIL, stream: 'users' }),
    ],
    openRuns: [runRow({ stream: 'followups', status: 'running', finished_at: null })],
    issues: kinds.map((kind) => ({
      ...{ kind, stream: 'followups' as const, field: EVIL, count: 2, problem: EVIL, firstSeenMs: NOON },
    })),
  },
  warehouse: {
    problem: { ...GONE, message: EVIL, advice: EVIL },
    volumes: { rows: [{ stream: 'resources', rows: 1_234_567, isEstimate: true }], partitions: [] },
  },
});

/** Every tag with its attributes; texts between are left out. */
const tagsOf = (html: string): string[] => html.match(/<[a-z][^>]*>/gi) ?? [];

describe('the page', () => {
  it('the status page executes nothing from data', () => {
    expect(EVIL_PAGE).toContain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;');
    expect(tagsOf(EVIL_PAGE).filter((tag) => /^<(script|img|iframe|object|embed|form)/i.test(tag))).toEqual([
      '<script nonce="N">',
    ]);
    expect(tagsOf(EVIL_PAGE).filter((tag) => / on[a-z]+=/i.test(tag))).toEqual([]);
  });

  it('the status page loads nothing from other places and has no inline style, because its policy would refuse it', () => {
    const tags = tagsOf(EVIL_PAGE);
    expect(tags.filter((tag) => / style=/i.test(tag))).toEqual([]);
    const links = tags.flatMap((tag) =>
      [...tag.matchAll(/ (?:src|href)="([^"]*)"/g)].map((match) => match[1] ?? ''),
    );
    expect(links.filter((link) => !link.startsWith('data:image/svg+xml,')).sort()).toEqual([
      'api/status',
      'healthz',
      'metrics',
      'readyz',
    ]);
  });

  it('the status page closes every element that it opens', () => {
    const open: string[] = [];
    const page = EVIL_PAGE.replace(/<(style|script)([^>]*)>[\s\S]*?<\/\1>/g, '<$1$2></$1>');
    for (const [, slash, name = '', rest = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/gi)) {
      const isVoid = ['meta', 'link', 'br'].includes(name) || rest.endsWith('/');
      if (slash === '/') expect(open.pop()).toBe(name);
      else if (!isVoid) open.push(name);
    }
    expect(open).toEqual([]);
  });

  it('the content policy of the status page allows only its style and script, by the nonce of the response', () => {
    const { headers, body } = statusPage(statusOf());
    const policy = headers?.['content-security-policy'] ?? '';
    const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? [];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'nonce-${nonce}'`);
    expect(policy).not.toContain('unsafe');
    expect(body.split(`nonce="${nonce}"`)).toHaveLength(3);
  });

  it('the status page reloads itself without a script', () => {
    expect(pageOf()).toMatch(/<noscript><meta http-equiv="refresh" content="15"/);
  });

  it('the status page shows the state in its heading and in its title', () => {
    const page = pageOf({ warehouse: { problem: GONE } });
    expect(page).toMatch(/<h1>\s*The database is unreachable\.\s*<\/h1>/);
    expect(page).toMatch(/<title>\s*✗ The database is unreachable\. north\s*<\/title>/);
    expect(page).toContain('the last known state');
  });

  it('the status page shows the time of its data prominently if the data is older than usual', () => {
    const at = (ms: number) => pageOf({ nowMs: NOON + ms });
    expect(at(9_000)).toMatch(
      /<p class="dim">Account north\. As of <time[^>]*>Mon 2026-03-02 12:00:00<\/time/,
    );
    const old = at(41_000).replace(/\s+/g, ' ');
    expect(old).toMatch(
      /<p class="old">Account north\. As of <time[^>]*>Mon 2026-03-02 12:00:00<\/time> UTC, 41 s ago\.<\/p>/,
    );
  });

  it('the status page shows retention, protected columns, and streams that no run will clean', () => {
    const page = pageOf({
      keeping: {
        deletedDays: 365,
        runsDays: 1,
        issuesDays: null,
        omitted: ['followup_messages.note'],
        pseudonyms: ['users.name'],
      },
      accounts: [{ offReasons: { equipments: 'not scheduled' } }],
      rows: {
        cleanings: [
          { stream: 'followups', progress: 'under_way' },
          { stream: 'equipments', progress: 'due' },
        ],
      },
    });
    for (const text of [
      'Kept: rows that the source deleted 365 days, runs 1 day, resolved data issues for ever.',
      'Never stored: followup_messages.note. Stored as pseudonyms: users.name.',
      'Stored data does not match the privacy settings yet: followups (under way), equipments (no run is scheduled). The next run of each stream rewrites it; to rewrite it now: safety-sync privacy --clean',
    ])
      expect(page).toContain(text);
    expect(pageOf()).toContain('Kept for ever');
  });

  it('the status page is equal for equal statuses', () => {
    expect(pageOf()).toBe(pageOf());
  });

  it('the status page shows a worker that has not read the database', () => {
    const page = pageOf({ read: null, nextRuns: [] });
    expect(page).toContain('Nothing was read from the database yet.');
    expect(page).toContain('not read yet');
  });
});

describe('words', () => {
  it('durations are rounded where seconds do not matter', () => {
    expect(['1 min 5 s ago', '14 min 30 s', '3 h', '3 h 20 min', '2 d', '9.5 s'].map(roughly)).toEqual([
      '1 min ago',
      '14 min',
      '3 h',
      '3 h 20 min',
      '2 d',
      '9.5 s',
    ]);
  });

  it('a data issue is described by the effect on its data', () => {
    const issue = {
      stream: 'followups',
      field: 'due',
      problem: 'expected a date',
      firstSeenMs: NOON,
    } as const;
    expect(describeIssue({ ...issue, kind: 'field_nulled', count: 2 })).toBe(
      '2 values of due in follow-ups could not be stored and are empty: expected a date',
    );
    expect(describeIssue({ ...issue, kind: 'unknown_value', count: 20_000 })).toBe(
      '20,000 values of due in follow-ups are new here; stored as sent: expected a date',
    );
    expect(describeIssue({ ...issue, kind: 'record_rejected', count: 1 })).toBe(
      '1 record of follow-ups was rejected and is kept as a data issue: expected a date',
    );
  });
});
