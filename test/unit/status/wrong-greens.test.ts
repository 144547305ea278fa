import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/operate/status/metrics.ts';
import { buildStatus } from '../../../src/operate/status/build-status.ts';
import { UNKNOWN_STREAMS } from '../../../src/operate/status/read-accounts.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { badgeOf } from '../../../src/pages/words.ts';
import { renderStatus } from '../../../src/pages/status/render-status.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import {
  accountFacts,
  EVERYTHING_KEPT,
  manyFacts,
  operations,
  runRow,
  singleStatus,
  statusFacts,
  withStream,
} from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

type Facts = NonNullable<Parameters<typeof statusFacts>[0]>;

const badge = (facts: Facts, name: StreamName) => {
  const { streams, database } = singleStatus(statusFacts(facts));
  const [found] = streams.filter(({ stream }) => stream === name).map((one) => badgeOf(one, database));
  return `${found?.level}: ${found?.text}`;
};
/** All is fresh, with a warning. */
const warning = (but: string) => ({ level: 'warning', sentence: `Everything is fresh, but ${but}.` });
const verdict = (facts: Facts) => buildStatus(statusFacts(facts)).verdict;
const page = (facts: Facts) => renderStatus(buildStatus(statusFacts(facts)), 'N').replace(/\s+/g, ' ');

const circuit = {
  stream: 'resources',
  holdsAll: true,
  code: 'token_inactive',
  message: 'the token is inactive',
  advice: 'Have a new one issued.',
  sinceMs: NOON - HOUR_MS,
  nextTryMs: NOON + 5 * MINUTE_MS,
} as const;
const failedRun = runRow({ run_id: 9, stream: 'resources', status: 'failed', error_code: 'delete_guard' });
const running = runRow({ run_id: 10, stream: 'resources', status: 'running', finished_at: null });

const heldUp = { operations: withStream('resources', { heldUpBy: 'role bi (pid 1)' }) };
const unreconciled = { operations: withStream('resources', { failedReconcile: 'delete_guard' }) };
const refused = { refusals: [circuit] };
const forbidden = { refusals: [{ ...circuit, holdsAll: false }] };
const old = { nowMs: NOON + 3 * MINUTE_MS, isDatabaseSlow: true };
const partitions = [{ partition: '23', live: 1200, deleted: 0, readAtMs: NOON - DAY_MS }];
const unread = { volumes: { rows: [], days: [], partitions } };
const future = { operations: operations({ successMs: { resources: NOON + 5 * HOUR_MS } }) };
const soon = { operations: operations({ successMs: { resources: NOON + MINUTE_MS } }) };
const syncing = (resources: number | null) => ({
  operations: operations({ runs: [running], successMs: { resources } }),
});

it.each<[string, Facts, StreamName, string]>([
  ['if another session holds its lock', heldUp, 'resources', 'warning: held up'],
  ['if another session holds the lock of another', heldUp, 'followups', 'good: fresh'],
  ['if its last reconcile failed', unreconciled, 'resources', 'warning: last reconcile failed'],
  ['if the token is refused', refused, 'followups', 'warning: refused by the service'],
  ['if access to it is refused', forbidden, 'resources', 'warning: refused by the service'],
  ['if access to another is refused', forbidden, 'followups', 'good: fresh'],
  ['if the database has not been read for minutes', old, 'resources', 'off: last known: fresh'],
  ['if rows of it are not read any more', unread, 'equipments', 'warning: 1,200 not read'],
  ['if its success is in the future, because a clock was put back', future, 'resources', 'bad: stale'],
  ['if it succeeds while the status is read', soon, 'resources', 'good: fresh'],
  ['if it is late and syncing', syncing(NOON - 3 * HOUR_MS), 'resources', 'bad: stale, syncing'],
  ['if its first sync is under way', syncing(null), 'resources', 'busy: syncing'],
  ['before the first read', { operations: null }, 'resources', 'off: not read yet'],
])('the badge of a stream %s', (_, facts, stream, shown) => {
  expect(badge(facts, stream)).toBe(shown);
});

describe('a verdict that is not simply fresh', () => {
  it.each<[Facts, string, RegExp]>([
    [
      unreconciled,
      'the last reconcile of resources failed',
      /^The last reconcile of resources failed \(delete_guard\), and syncs do not do its work\. .*--allow-mass-delete/,
    ],
    [unread, 'stored data differs from the settings', /1,200 live rows of equipment types/],
  ])('the verdict %# is a warning that the details explain', (facts, but, details) => {
    expect(verdict(facts)).toMatchObject(warning(but));
    expect(verdict(facts).details.join()).toMatch(details);
  });

  it('the verdict is not ready if the last success is in the future', () => {
    expect(buildStatus(statusFacts(future)).notReady).toEqual([
      'resources is stale: its last success has a time that is still to come, so a clock was put back',
    ]);
  });

  it('the verdict is a warning if the last run of a stream without a schedule failed, or its lock is held', () => {
    const offReasons = { resources: 'not scheduled' } as const;
    expect(verdict({ operations: operations({ runs: [failedRun] }), offReasons })).toMatchObject(
      warning('the last run of resources failed'),
    );
    expect(verdict({ ...heldUp, offReasons }).level).toBe('warning');
    const equipment = runRow({ stream: 'equipments', status: 'failed', error_code: 'server_error' });
    // No run can correct it, and none is wanted.
    const skipped = { offReasons: { equipments: 'no equipment types' } } as const;
    const unlisted = withStream('equipments', { isOffered: false }, operations({ runs: [equipment] }));
    expect(verdict({ operations: unlisted, ...skipped }).level).toBe('good');
  });

  it('the verdict is a warning if the scheduled report cannot be sent', () => {
    const failedReports = [{ accountId: 'north', code: 'alert_undelivered' }];
    const alerts = { open: 1, channels: [], failedReports };
    expect(verdict({ alerts })).toMatchObject(warning('the last report failed'));
    expect(verdict({ alerts }).details).toHaveLength(1);
    expect(verdict({ alerts }).details[0]).toMatch(
      /^The report could not be made or sent \(alert_undelivered\); it is tried again\. /,
    );
    expect(verdict({ alerts, accountId: 'other' }).level).toBe('good');
  });

  it('the verdict is a warning if stored data differs from the privacy settings', () => {
    const facts = { operations: operations({ cleanings: [{ stream: 'followups', progress: 'due' }] }) };
    expect(verdict(facts)).toMatchObject(warning('stored data differs from the settings'));
    expect(verdict(facts).details).toHaveLength(1);
    expect(page(facts).match(/Stored data does not match the privacy settings/g)).toHaveLength(1);
  });

  it('the verdict is a warning if data is older than its retention for days', () => {
    const keeping = { ...EVERYTHING_KEPT, deletedDays: 30 };
    const removed = (retainedMs: number | null) => ({
      keeping,
      operations: withStream('resources', { retainedMs }, withRetained(NOON - HOUR_MS)),
    });
    expect(verdict(removed(NOON - 3 * DAY_MS))).toMatchObject({
      level: 'warning',
      details: [
        'Data of resources is still stored, although it is older than its retention. Runs remove it in parts, and the log names errors.',
      ],
    });
    expect(verdict(removed(null)).level).toBe('warning');
    expect(verdict(removed(NOON - DAY_MS)).level).toBe('good');
    expect(verdict({ operations: removed(null).operations }).level).toBe('good');
  });
});

function withRetained(retainedMs: number) {
  const read = operations();
  const streams = (read.accounts.get('north') ?? []).map((one) => ({ ...one, retainedMs }));
  return { ...read, accounts: new Map([['north', streams]]) };
}

describe('a first sync that is not under way', () => {
  const none = operations({ runs: [], successMs: { resources: null } });

  it('a first sync is not under way while another session holds the lock', () => {
    const held = withStream('resources', { heldUpBy: 'role bi (pid 1)' }, none);
    expect(verdict({ operations: held })).toMatchObject({
      level: 'bad',
      sentence: 'Resources has never been synced.',
    });
    expect(verdict({ operations: none })).toMatchObject({ level: 'busy' });
  });

  it('a first sync is not under way if it repeats a failed run, but is after an interrupted one', () => {
    const again = (error_code: string) =>
      operations({
        runs: [running, runRow({ run_id: 9, stream: 'resources', status: 'failed', error_code })],
        successMs: { resources: null },
      });
    expect(verdict({ operations: again('server_error') }).level).toBe('bad');
    expect(verdict({ operations: again('interrupted') }).level).toBe('busy');
    expect(verdict({ operations: again('worker_died') }).level).toBe('busy');
  });

  it('a first sync under way hides no warning of another stream', () => {
    const runs = [running, runRow({ stream: 'followups', status: 'failed', error_code: 'server_error' })];
    expect(verdict({ operations: operations({ runs, successMs: { resources: null } }) })).toMatchObject({
      level: 'warning',
      sentence: 'The first sync is under way, but the last run of followups failed.',
    });
  });
});

describe('a state that was not read', () => {
  it('before the first read, lists are shown as not read yet', () => {
    const text = page({ operations: null });
    expect(text).not.toContain('None: ');
    expect(text).not.toContain('No run yet');
    expect(text.match(/Not read yet\./g)).toHaveLength(2);
    expect(text).not.toContain('never');
  });

  it('before the migrations, streams are shown as not read yet', () => {
    const read = { ...operations({ pendingMigrations: 1 }), rows: undefined };
    const facts = { operations: { ...read, accounts: new Map([['north', UNKNOWN_STREAMS]]) } };
    expect(badge(facts, 'resources')).toBe('off: not read yet');
    expect(buildStatus(statusFacts(facts)).notReady).toEqual(['1 migration of the warehouse is pending']);
  });

  it('before the first read, no metric of the migrations exists', async () => {
    const metrics = createMetrics({ accountIds: ['north'] });
    const text = await metrics.render(buildStatus(statusFacts({ operations: null })));
    metrics.close();
    expect(text).not.toMatch(/^safety_sync_pending_migrations/m);
  });

  it('a list of accounts shows the last known state while the database is unreachable, and not read yet before the first read', () => {
    const [streams = []] = operations().accounts.values();
    const two = [
      [accountFacts('a'), streams],
      [accountFacts('b'), streams],
    ] as const;
    const shown = (change: Parameters<typeof manyFacts>[1]) =>
      renderStatus(buildStatus(manyFacts(two, change)), 'N').match(/class="badge[^<]*/g);
    expect(shown({})).toEqual([
      'class="badge good">2 healthy',
      'class="badge good">healthy',
      'class="badge good">healthy',
    ]);
    expect(shown({ databaseProblem: 'gone' })).toEqual([
      'class="badge off">last known: 2 healthy',
      'class="badge off">last known: healthy',
      'class="badge off">last known: healthy',
    ]);
    expect(shown({ seen: null })).toEqual([
      'class="badge off">2 not read yet',
      'class="badge off">not read yet',
      'class="badge off">not read yet',
    ]);
  });
});

describe('many accounts', () => {
  const [streams = []] = operations().accounts.values();

  it('the verdict of an account with a warning and one with a first sync is a warning', () => {
    const failed = streams.map((one) => ({
      ...one,
      lastRun: { status: 'failed' as const, errorCode: 'delete_guard' },
    }));
    const first = streams.map((one) => ({ ...one, lastSuccessMs: null, lastRun: null, running: {} }));
    const all = [
      [accountFacts('a'), failed],
      [accountFacts('b'), first],
    ] as const;
    expect(buildStatus(manyFacts(all)).verdict).toMatchObject({
      level: 'warning',
      sentence: '1 of 2 accounts has a warning.',
    });
  });

  it('the verdict of many accounts is a warning while the scheduled report of one fails', () => {
    const all = [
      [accountFacts('a'), streams],
      [accountFacts('b'), streams],
    ] as const;
    const failedReports = [{ accountId: 'b', code: 'report_unwritable' }];
    const status = buildStatus(manyFacts(all, { alerts: { open: 0, channels: [], failedReports } }));
    expect(status.verdict.level).toBe('warning');
    expect(status.accounts.map(({ accountId, verdict: { level } }) => [accountId, level])).toEqual([
      ['b', 'warning'],
      ['a', 'good'],
    ]);
  });
});

describe('figures and sentences', () => {
  it('the page does not count a channel that refuses alerts as one that sends them', () => {
    const alerts = {
      open: 2,
      failedReports: [],
      channels: [
        { name: 'webhook', waiting: 2, problem: 'HTTP 500' },
        { name: 'mail', waiting: 0, problem: null },
      ],
    } as const;
    const text = page({ alerts });
    expect(text).toContain('Alerts are sent by mail; 2 are open. They do not arrive by the webhook.');
    const none = { ...alerts, channels: alerts.channels.slice(0, 1) };
    expect(page({ alerts: none })).toContain('Alerts do not arrive by the webhook; 2 are open.');
  });

  it('the page counts the open issues of a stream', () => {
    const issue = {
      stream: 'resources',
      kind: 'field_nulled',
      field: 'due',
      problem: 'x',
      firstSeenMs: NOON,
    } as const;
    const issues = [{ ...issue, count: 20_003 }];
    expect(page({ operations: operations({ issues }) })).toContain('20,003 issues');
  });

  it('the page shows that an estimate includes deleted rows', () => {
    const rows = [{ stream: 'resources', rows: 300_000, isEstimate: true }] as const;
    expect(page({ volumes: { rows, days: [] } })).toContain(
      'about 300,000 <span class="dim small">with deleted ones</span>',
    );
  });

  it('the page has no colour and no title of a good state if the worker does not respond', () => {
    const text = page({});
    expect(text).toContain("document.title = '✗ No response'");
    expect(text).toContain("main.className = 'lost'");
    expect(text).toContain("querySelector('h1').textContent = 'No response from the worker.'");
    expect(text).toContain('main.lost{filter:grayscale(1)');
    // A tab that is not in front shows its title, too.
    expect(text).not.toContain('document.hidden');
  });

  it('the page shows a volume of zero as zero', () => {
    const rows = [{ stream: 'resources', rows: 0, isEstimate: false }] as const;
    expect(page({ volumes: { rows, days: [] } })).toContain('<dt>records</dt> <dd>0</dd>');
  });
});
