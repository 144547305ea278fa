import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunRow } from '../../src/engine/control-tables/runs.ts';
import type { AccountDetail } from '../../src/operate/status/read-detail.ts';
import { type AccountsRead, type StreamFacts, UNKNOWN } from '../../src/operate/status/read-accounts.ts';
import type { StatusFacts } from '../../src/operate/status/facts.ts';
import { buildStatus, type Status } from '../../src/operate/status/status.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { NOON } from './test-clock.ts';

export const iso = (ms: number): string => new Date(ms).toISOString();

/** A run that succeeded a minute before noon and took two seconds. */
export const runRow = (run: Partial<RunRow> = {}): RunRow => ({
  ...{ run_id: 1, account_id: 'north', stream: 'resources', kind: 'sync', trigger: 'schedule' },
  ...{ status: 'succeeded', started_at: iso(NOON - MINUTE_MS), finished_at: iso(NOON - MINUTE_MS + 2_000) },
  ...{ requests: 1, retries: 0, records_read: 10, inserted: 0, updated: 0, unchanged: 10, deleted: 0 },
  ...{ rejected: 0, repaired: null, watermark_before: null, watermark_after: null, error_code: null },
  ...{ error_message: null, request_id: null, note: null, owner: 'host pid 1', backend_pid: 1 },
  program_version: '1.0.0',
  ...run,
});

export const detailOf = (detail: Partial<AccountDetail> = {}): AccountDetail => ({
  ...{ recentRuns: [], issues: [], liveRows: {}, differences: [], timezone: 'UTC' },
  nextRuns: [{ stream: 'resources', kind: 'sync', atMs: NOON + 14 * MINUTE_MS }],
  ...detail,
});

/** Every stream has a schedule. */
const SCHEDULE = {
  ...{ timezone: 'UTC', reconcile: null },
  streams: Object.fromEntries(STREAM_NAMES.map((name) => [name, '*/15 * * * *'])),
};
export const CONFIG = { service: undefined, equipmentTypes: ['21'], schedule: SCHEDULE };

/** Changes of the facts about streams, by name; every other stream succeeded a minute before noon. */
type Changes = Readonly<Partial<Record<StreamName, Partial<StreamFacts>>>>;

export const GONE = {
  code: 'database_unreachable' as const,
  message: 'connect ECONNREFUSED',
  advice: 'Start it.',
  sinceMs: NOON - 2 * MINUTE_MS,
};

interface Account extends Partial<StatusFacts['accounts'][number]> {
  readonly streams?: Changes;
  readonly blockedUntilMs?: number;
}

interface Facts extends Partial<Omit<StatusFacts, 'accounts' | 'warehouse'>> {
  readonly accounts?: readonly Account[];
  /** null: not read yet. */
  readonly read?: Partial<AccountsRead> | null;
  readonly away?: StatusFacts['warehouse']['problem'];
}

/** A healthy worker at noon. */
export function statusOf({ accounts = [{}], read, away = null, ...change }: Facts = {}): Status {
  const streamsOf = (changes: Changes): StreamFacts[] =>
    UNKNOWN.streams.map((one) => ({ ...one, lastSuccessMs: NOON - MINUTE_MS, ...changes[one.stream] }));
  const accountsRead: AccountsRead = {
    databaseNowMs: NOON,
    readAtMs: NOON,
    pendingMigrations: 0,
    arePendingViews: false,
    accounts: new Map(
      accounts.map(({ id = 'north', streams = {}, blockedUntilMs = null }) => [
        id,
        { ...UNKNOWN, streams: streamsOf(streams), blockedUntilMs },
      ]),
    ),
    ...read,
  };
  return buildStatus({
    freshnessBudgetMinutes: 60,
    owner: 'host pid 1',
    nowMs: NOON,
    uptimeMs: 90 * MINUTE_MS,
    worker: 'running',
    migrationWaits: null,
    channels: [],
    failedReports: new Map(),
    ...change,
    warehouse: { accountsRead: read === null ? null : accountsRead, problem: away },
    accounts: accounts.map((one) => ({
      id: 'north',
      config: CONFIG,
      ...one,
    })),
  });
}
