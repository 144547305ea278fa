import { type AccountFacts, buildStatus, type StatusFacts } from '../../src/operate/status/build-status.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { DetailFacts } from '../../src/operate/status/account-detail.ts';
import type { AccountRows } from '../../src/operate/status/read-account-rows.ts';
import type { KeepingStatus } from '../../src/operate/status/keeping.ts';
import { type AccountsRead, type DatabaseFacts, runFactsOf } from '../../src/operate/status/read-accounts.ts';
import { type SingleStatus, singleOf } from '../../src/operate/status/status.ts';
import type { Outage } from '../../src/operate/health/outage-log.ts';
import type { RunRow } from '../../src/engine/control/runs.ts';
import { NOON } from './test-clock.ts';

export const EVERYTHING_KEPT: KeepingStatus = {
  deletedDays: null,
  runsDays: null,
  issuesDays: null,
  omitted: [],
  pseudonyms: [],
};

export const iso = (ms: number): string => new Date(ms).toISOString();

/** A run that succeeded a minute before noon and took two seconds. */
export function runRow(run: Partial<RunRow> = {}): RunRow {
  return {
    run_id: 1,
    account_id: 'north',
    stream: 'resources',
    kind: 'sync',
    trigger: 'schedule',
    status: 'succeeded',
    started_at: iso(NOON - MINUTE_MS),
    finished_at: iso(NOON - MINUTE_MS + 2_000),
    requests: 1,
    retries: 0,
    records_read: 10,
    inserted: 0,
    updated: 0,
    unchanged: 10,
    deleted: 0,
    rejected: 0,
    repaired: null,
    watermark_before: null,
    watermark_after: null,
    error_code: null,
    error_message: null,
    request_id: null,
    note: null,
    owner: 'host pid 1',
    backend_pid: 1,
    program_version: '1.0.0',
    ...run,
  };
}

type ByStream<Value> = Partial<Record<StreamName, Value>>;

interface Read extends Partial<DatabaseFacts>, Partial<AccountRows> {
  readonly successMs?: ByStream<number | null>;
  readonly currentUntilMs?: ByStream<number>;
}

/** A read of account `north`: by default all streams succeeded a minute ago. */
export function operations({ successMs = {}, currentUntilMs = {}, ...change }: Read = {}): AccountsRead {
  const runs = change.runs ?? STREAM_NAMES.map((stream, index) => runRow({ run_id: index + 1, stream }));
  const rows = { runs, issues: change.issues ?? [], slices: change.slices ?? [] };
  const { databaseNowMs = NOON, readAtMs = NOON, pendingMigrations = 0 } = change;
  const streams = STREAM_NAMES.map((stream) => {
    const ms = successMs[stream];
    return {
      stream,
      lastSuccessMs: ms === undefined ? NOON - MINUTE_MS : ms,
      watermarkMs: stream === 'followups' ? NOON - 5 * MINUTE_MS : null,
      calculatedMs: null,
      currentUntilMs: currentUntilMs[stream] ?? null,
      ...runFactsOf(rows)({ stream }),
    };
  });
  return { databaseNowMs, readAtMs, pendingMigrations, accounts: new Map([['north', streams]]), rows };
}

interface OneAccount extends Omit<StatusFacts, 'seen' | 'accounts' | 'databaseOutage'>, DetailFacts {
  readonly operations: AccountsRead | null;
  readonly outages: readonly Outage[];
  readonly accountId: string;
  readonly offReasons: AccountFacts['offReasons'];
  readonly openCircuits: AccountFacts['openCircuits'];
  readonly service: AccountFacts['service'];
}

/** A healthy worker with one account, at noon. */
export function statusFacts(change: Partial<OneAccount> = {}): StatusFacts {
  const { accountId = 'north', outages = [], operations: read = operations() } = change;
  const outageOf = (name: string) => outages.find(({ dependency }) => dependency === name);
  const streams = read?.accounts.get('north') ?? [];
  return {
    version: '1.2.3',
    freshnessBudgetMinutes: 60,
    owner: 'host pid 1',
    nowMs: NOON,
    startedMs: NOON - 90 * MINUTE_MS,
    worker: 'running',
    isSchedulerAlive: true,
    databaseProblem: null,
    isDatabaseSlow: false,
    queue: { slots: 20, running: 0, unhealthy: 0, waiting: 0, longestWaitMs: 0 },
    alerts: { open: 0, channels: [] },
    keeping: EVERYTHING_KEPT,
    ...change,
    seen: read === null ? null : { ...read, accounts: new Map([[accountId, streams]]) },
    databaseOutage: outageOf('database'),
    accounts: [
      {
        accountId,
        offReasons: {},
        openCircuits: [],
        service: { inFlight: 0, waiting: 0, concurrencyNow: 4, coolingUntilMs: null },
        ...change,
        outage: outageOf('service'),
        detail: {
          timezone: 'UTC',
          place: {},
          volumes: null,
          countedAtMs: NOON,
          nextRuns: STREAM_NAMES.map((stream) => ({ stream, kind: 'sync', atMs: NOON + 14 * MINUTE_MS })),
          equipmentTypes: [],
          uncleaned: [],
          otherTimezone: null,
          progress: new Map(),
          ...change,
        },
      },
    ],
  };
}

/** The status of the one account, in full. */
export function singleStatus(facts: StatusFacts = statusFacts()): SingleStatus {
  const status = singleOf(buildStatus(facts));
  if (status === undefined) throw new RangeError('these are facts of several accounts');
  return status;
}
