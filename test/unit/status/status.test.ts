import { describe, expect, it } from 'vitest';
import { buildStatus } from '../../../src/operate/status/build-status.ts';
import { createMetrics } from '../../../src/operate/status/metrics.ts';
import { badgeOf } from '../../../src/pages/words.ts';
import { healthPage, readyPage } from '../../../src/operate/worker/routes.ts';
import { toJsonStatus } from '../../../src/operate/status/json-status.ts';
import type { AccountRows } from '../../../src/operate/status/read-account-rows.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import {
  iso,
  operations,
  runRow,
  singleStatus,
  statusFacts,
  withStream,
} from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

const openCircuit = {
  stream: 'resources',
  holdsAll: true,
  code: 'token_inactive',
  message: 'resources.list: the token is inactive',
  advice: 'Have a new one issued.',
  sinceMs: NOON - HOUR_MS,
  nextTryMs: NOON + 5 * MINUTE_MS,
} as const;

const outage = {
  dependency: 'service',
  sinceMs: NOON - 70_000,
  failedRuns: 3,
  code: 'network_error',
  message: 'reset',
  advice: '',
} as const;

describe('the verdict', () => {
  const running = runRow({ stream: 'followups', status: 'running', finished_at: null });
  it.each([
    ['of a healthy worker is one sentence', {}, 'good', 'Everything is fresh.', []],
    [
      'names the one stale stream, with its last success and its budget',
      { operations: operations({ successMs: { followups: NOON - 3 * HOUR_MS } }) },
      'bad',
      'Followups is stale.',
      ['followups is stale: its last success was 3 h ago, the budget is 1 h'],
    ],
    [
      'counts several streams that are not fresh',
      { operations: operations({ successMs: { followups: NOON - 3 * HOUR_MS, equipments: null } }) },
      'bad',
      '2 of 5 streams are not fresh.',
      [expect.stringMatching(/^followups is stale/), 'equipments has never been synced'],
    ],
    [
      'ignores a stream that is not scheduled',
      {
        operations: operations({ successMs: { equipments: null } }),
        offReasons: { equipments: 'not scheduled' },
      },
      'good',
      'Everything is fresh.',
      [],
    ],
    [
      'of a database that was slow from the start is slow, not unreachable',
      { operations: null, isDatabaseSlow: true },
      'warning',
      'The database responds slowly.',
      ['the database responds slowly: nothing has been read from it yet'],
    ],
    [
      'of a first sync under way is busy, and not ready',
      { operations: operations({ runs: [running], successMs: { followups: null } }) },
      'busy',
      'The first sync is under way.',
      ['followups has never been synced'],
    ],
  ] as const)('the verdict %s', (_, facts, level, sentence, notReady) => {
    const status = buildStatus(statusFacts(facts));
    expect(status).toMatchObject({ isReady: notReady.length === 0, notReady, verdict: { level, sentence } });
  });

  it('names and people complete the other data: two days old they are a warning, and never a reason against readiness', () => {
    const verdictOf = (ageMs: number | null) => {
      const successMs = { names: ageMs === null ? null : NOON - ageMs };
      const { isReady, verdict } = buildStatus(statusFacts({ operations: operations({ successMs }) }));
      return [isReady, verdict.sentence];
    };
    expect(verdictOf(null)).toEqual([true, 'Everything is fresh.']);
    expect(verdictOf(47 * HOUR_MS)).toEqual([true, 'Everything is fresh.']);
    expect(verdictOf(49 * HOUR_MS)).toEqual([true, 'Everything is fresh, but names is stale.']);
    const lacking = withStream('names', { isOffered: false, lastSuccessMs: null });
    const names = singleStatus(statusFacts({ operations: lacking })).streams.find(
      ({ stream }) => stream === 'names',
    );
    expect(names?.offReason).toBe('not offered');
  });

  it('the verdict of an account without equipment types ignores equipment', async () => {
    const facts = statusFacts({
      operations: withStream(
        'equipments',
        { isOffered: false },
        operations({ successMs: { equipments: null } }),
      ),
      offReasons: { equipments: 'no equipment types' },
    });
    const status = buildStatus(facts);
    expect([status.isReady, status.verdict.sentence]).toEqual([true, 'Everything is fresh.']);
    const equipments = singleStatus(facts).streams.find(({ stream }) => stream === 'equipments');
    expect(equipments && badgeOf(equipments, status.database)).toEqual({
      level: 'off',
      text: 'off: no equipment types',
    });
    const metrics = createMetrics({ accountIds: ['north'] });
    const text = await metrics.render(status);
    metrics.close();
    expect(text).toMatch(/^safety_sync_stale\{stream="equipments",account="north"\} 0$/m);
    expect(text).toMatch(/^safety_sync_ready\{account="north"\} 1$/m);
  });

  it('the verdict of a slow database is that of the last read, until the read is minutes old', () => {
    const seen = operations({ successMs: { followups: NOON - 59.5 * MINUTE_MS } });
    const after = (ms: number) => buildStatus(statusFacts({ operations: seen, nowMs: NOON + ms }));
    expect(after(90_000)).toMatchObject({
      isReady: true,
      verdict: { sentence: 'Everything is fresh.' },
      database: { isOld: true, isTooOld: false },
    });
    expect(after(11_000).database.isOld).toBe(false);
    expect(after(3 * MINUTE_MS)).toMatchObject({
      notReady: ['the database responds slowly: its state was last read 3 min ago'],
      verdict: { level: 'warning', sentence: 'The database responds slowly.' },
    });
    const away = buildStatus(
      statusFacts({ operations: seen, nowMs: NOON + MINUTE_MS, databaseProblem: 'connect ECONNREFUSED' }),
    );
    expect(away.notReady).toEqual([
      'the database is unreachable: connect ECONNREFUSED',
      'followups is stale: its last success was 1 h 1 min ago, the budget is 1 h',
    ]);
  });

  it('the verdict shows training as fresh while the calculation of the service is current', () => {
    const training = (untilMs: number) => {
      const seen = operations({
        successMs: { 'training-employee-status': NOON - 14 * MINUTE_MS },
        currentUntilMs: { 'training-employee-status': untilMs },
      });
      const facts = statusFacts({ operations: seen, freshnessBudgetMinutes: 3 });
      return buildStatus(facts).notReady;
    };
    expect(training(NOON + MINUTE_MS)).toEqual([]);
    expect(training(NOON - 2 * MINUTE_MS)).toEqual([]);
    expect(training(NOON - 4 * MINUTE_MS)).toEqual([
      'training-employee-status is stale: its last success was 14 min ago, the budget is 3 min',
    ]);
  });

  it('the verdict lists an unavailable service before the streams that are stale because of it, and not while all are fresh', () => {
    const outages = [outage];
    expect(buildStatus(statusFacts({ outages })).notReady).toEqual([]);
    const status = buildStatus(
      statusFacts({ outages, operations: operations({ successMs: { equipments: NOON - 2 * HOUR_MS } }) }),
    );
    const stale = 'equipments is stale: its last success was 2 h ago, the budget is 1 h';
    expect(status.notReady).toEqual([
      'the service has been unavailable for 1 min (network_error: reset)',
      stale,
    ]);
    expect(status.verdict.details).toEqual([
      'The service has been unavailable for 1 min (network_error: reset); 3 runs failed.',
      'Equipments is stale: its last success was 2 h ago, the budget is 1 h.',
    ]);
  });

  it('while the database is unreachable, badges show the last known state, not fresh or syncing', () => {
    const badges = (facts: Parameters<typeof statusFacts>[0]) => {
      const { streams, database } = singleStatus(statusFacts(facts));
      return streams.map((stream) => badgeOf(stream, database));
    };
    const running = runRow({ stream: 'equipments', status: 'running', finished_at: null });
    const known = operations({ runs: [running], successMs: { resources: NOON - 2 * HOUR_MS } });
    const away = badges({ operations: known, databaseProblem: 'gone' });
    expect(away[0]).toEqual({ level: 'bad', text: 'stale' });
    expect(away[1]).toEqual({ level: 'off', text: 'last known: fresh' });
    expect(away[3]).toEqual({ level: 'off', text: 'last known: syncing' });
    expect(badges({ operations: known })[1]).toEqual({ level: 'good', text: 'fresh' });
  });

  it('the verdict lists each problem once', () => {
    const away = buildStatus(
      statusFacts({
        databaseProblem: 'connect ECONNREFUSED',
        outages: [{ ...outage, dependency: 'database', code: 'database_unreachable', advice: 'Start it.' }],
      }),
    );
    expect(away.verdict.details).toEqual([
      'The database is unreachable: connect ECONNREFUSED.',
      'The database has been unreachable for 1 min; 3 runs failed meanwhile. Start it.',
    ]);
    expect(buildStatus(statusFacts({ refusals: [openCircuit] })).verdict).toMatchObject({
      sentence: 'The service refuses the credentials.',
      details: [
        'It responds token_inactive: resources.list: the token is inactive; next try in 5 min. Have a new one issued.',
      ],
    });
  });

  it('the verdict of a failed run while all streams are fresh is a warning, and ready', () => {
    const runs = [
      runRow({
        run_id: 9,
        stream: 'equipments',
        status: 'failed',
        error_code: 'delete_guard',
        error_message: 'too much',
      }),
    ];
    const { verdict, isReady, streams } = singleStatus(statusFacts({ operations: operations({ runs }) }));
    expect(verdict).toMatchObject({
      level: 'warning',
      sentence: 'Everything is fresh, but the last run of equipments failed.',
    });
    expect(isReady).toBe(true);
    expect(streams[3]?.lastRun?.error?.advice).toMatch(/--allow-mass-delete/);
  });

  it('the verdict names the problem that will make fresh streams stale', () => {
    const sentenceOf = (change: Parameters<typeof statusFacts>[0]) =>
      buildStatus(statusFacts(change)).verdict.sentence;
    const failed = (...streams: StreamName[]) =>
      operations({
        runs: streams.map((stream, at) => runRow({ run_id: at, stream, status: 'failed', error_code: 'x' })),
      });
    expect(sentenceOf({ operations: failed('users', 'resources') })).toBe(
      'Everything is fresh, but the last runs of resources and users failed.',
    );
    expect(sentenceOf({ operations: failed('users', 'resources', 'followups') })).toBe(
      'Everything is fresh, but the last runs of 3 streams failed.',
    );
    expect(sentenceOf({ refusals: [{ ...openCircuit, holdsAll: false }] })).toBe(
      'Everything is fresh, but the service denies access to resources.',
    );
    const heldUp = withStream('users', { heldUpBy: 'role bi (pid 1)' });
    expect(buildStatus(statusFacts({ operations: heldUp })).verdict).toMatchObject({
      level: 'warning',
      sentence: 'Everything is fresh, but runs of users are held up.',
      details: ['Runs of users are held up by role bi (pid 1).'],
    });
    expect(sentenceOf({ outages: [outage] })).toBe('Everything is fresh, but the service is unavailable.');
  });
});

describe('the status', () => {
  it('the status has the next sync of each stream at its whole second, and its runs with the oldest first', () => {
    const runs = [2, 1].map((run_id) => runRow({ run_id, started_at: iso(NOON - (3 - run_id) * MINUTE_MS) }));
    // The clock of the database is a little behind.
    const facts = statusFacts({ operations: operations({ runs, readAtMs: NOON + 4 }), nowMs: NOON + 4 });
    const [resources] = singleStatus(facts).streams;
    expect(resources?.recentRuns.map(({ runId }) => runId)).toEqual([1, 2]);
    expect(resources?.nextRunMs).toBe(NOON + 14 * MINUTE_MS);
  });

  it('the status computes ages by the clock of the database, with any local clock', () => {
    const facts = statusFacts({
      nowMs: NOON - 5 * HOUR_MS,
      operations: operations({ readAtMs: NOON - 5 * HOUR_MS }),
    });
    const status = buildStatus(facts);
    expect(status.nowMs).toBe(NOON);
    expect(status.isReady).toBe(true);
  });

  it('the status shows the progress of a run of this process, else of the ledger, else of the counts of the run', () => {
    const running = runRow({ stream: 'followups', status: 'running', finished_at: null, records_read: 7 });
    const progress = (change: Parameters<typeof statusFacts>[0], backfills: AccountRows['backfills'] = []) =>
      singleStatus(statusFacts({ operations: operations({ runs: [running], backfills }), ...change }))
        .running[0]?.progress;
    const made = { records: 50, total: 100, slicesDone: 1 };
    expect(progress({ progress: new Map([['followups', made]]) })).toEqual({ records: 50, total: 100 });
    const backfills = [{ stream: 'followups', records: 30, total: 90 }];
    expect(progress({}, backfills)).toEqual({ records: 30, total: 90 });
    expect(progress({})).toEqual({ records: 7, total: null });
  });

  it('the status in JSON has the names and times of the public interface', () => {
    const json = toJsonStatus(buildStatus(statusFacts())) as Record<string, unknown>;
    expect(json).toMatchObject({
      account_id: 'north',
      is_ready: true,
      now_at: iso(NOON),
      database: { read_at: expect.stringMatching(/Z$/) as string },
      verdict: { sentence: 'Everything is fresh.' },
      next_runs: STREAM_NAMES.map((stream) => ({ stream, kind: 'sync', at: iso(NOON + 14 * MINUTE_MS) })),
    });
    const run = { started_at: iso(NOON - MINUTE_MS), duration_ms: 2000 };
    const runs = STREAM_NAMES.map((_, index) => ({ run_id: index + 1, ...run }));
    expect(json['recent_runs']).toMatchObject(runs);
  });

  it('the status in JSON has every time as text, and only durations in ms', () => {
    const volumes = { rows: [{ stream: 'users', rows: 1, isEstimate: false } as const], days: [] };
    const status = buildStatus(
      statusFacts({
        volumes,
        refusals: [openCircuit],
        outages: [outage],
        service: { inFlight: 0, waiting: 0 },
      }),
    );
    const text = JSON.stringify(toJsonStatus(status));
    expect(new Set(text.match(/"\w+_ms"/g))).toEqual(new Set(['"duration_ms"']));
    expect(text).not.toMatch(/:1\d{12}\b/);
    expect(text).toContain('"blocked_until_at":null');
  });
});

describe('probes', () => {
  it.each([
    [{ databaseProblem: 'gone', refusals: [openCircuit] }, 'The database is unreachable: gone.'],
    [{ outages: [outage] }, expect.stringContaining('The service has been unavailable for') as string],
  ])('/healthz is 200 with any problem, and lists the problems: %o', (facts, problem) => {
    const page = healthPage(buildStatus(statusFacts(facts)));
    expect(page.status).toBe(200);
    expect(JSON.parse(page.body)).toMatchObject({
      status: 'ok',
      uptime_seconds: 5400,
      problems: expect.arrayContaining([problem]) as string[],
    });
  });

  it('/healthz is 503 while the worker stops', () => {
    const page = healthPage(buildStatus(statusFacts({ worker: 'stopping' })));
    expect(page.status).toBe(503);
    expect(JSON.parse(page.body)).toMatchObject({ status: 'stopping' });
  });

  it('/readyz is 503 with its reasons', () => {
    const facts = statusFacts({ operations: operations({ successMs: { equipments: null } }) });
    const page = readyPage(buildStatus(facts));
    expect(page.status).toBe(503);
    expect(JSON.parse(page.body)).toEqual({
      ready: false,
      reasons: ['equipments has never been synced'],
      as_of: iso(NOON),
      age_seconds: 0,
    });
  });
});
