/** The list of problems, and what follows from it: the verdict, /readyz, /healthz, /metrics and the JSON. */
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/operate/status/metrics.ts';
import { toJsonStatus } from '../../../src/operate/status/json-status.ts';
import { reasonsOf, textsOf } from '../../../src/operate/status/problem-words.ts';
import { buildRoutes, healthPage, readyPage } from '../../../src/operate/worker/routes.ts';
import { longestPauseMs } from '../../../src/operate/worker/read-problems.ts';
import { badgeOf } from '../../../src/pages/status/render-account.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { CONFIG, detailOf, GONE, iso, runRow, statusOf } from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

type Facts = NonNullable<Parameters<typeof statusOf>[0]>;
type Account = NonNullable<Facts['accounts']>[number];

const ago = (ms: number) => ({ lastSuccessMs: NOON - ms });
const one = (account: Account): Facts => ({ accounts: [account] });
const refusal = {
  subject: '',
  code: 'token_inactive',
  advice: 'Have a new one issued.',
  sinceMs: NOON - 10 * MINUTE_MS,
  nextTryMs: NOON + 5 * MINUTE_MS,
};
const wait = (sinceMs: number) => ({
  ...{ method: 'followups.list', code: 'network_error', reason: 'connection refused', sinceMs },
  ...{ attempt: 7, attempts: 9, nextMs: NOON + 13 * SECOND_MS },
});
const never = { lastSuccessMs: null };
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
  'completed trainings that are stale; names complete the others, and are never a reason': [
    one({ streams: { 'completed-trainings': ago(3 * HOUR_MS), names: ago(3 * DAY_MS) } }),
    {
      level: 'bad',
      sentence: expect.stringMatching(/^Completed trainings are stale/) as string,
      reasons: [expect.stringMatching(/^Completed trainings are stale: no success within 1 h/) as string],
      listed: [
        expect.stringMatching(/^Completed trainings are/) as string,
        expect.stringMatching(/^Names of ids are stale: no success within 2 d/) as string,
      ],
    },
  ],
  'a stream without a schedule, and one that is not offered': [
    one({
      streams: { followups: ago(DAY_MS), users: { ...never, isOffered: false } },
      config: { ...CONFIG, schedule: { ...CONFIG.schedule, streams: { users: '*/15 * * * *' } } },
    }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'people who are named one by one, without a list, for days': [
    one({ streams: { users: { ...ago(9 * DAY_MS), hasList: false } } }),
    { level: 'good', sentence: 'Everything is fresh.' },
  ],
  'a first sync': [
    one({ streams: NEVER }),
    {
      level: 'busy',
      sentence: 'Documents, follow-ups, training, equipment and completed trainings have never been synced.',
      reasons: ['Documents, follow-ups, training, equipment and completed trainings have never been synced.'],
    },
  ],
  'refused credentials, and no line of its own for what is stale by them': [
    one({ refusals: [refusal], streams: { followups: ago(3 * HOUR_MS), equipments: never } }),
    {
      level: 'bad',
      sentence: 'The service refuses the credentials.',
      reasons: [
        'The service refuses the credentials (token_inactive). Have a new one issued. Not fresh because of it: follow-ups and equipment. Next try in 5 min.',
      ],
    },
  ],
  'a service that is away until data is stale': [
    one({
      streams: Object.fromEntries(
        Object.keys(NEVER).map((name) => [
          name,
          {
            ...ago(2 * HOUR_MS),
            ...{ failingWith: 'network_error', failingSinceMs: NOON - HOUR_MS, failedAtMs: NOON - HOUR_MS },
          },
        ]),
      ),
    }),
    {
      level: 'bad',
      sentence: 'The service cannot be used.',
      reasons: [
        'The service cannot be used (network_error). The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates. Not fresh because of it: documents, follow-ups, training, equipment and completed trainings. It has been so for 1 h.',
      ],
    },
  ],
  'a service that went away while runs were under way': [
    one({
      streams: {
        ...Object.fromEntries(STREAM_NAMES.map((name) => [name, ago(10 * MINUTE_MS)])),
        followups: {
          ...ago(DAY_MS),
          ...{ failingWith: 'network_error', failingSinceMs: NOON - HOUR_MS, failedAtMs: NOON - SECOND_MS },
        },
      },
    }),
    {
      level: 'bad',
      sentence: 'The service cannot be used.',
      reasons: [
        'The service cannot be used (network_error). The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates. Not fresh because of it: follow-ups. It has been so for 10 min.',
      ],
    },
  ],
  'a database that is away, and no line for what grows stale': [
    { away: GONE, nowMs: NOON + 2 * HOUR_MS },
    {
      level: 'bad',
      sentence: 'The database is unreachable.',
      reasons: ['The database is unreachable (database_unreachable): connect ECONNREFUSED. Start it.'],
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
  'requests that fail for a minute': [
    one({
      streams: Object.fromEntries(
        STREAM_NAMES.map((name) => [name, { ...ago(5 * MINUTE_MS), isRunning: name === 'followups' }]),
      ),
      waits: [wait(NOON - 61 * SECOND_MS)],
    }),
    {
      level: 'warning',
      sentence: 'Everything is fresh, but the service cannot be used.',
      listed: [
        expect.stringMatching(
          /^The service cannot be used \(network_error\): connection refused\..* It has been so for 1 min\.$/,
        ) as string,
      ],
    },
  ],
  'a reconcile that failed, and a run that waits for a lock': [
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
      channels: [{ name: 'webhook', problem: 'HTTP 500' }],
      failedReports: new Map([['north', 'mail_failed']]),
      ...one({ differences: ['Stored data does not match the privacy settings yet: followups.'] }),
    },
    {
      level: 'warning',
      sentence: 'Everything is fresh, but alerts do not arrive by webhook.',
      listed: [
        'Alerts do not arrive by webhook: HTTP 500. Try it: safety-sync alerts test.',
        expect.stringMatching(
          /^The report could not be made or sent, and is tried again \(mail_failed\)/,
        ) as string,
        'Stored data does not match the privacy settings yet: followups.',
      ],
    },
  ],
  'streams that are stale while the request limit is waited for': [
    one({ streams: { followups: ago(3 * HOUR_MS) }, blockedUntilMs: NOON + MINUTE_MS }),
    {
      level: 'bad',
      sentence: 'Follow-ups are stale.',
      reasons: [
        'Follow-ups are stale: no success within 1 h (rate_limit_exceeded). All integrations of the customer share the limit: lower API_REQUESTS_PER_MINUTE, or slow the others down. The last success was 3 h ago.',
      ],
      listed: ['Nothing is requested: waiting for the request limit until 2026-03-02 12:01:00Z.'],
    },
  ],
  'what is worth a note, and the limit of the service': [
    {
      ...one({
        streams: { followups: { newFields: ['severity<!here>'], repaired: 3 } },
        blockedUntilMs: NOON + MINUTE_MS,
      }),
    },
    {
      level: 'good',
      sentence: 'Everything is fresh.',
      listed: [
        expect.stringMatching(
          /^A reconcile of follow-ups stored what no sync had brought: 3 changes/,
        ) as string,
        expect.stringMatching(/^The service sends new fields: severity\?\?here\? of follow-ups/) as string,
        'Nothing is requested: waiting for the request limit until 2026-03-02 12:01:00Z.',
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

it('the badge of a stream is its problem', () => {
  const badge = (facts: Facts) => {
    const status = statusOf(facts);
    const stream = status.accounts[0]?.streams.find((of) => of.stream === 'followups');
    return stream && badgeOf(stream, status).text.replace(/<span class="badge |<\/span>/g, '');
  };
  expect(badge({})).toBe('good">fresh');
  expect(badge(one({ refusals: [refusal] }))).toBe('bad">refused by the service');
  expect(badge({ away: GONE })).toBe('off">last known: fresh');
  expect(badge({ read: { pendingMigrations: 1, accounts: new Map() } })).toBe('off">not read yet');
});

it('the JSON has the names and times of the other JSON, and the problems', () => {
  const json = toJsonStatus(statusOf(one({ refusals: [refusal] })), detailOf({ recentRuns: [runRow()] }));
  expect(json).toMatchObject({
    account_id: 'north',
    is_ready: false,
    now_at: iso(NOON),
    database: { read_at: iso(NOON) },
    verdict: { sentence: 'The service refuses the credentials.' },
    problems: [{ kind: 'credentials_refused', code: 'token_inactive', is_reason: true, subject: '' }],
    recent_runs: [{ run_id: 1, started_at: iso(NOON - MINUTE_MS) }],
    next_runs: [{ stream: 'resources', kind: 'sync', at: iso(NOON + 14 * MINUTE_MS) }],
  });
  expect((json as { streams: unknown[] }).streams[0]).toMatchObject({
    ...{ stream: 'resources', freshness: 'fresh', last_success_at: iso(NOON - MINUTE_MS) },
  });
  expect(JSON.stringify(json)).not.toMatch(/:1\d{12}\b/);
});

it('ages are by the clock of the database, whatever the clock of the worker shows', () => {
  const status = statusOf({ nowMs: NOON - 5 * HOUR_MS, read: { readAtMs: NOON - 5 * HOUR_MS } });
  expect([status.nowMs, status.isReady]).toEqual([NOON, true]);
});

describe('several accounts', () => {
  const MANY: Facts = {
    accounts: [{ id: 'east' }, { id: 'north', refusals: [refusal] }, { id: 'west', streams: NEVER }],
  };

  it('the account with the worst state comes first, and /readyz is 503 only when none is ready', () => {
    const status = statusOf(MANY);
    expect(status.accounts.map(({ accountId }) => accountId)).toEqual(['north', 'west', 'east']);
    expect(status.verdict).toMatchObject({ level: 'bad', sentence: '1 of 3 accounts is unhealthy.' });
    const ready = readyPage(status);
    expect(ready.status).toBe(200);
    expect(JSON.parse(String(ready.body))).toMatchObject({
      trouble: [
        expect.stringMatching(/^north: The service refuses the credentials/),
        expect.stringMatching(
          /^west: Documents, follow-ups, training, equipment and completed trainings have never been synced/,
        ),
      ],
    });
    expect(readyPage(statusOf({ accounts: (MANY.accounts ?? []).slice(1) })).status).toBe(503);
    expect(readyPage(statusOf({ ...MANY, away: GONE })).status).toBe(503);
  });

  it('/healthz is 200 with any problem, and 503 only while the worker stops', () => {
    expect(healthPage(statusOf({ ...MANY, away: GONE })).status).toBe(200);
    expect(healthPage(statusOf({ worker: 'stopping' })).status).toBe(503);
  });

  it('no endpoint shows secrets, and an account that does not exist is 404', async () => {
    const secret = 'token-canary';
    const evil = { ...refusal, advice: `${secret}<b>` };
    const all = [{ id: 'a' }, { id: 'b', refusals: [evil] }];
    const routes = buildRoutes(
      { accountIds: ['a', 'b'], redact: (text) => text.replaceAll(secret, '***') },
      {
        status: (id) => statusOf({ accounts: all.filter((of) => id === null || of.id === id) }),
        readDetail: () => Promise.resolve(detailOf({ recentRuns: [runRow({ error_message: secret })] })),
      },
      createMetrics(['a', 'b']),
    );
    for (const path of ['/', '/healthz', '/readyz', '/api/status', '/metrics'])
      for (const query of ['', 'account=b']) {
        const { body = secret } = (await routes[path]?.(new URLSearchParams(query))) ?? {};
        expect([path, query, String(body).includes(secret)]).toEqual([path, query, false]);
      }
    expect((await routes['/readyz']?.(new URLSearchParams('account=b')))?.status).toBe(503);
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
