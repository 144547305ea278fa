/** The list of problems, and what follows from it: the verdict, /readyz, /healthz, /metrics and the JSON. */
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/operate/status/metrics.ts';
import { toJsonStatus } from '../../../src/operate/status/json-status.ts';
import { reasonsOf, textsOf } from '../../../src/operate/status/problem-words.ts';
import { buildRoutes, healthPage, readyPage } from '../../../src/operate/worker/routes.ts';
import { longestPauseMs } from '../../../src/operate/worker/what-is-wrong.ts';
import { badgeOf } from '../../../src/pages/status/render-account.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { GONE, iso, onlyAccount, runRow, statusOf } from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

type Facts = NonNullable<Parameters<typeof statusOf>[0]>;
type Account = NonNullable<Facts['accounts']>[number];

const ago = (ms: number) => ({ lastSuccessMs: NOON - ms });
const one = (account: Account): Facts => ({ accounts: [account] });
const refusal = {
  stream: 'resources',
  holdsAll: true,
  code: 'token_inactive',
  message: 'resources.list {"user":11556}: the token is inactive',
  advice: 'Have a new one issued.',
  sinceMs: NOON - 10 * MINUTE_MS,
  nextTryMs: NOON + 5 * MINUTE_MS,
};
const retry = (sinceMs: number, method = 'followups.list') => ({
  method,
  code: 'network_error',
  reason: 'connection refused',
  attempt: 7,
  attempts: 9,
  sinceMs,
  nextMs: NOON + 13 * SECOND_MS,
});
const never = { lastSuccessMs: null, lastRun: null };
const NEVER = Object.fromEntries(STREAM_NAMES.map((name) => [name, never]));

interface Expected {
  readonly sentence: string;
  readonly level: string;
  /** Those of /readyz; empty: it is ready. */
  readonly reasons?: readonly string[];
  /** Further problems that are listed. */
  readonly listed?: readonly string[];
}

const CASES: Readonly<Record<string, readonly [Facts, Expected]>> = {
  'a healthy worker': [{}, { level: 'good', sentence: 'Everything is fresh.' }],
  'stale streams, in one line': [
    one({ streams: { followups: ago(3 * HOUR_MS), equipments: ago(3 * HOUR_MS) } }),
    {
      level: 'bad',
      sentence: 'Follow-ups and equipment are stale.',
      reasons: [
        'Follow-ups and equipment are stale: no success within 1 h. No run failed: see on the status page and in the worker’s log whether runs take long or do not begin. The last success was 3 h ago.',
      ],
    },
  ],
  'people who are stale, who only complete the other data': [
    one({ streams: { users: ago(49 * HOUR_MS), names: ago(47 * HOUR_MS) } }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but names of people are stale.',
      listed: [expect.stringMatching(/^Names of people are stale: no success within 2 d/) as string],
    },
  ],
  'names that were never read': [
    one({ streams: { names: never } }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'a stream without a schedule, and one that is not offered': [
    one({
      streams: { followups: ago(DAY_MS), users: { ...never, isOffered: false } },
      offReasons: { followups: 'not scheduled' },
    }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'equipment without types': [
    one({
      streams: { equipments: { ...never, isOffered: false } },
      offReasons: { equipments: 'no equipment types' },
    }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'training while the list of the service is current': [
    one({
      streams: { 'training-employee-status': { ...ago(90 * MINUTE_MS), currentUntilMs: NOON - MINUTE_MS } },
    }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'a first sync': [
    one({ streams: NEVER }),
    {
      level: 'busy',
      sentence: 'The first sync is under way.',
      reasons: ['Documents, follow-ups, training and equipment have never been synced.'],
    },
  ],
  'a first sync that failed': [
    one({ streams: { followups: { ...never, failingWith: 'read_incomplete' } } }),
    {
      level: 'bad',
      sentence: 'Follow-ups have never been synced.',
      reasons: ['Follow-ups have never been synced.'],
      listed: [expect.stringMatching(/^Follow-ups fail \(read_incomplete\)\. /) as string],
    },
  ],
  'refused credentials while data is fresh': [
    one({ health: { refusals: [refusal] } }),
    {
      level: 'bad',
      sentence: 'The service refuses the credentials.',
      reasons: [
        'The service refuses the credentials (token_inactive). Have a new one issued. Next try in 5 min.',
      ],
    },
  ],
  'refused credentials, and no line of its own for what is stale by them': [
    one({ health: { refusals: [refusal] }, streams: { followups: ago(3 * HOUR_MS), equipments: never } }),
    {
      level: 'bad',
      sentence: 'The service refuses the credentials.',
      reasons: [
        'The service refuses the credentials (token_inactive). Have a new one issued. Follow-ups are stale, and equipment has never been synced. Next try in 5 min.',
      ],
    },
  ],
  'a run that the service refused, before another stream succeeded': [
    one({ streams: { users: { failingWith: 'token_invalid', failingSinceMs: NOON - 2 * MINUTE_MS } } }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but names of people fail.',
      listed: [expect.stringMatching(/^Names of people fail \(token_invalid\)/) as string],
    },
  ],
  'attempts that fail for less than a minute': [
    one({
      streams: { followups: { isRunning: true } },
      retries: [retry(NOON - 59 * SECOND_MS)],
    }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'attempts that fail for a minute, instead of what failed before': [
    one({
      streams: Object.fromEntries(
        Object.keys(NEVER).map((name) => [
          name,
          {
            ...ago(5 * MINUTE_MS),
            ...(name === 'followups' && { isRunning: true, failingWith: 'privacy_key_wrong' }),
          },
        ]),
      ),
      retries: [retry(NOON - 61 * SECOND_MS)],
    }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but the service cannot be used.',
      listed: [
        'The service cannot be used: connection refused (network_error). The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates. It has been so for 1 min.',
      ],
    },
  ],
  'a service that is away until data is stale': [
    one({
      streams: Object.fromEntries(
        Object.keys(NEVER).map((name) => [
          name,
          { ...ago(2 * HOUR_MS), failingWith: 'network_error', failingSinceMs: NOON - HOUR_MS },
        ]),
      ),
    }),
    {
      level: 'bad',
      sentence: 'The service cannot be used.',
      reasons: [
        'The service cannot be used (network_error). The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates. It has been so for 1 h. Documents, follow-ups, training and equipment are stale.',
      ],
    },
  ],
  'one stream without a response, while others succeed': [
    one({ streams: { followups: { failingWith: 'network_error', failingSinceMs: NOON - 2 * MINUTE_MS } } }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but follow-ups fail.',
      listed: [expect.stringMatching(/^Follow-ups fail \(network_error\)/) as string],
    },
  ],
  'a database that is away, and no line for what grows stale': [
    { warehouse: { problem: GONE }, nowMs: NOON + 2 * HOUR_MS },
    {
      level: 'bad',
      sentence: 'The database is unreachable.',
      reasons: ['The database is unreachable (database_unreachable: connect ECONNREFUSED). Start it.'],
    },
  ],
  'a migration of tables that waits for a lock': [
    {
      read: { pendingMigrations: 2, accounts: new Map() },
      migrationWaits: 'the migration waits for a lock of role bi (pid 7)',
      worker: 'starting',
    },
    {
      level: 'busy',
      sentence: 'The warehouse is being migrated.',
      reasons: [
        'The warehouse is being migrated: 2 migrations. The migration waits for a lock of role bi (pid 7).',
      ],
    },
  ],
  'views that wait for their readers': [
    { read: { arePendingViews: true } },
    {
      level: 'busy',
      sentence: 'The warehouse is being migrated.',
      listed: ['The warehouse is being migrated: views are left.'],
    },
  ],
  'a worker that has read nothing yet': [
    { read: null, worker: 'starting' },
    { level: 'busy', sentence: 'The worker is starting.', reasons: ['The worker is starting.'] },
  ],
  'training that failed, until its list is due': [
    one({
      streams: {
        'training-employee-status': {
          failingWith: 'privacy_key_wrong',
          currentUntilMs: NOON + 9 * MINUTE_MS,
        },
      },
    }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but training fails.',
      listed: [
        expect.stringMatching(
          /^Training fails \(privacy_key_wrong\)\. Set PRIVACY_KEY .* safety-sync sync training-employee-status --force\.$/,
        ) as string,
      ],
    },
  ],
  'a reconcile that failed, and a lock of another session': [
    one({
      streams: {
        resources: { failedReconcile: 'read_incomplete' },
        users: { heldUpBy: 'role bi (pid 1)' },
      },
    }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but the reconcile of documents fails.',
      listed: [
        expect.stringMatching(
          /^The reconcile of documents fails \(read_incomplete\).* Syncs do not do its/,
        ) as string,
        'Runs of names of people are held up: role bi (pid 1).',
      ],
    },
  ],
  'alerts that do not arrive, a report that failed, and data unlike the settings': [
    {
      alerts: {
        open: 1,
        channels: [{ name: 'webhook', waiting: 1, problem: 'HTTP 500' }],
        failedReports: [{ accountId: 'north', code: 'mail_failed' }],
      },
      rows: { cleanings: [{ stream: 'followups', progress: 'due' }] },
    },
    {
      level: 'warning',
      sentence: 'Everything is fresh, but alerts do not arrive by the webhook.',
      listed: [
        'Alerts do not arrive by the webhook (HTTP 500). Try it: safety-sync alerts test. 1 alert waits.',
        expect.stringMatching(
          /^The report could not be made or sent, and is tried again \(mail_failed\)/,
        ) as string,
        expect.stringMatching(/^Stored data does not match the privacy settings yet: followups/) as string,
      ],
    },
  ],
  'what is worth a note, and the limit of the service': [
    {
      ...one({ streams: { followups: { newFields: ['severity<!here>'], repaired: 3 } } }),
      read: { blocked: new Map([['north', NOON + MINUTE_MS]]) },
    },
    {
      level: 'good',
      sentence: 'Everything is fresh.',
      listed: [
        expect.stringMatching(
          /^A reconcile of follow-ups stored what earlier syncs had missed: 3 changes/,
        ) as string,
        expect.stringMatching(/^The service sends new fields: severity\?\?here\? of follow-ups/) as string,
        'Waiting for the request limit until 2026-03-02 12:01:00Z.',
      ],
    },
  ],
};

it.each(Object.entries(CASES))(
  'the status of %s',
  (_, [facts, { level, sentence, reasons = [], listed = [] }]) => {
    const status = statusOf(facts);
    expect(status.verdict).toMatchObject({ level, sentence });
    expect(reasonsOf(status.problems)).toEqual(reasons);
    expect(status.isReady).toBe(reasons.length === 0);
    const others = textsOf(status.problems).filter((text) => !reasons.includes(text));
    expect(others.filter((text) => !/^(Names of|Completed).* never been synced/.test(text))).toEqual(listed);
  },
);

describe('the badge of a stream', () => {
  const badge = (facts: Facts, name = 'followups') => {
    const status = statusOf(facts);
    const stream = onlyAccount(status).detail.streams.find((of) => of.stream === name);
    return stream === undefined
      ? ''
      : badgeOf(stream, status).text.replace(/<span class="badge |<\/span>/g, '');
  };
  const running = {
    rows: { openRuns: [runRow({ stream: 'followups', status: 'running', finished_at: null })] },
  };
  const under = (change: Account['streams'] = {}) => ({
    ...one({ streams: { ...change, followups: { isRunning: true, ...change['followups'] } } }),
    ...running,
  });

  it('the badge of a stream is the problem of the list, or what its run does', () => {
    expect(badge({})).toBe('good">fresh');
    expect(badge(under())).toBe('busy">syncing');
    expect(
      badge({
        ...under(),
        accounts: [{ streams: { followups: { isRunning: true } }, retries: [retry(NOON)] }],
      }),
    ).toBe('busy">waiting');
    expect(badge(under({ followups: ago(2 * HOUR_MS) }))).toBe('bad">stale, syncing');
    expect(badge(one({ streams: NEVER }))).toBe('busy">waits for its first run');
    expect(badge(one({ health: { refusals: [refusal] } }))).toBe('warning">refused by the service');
    expect(badge({ warehouse: { problem: GONE } })).toBe('off">last known: fresh');
    expect(badge({ read: { pendingMigrations: 1, accounts: new Map() } })).toBe('off">not read yet');
    expect(badge(one({ offReasons: { followups: 'not scheduled' } }))).toBe('off">not scheduled');
  });
});

describe('the JSON of the status', () => {
  it('the JSON has the names and times of the public interface, and the problems', () => {
    const rows = { recentRuns: [runRow()] };
    const json = toJsonStatus(statusOf({ ...one({ health: { refusals: [refusal] } }), rows }));
    expect(json).toMatchObject({
      account_id: 'north',
      is_ready: false,
      now_at: iso(NOON),
      database: { read_at: iso(NOON) },
      verdict: { sentence: 'The service refuses the credentials.' },
      problems: [{ kind: 'credentials_refused', code: 'token_inactive', is_reason: true, subject: '' }],
      recent_runs: [{ run_id: 1, started_at: iso(NOON - MINUTE_MS), duration_ms: 2000 }],
    });
    expect((json as { streams: unknown[] }).streams[0]).toMatchObject({
      ...{ stream: 'resources', freshness: 'fresh', last_success_at: iso(NOON - MINUTE_MS) },
      next_run_at: iso(NOON + 14 * MINUTE_MS),
    });
    const text = JSON.stringify(json);
    expect(new Set(text.match(/"\w+_ms"/g))).toEqual(new Set(['"duration_ms"']));
    expect(text).not.toMatch(/:1\d{12}\b/);
  });

  it('ages are by the clock of the database, whatever the clock of the worker shows', () => {
    const status = statusOf({ nowMs: NOON - 5 * HOUR_MS, read: { readAtMs: NOON - 5 * HOUR_MS } });
    expect([status.nowMs, status.isReady]).toEqual([NOON, true]);
  });

  it('the progress of a run is that of this process, else of the ledger, else the count of the run', () => {
    const openRuns = [runRow({ stream: 'followups', status: 'running', finished_at: null, records_read: 7 })];
    const progressOf = (facts: Facts, backfills: { stream: string; records: number; total: number }[] = []) =>
      onlyAccount(statusOf({ ...facts, rows: { openRuns, backfills } })).detail.running[0]?.progress;
    const made = { records: 50, total: 100, slicesDone: 1 };
    expect(progressOf(one({ progress: new Map([['followups', made]]) }))).toEqual({
      records: 50,
      total: 100,
    });
    const ledger = { stream: 'followups', records: 30, total: 90 };
    expect(progressOf({}, [ledger])).toEqual({ records: 30, total: 90 });
    expect(progressOf({})).toEqual({ records: 7, total: null });
  });
});

describe('several accounts', () => {
  const MANY: Facts = {
    accounts: [
      { id: 'east' },
      { id: 'north', health: { refusals: [refusal] } },
      { id: 'west', streams: NEVER },
    ],
  };

  it('the account with the worst state comes first, and /readyz is 503 only when none is ready', () => {
    const status = statusOf(MANY);
    expect(status.accounts.map(({ accountId }) => accountId)).toEqual(['north', 'west', 'east']);
    expect(status.verdict).toMatchObject({ level: 'bad', sentence: '1 of 3 accounts is unhealthy.' });
    const ready = readyPage(status);
    expect(ready.status).toBe(200);
    expect(JSON.parse(ready.body)).toMatchObject({
      accounts: { good: 1, busy: 1, warning: 0, bad: 1 },
      trouble: [
        expect.stringMatching(/^north: The service refuses the credentials/),
        expect.stringMatching(/^west: Documents, follow-ups, training and equipment have never been synced/),
      ],
    });
    expect(readyPage(statusOf({ accounts: (MANY.accounts ?? []).slice(1) })).status).toBe(503);
    expect(readyPage(statusOf({ ...MANY, warehouse: { problem: GONE } })).status).toBe(503);
  });

  it('/healthz is 200 with any problem, lists them all, and is 503 only while the worker stops', () => {
    const { status, body } = healthPage(statusOf({ ...MANY, warehouse: { problem: GONE } }));
    expect(status).toBe(200);
    expect((JSON.parse(body) as { problems: string[] }).problems).toEqual([
      expect.stringMatching(/^The database is unreachable/),
      expect.stringMatching(/^north: The service refuses/),
    ]);
    expect(healthPage(statusOf({ worker: 'stopping' })).status).toBe(503);
  });

  it('no endpoint shows secrets, and an account that does not exist is 404', async () => {
    const secret = 'token-canary';
    const evil = { ...refusal, advice: `${secret}<b>` };
    const all = statusOf({ accounts: [{ id: 'a' }, { id: 'b', health: { refusals: [evil] } }] });
    const routes = buildRoutes({
      status: () => all,
      statusOfOne: async (id) =>
        await Promise.resolve(id === 'b' ? statusOf({ accounts: [{ id }] }) : undefined),
      redact: (text) => text.replaceAll(secret, '***'),
      metrics: createMetrics(['a', 'b']),
    });
    for (const path of ['/', '/healthz', '/readyz', '/api/status', '/metrics']) {
      const { body, status } = (await routes[path]?.(new URLSearchParams())) ?? { body: secret, status: 0 };
      expect([path, status, body.includes(secret)]).toEqual([path, 200, false]);
    }
    expect((await routes['/']?.(new URLSearchParams('account=b')))?.status).toBe(200);
    expect((await routes['/readyz']?.(new URLSearchParams('account=c')))?.status).toBe(404);
  });

  it('/metrics are those of the list, labelled by account', async () => {
    const metrics = createMetrics(['east', 'north', 'west']);
    const text = await metrics.render(statusOf(MANY));
    for (const line of [
      'safety_sync_credentials_refused{account="north"} 1',
      'safety_sync_credentials_refused{account="east"} 0',
      'safety_sync_stale{stream="followups",account="west"} 1',
      'safety_sync_ready 1',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).not.toContain('alerts_arrive{');
    const away = { ...MANY, read: null, accounts: [{ id: 'east' }] };
    expect(await metrics.render(statusOf(away))).not.toMatch(/^safety_sync_pending_migrations/m);
    metrics.close();
  });
});

it('a worker is missing when no run has begun in the longest pause of its schedule', () => {
  expect(longestPauseMs('*/15 * * * *', 'UTC')).toBe(15 * MINUTE_MS);
  expect(longestPauseMs('*/30 8-17 * * 1-5', 'Europe/Berlin')).toBeGreaterThan(2 * DAY_MS);
});
