import { buildStatus, type Status } from '../../src/operate/status/build-status.ts';
import { type AccountFacts, NO_WAREHOUSE_STATE, type StatusFacts } from '../../src/operate/status/status.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { AccountRows, WarehouseRead } from '../../src/operate/status/read-account-rows.ts';
import type { Volumes } from '../../src/operate/status/read-volumes.ts';
import type { AccountsRead, StreamFacts } from '../../src/operate/status/read-accounts.ts';
import type { AccountDetail } from '../../src/operate/status/account-detail.ts';
import type { StorageRules } from '../../src/operate/status/storage-rules.ts';
import type { Outage } from '../../src/operate/health/outage-log.ts';
import type { RunRow } from '../../src/engine/control-tables/runs.ts';
import { NOON } from './test-clock.ts';

export const EVERYTHING_KEPT: StorageRules = {
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

interface Read extends Partial<Omit<AccountsRead, 'accounts'>>, Partial<AccountRows> {
  readonly successMs?: ByStream<number | null>;
  readonly currentUntilMs?: ByStream<number>;
}

/** The state of a stream that its runs and data issues have, newest run first. */
function runFactsOf({ runs, issues }: Pick<AccountRows, 'runs' | 'issues'>, stream: StreamName) {
  const own = runs.filter((run) => run.stream === stream);
  const last = own.find(({ status }) => status !== 'running');
  const ofStream = issues.filter((issue) => issue.stream === stream);
  return {
    lastRun:
      last === undefined
        ? null
        : { status: last.status as 'succeeded' | 'failed' | 'skipped', errorCode: last.error_code },
    running: own.some(({ status }) => status === 'running') ? {} : null,
    openIssues: ofStream.reduce((sum, { count }) => sum + count, 0),
  };
}

/** A read of account `north`: by default all streams succeeded a minute ago. */
export function operations({ successMs = {}, currentUntilMs = {}, ...change }: Read = {}): WarehouseRead {
  const runs = change.runs ?? STREAM_NAMES.map((stream, index) => runRow({ run_id: index + 1, stream }));
  const rows = {
    runs,
    issues: change.issues ?? [],
    backfills: change.backfills ?? [],
    cleanings: change.cleanings ?? [],
    reportingTimezone: undefined,
  };
  const { databaseNowMs = NOON, readAtMs = NOON, pendingMigrations = 0 } = change;
  const streams = STREAM_NAMES.map((stream) => {
    const ms = successMs[stream];
    return {
      stream,
      lastSuccessMs: ms === undefined ? NOON - MINUTE_MS : ms,
      watermarkMs: stream === 'followups' ? NOON - 5 * MINUTE_MS : null,
      calculatedMs: null,
      currentUntilMs: currentUntilMs[stream] ?? null,
      retainedMs: null,
      isOffered: true,
      ...runFactsOf(rows, stream),
    };
  });
  return {
    databaseNowMs,
    readAtMs,
    readMonotonicMs: 0,
    pendingMigrations,
    accounts: new Map([['north', streams]]),
    blocked: new Map(),
    rows,
  };
}

/** The read with other facts of one stream. */
export function withStream(
  name: StreamName,
  change: Partial<StreamFacts>,
  read = operations(),
): WarehouseRead {
  const streams = (read.accounts.get('north') ?? []).map((one) =>
    one.stream === name ? { ...one, ...change } : one,
  );
  return { ...read, accounts: new Map([['north', streams]]) };
}

type Process = Omit<StatusFacts, 'accounts' | 'warehouse' | 'nextRuns' | 'databaseOutage'>;

const WORKER: Process = {
  freshnessBudgetMinutes: 60,
  owner: 'host pid 1',
  nowMs: NOON,
  startedMs: NOON - 90 * MINUTE_MS,
  worker: 'running',
  queue: { slots: 20, running: 0, waiting: 0 },
  alerts: { open: 0, channels: [], failedReports: [] },
  keeping: EVERYTHING_KEPT,
};

type Account = Partial<AccountFacts['account'] & AccountFacts['health']>;

/** A healthy account whose service was not asked for anything yet. */
export function accountFacts(
  id: string,
  { outage, refusals = [], offReasons = {} }: Account = {},
): AccountFacts {
  return {
    account: {
      id,
      offReasons,
      config: {
        service: undefined,
        equipmentTypes: ['21'],
        reportingTimezone: null,
        schedule: { timezone: 'UTC' },
      },
    },
    health: { outage, refusals },
    progress: new Map(),
    pressure: { inFlight: 0, waiting: 0 },
  };
}

interface ManyAccounts extends Partial<Process> {
  readonly databaseProblem?: string | null;
  /** null: nothing was read yet. */
  readonly seen?: Partial<AccountsRead> | null;
}

/** A worker of several accounts at noon. An account without streams is not in the read. */
export function manyFacts(
  accounts: readonly (readonly [AccountFacts, readonly StreamFacts[]])[],
  { databaseProblem: problem = null, seen, ...change }: ManyAccounts = {},
): StatusFacts {
  const known = accounts.filter(([, streams]) => streams.length > 0);
  const read = {
    databaseNowMs: NOON,
    readAtMs: NOON,
    readMonotonicMs: 0,
    pendingMigrations: 0,
    accounts: new Map(known.map(([{ account }, streams]) => [account.id, streams])),
    blocked: new Map<string, number>(),
    ...seen,
  };
  return {
    ...WORKER,
    queue: { slots: 20, running: 3, waiting: 2 },
    ...change,
    warehouse: { ...NO_WAREHOUSE_STATE, accountsRead: seen === null ? null : read, problem },
    databaseOutage: undefined,
    accounts: accounts.map(([one]) => one),
    nextRuns: null,
  };
}

interface OneAccount extends Process, Pick<AccountFacts, 'progress'> {
  readonly operations: WarehouseRead | null;
  readonly databaseProblem: string | null;
  readonly isDatabaseSlow: boolean;
  readonly volumes: Volumes | null;
  readonly countedAtMs: number;
  readonly outages: readonly Outage[];
  readonly accountId: string;
  readonly offReasons: AccountFacts['account']['offReasons'];
  readonly refusals: AccountFacts['health']['refusals'];
  readonly service: AccountFacts['pressure'];
  readonly nextRuns: StatusFacts['nextRuns'];
}

/** A healthy worker with one account, at noon. */
export function statusFacts({
  operations: read = operations(),
  databaseProblem: problem = null,
  isDatabaseSlow: isSlow = false,
  volumes: counted = null,
  countedAtMs = NOON,
  outages = [],
  accountId = 'north',
  offReasons = {},
  refusals = [],
  progress = new Map(),
  service,
  nextRuns = STREAM_NAMES.map((stream) => ({ stream, kind: 'sync', atMs: NOON + 14 * MINUTE_MS })),
  ...process
}: Partial<OneAccount> = {}): StatusFacts {
  const outageOf = (name: string) => outages.find(({ dependency }) => dependency === name);
  const account = accountFacts(accountId, { offReasons, refusals, outage: outageOf('service') });
  const seen = read && { ...read, accounts: new Map([[accountId, read.accounts.get('north') ?? []]]) };
  return {
    ...WORKER,
    ...process,
    warehouse: { accountsRead: seen, counted, countedAtMs, problem, isSlow },
    databaseOutage: outageOf('database'),
    accounts: [{ ...account, progress, pressure: service ?? account.pressure }],
    nextRuns,
  };
}

/** The status of the one account, with its details. */
export function singleStatus(facts: StatusFacts = statusFacts()): Omit<Status, 'accounts'> & AccountDetail {
  const { accounts, ...status } = buildStatus(facts);
  const detail = accounts[0]?.detail;
  if (detail === undefined) throw new RangeError('these are facts of several accounts');
  return { ...status, ...detail };
}
