import { type AccountFacts, NO_WAREHOUSE_STATE, type StatusFacts } from '../../src/operate/status/facts.ts';
import { type AccountStatus, buildStatus, type Status } from '../../src/operate/status/status.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { AccountDetail } from '../../src/operate/status/account-detail.ts';
import type { AccountRows } from '../../src/operate/status/read-account-rows.ts';
import {
  type AccountsRead,
  type StreamFacts,
  UNKNOWN_STREAMS,
} from '../../src/operate/status/read-accounts.ts';
import type { Retry } from '../../src/engine/api/client.ts';
import type { StorageRules } from '../../src/operate/status/storage-rules.ts';
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

/** Changes of the facts about streams, by name; every other stream succeeded a minute before noon. */
type Changes = Readonly<Partial<Record<StreamName, Partial<StreamFacts>>>>;

const streamsOf = (changes: Changes): StreamFacts[] =>
  UNKNOWN_STREAMS.map((one) => ({
    ...one,
    lastSuccessMs: NOON - MINUTE_MS,
    lastRun: { status: 'succeeded', errorCode: null },
    ...changes[one.stream],
  }));

export const NO_ROWS: AccountRows = {
  recentRuns: [],
  lastRuns: [],
  openRuns: [],
  issues: [],
  backfills: [],
  cleanings: [],
  reportingTimezone: undefined,
};

export const GONE = {
  code: 'database_unreachable',
  message: 'connect ECONNREFUSED',
  advice: 'Start it.',
  sinceMs: NOON - 2 * MINUTE_MS,
};

interface Account extends Partial<Pick<AccountFacts, 'health' | 'progress' | 'pressure'>> {
  readonly id?: string;
  readonly streams?: Changes;
  readonly offReasons?: AccountFacts['account']['offReasons'];
  readonly retries?: readonly Retry[];
  readonly equipmentTypes?: readonly string[];
}

const accountFacts = ({
  id = 'north',
  offReasons = {},
  retries = [],
  equipmentTypes = [],
  ...runner
}: Account): AccountFacts => ({
  account: {
    id,
    offReasons,
    config: { service: undefined, equipmentTypes, reportingTimezone: null, schedule: { timezone: 'UTC' } },
  },
  health: { refusals: [] },
  progress: new Map(),
  pressure: { inFlight: 0, waiting: 0 },
  retries,
  ...runner,
});

interface Facts extends Partial<Omit<StatusFacts, 'accounts' | 'warehouse'>> {
  readonly accounts?: readonly Account[];
  /** null: not read yet. */
  readonly read?: Partial<AccountsRead> | null;
  readonly rows?: Partial<AccountRows>;
  readonly warehouse?: Partial<StatusFacts['warehouse']>;
}

/** A healthy worker at noon, by default with one account in full. */
export function statusFacts({
  accounts = [{}],
  read,
  rows = {},
  warehouse = {},
  ...change
}: Facts = {}): StatusFacts {
  const accountsRead: AccountsRead = {
    databaseNowMs: NOON,
    readAtMs: NOON,
    pendingMigrations: 0,
    arePendingViews: false,
    accounts: new Map(accounts.map(({ id = 'north', streams = {} }) => [id, streamsOf(streams)])),
    blocked: new Map(),
    notOffered: new Map(),
    ...read,
  };
  return {
    freshnessBudgetMinutes: 60,
    owner: 'host pid 1',
    nowMs: NOON,
    startedMs: NOON - 90 * MINUTE_MS,
    worker: 'running',
    migrationWaits: null,
    queue: { slots: 20, running: 0, waiting: 0 },
    alerts: { open: 0, channels: [], failedReports: [] },
    keeping: EVERYTHING_KEPT,
    ...change,
    warehouse: {
      ...NO_WAREHOUSE_STATE,
      accountsRead: read === null ? null : accountsRead,
      rows: { ...NO_ROWS, ...rows },
      ...warehouse,
    },
    accounts: accounts.map(accountFacts),
    nextRuns:
      accounts.length === 1
        ? UNKNOWN_STREAMS.map(({ stream }) => ({ stream, kind: 'sync', atMs: NOON + 14 * MINUTE_MS }))
        : null,
  };
}

export const statusOf = (facts?: Facts): Status => buildStatus(statusFacts(facts));

/** The one account, with its details. */
export function onlyAccount(status: Status): AccountStatus & { readonly detail: AccountDetail } {
  const [account] = status.accounts;
  if (account?.detail === undefined) throw new RangeError('these are facts of several accounts');
  return { ...account, detail: account.detail };
}
