/** Reads the rows for the page of one account, at low cost for tables of any size. */
import { sql } from 'drizzle-orm';
import type { Clock } from '../../shared/time.ts';
import type { IssueKind, StreamName } from '../../engine/streams/stream.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import type { Connection, Queryable } from '../../engine/database/connection.ts';
import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { newestRuns, type RunRow, TOOK_PLACE, toRunRow } from '../../engine/control-tables/runs.ts';
import { readReportingTimezones } from '../../warehouse/view-settings.ts';
import {
  type PrivacySettings,
  readCleaningProgress,
  type StreamCleaning,
} from '../../engine/privacy/settings.ts';
import { type AccountsRead, epochMs, readAccounts } from './read-accounts.ts';

/** Runs read per stream: the length of the charts. */
export const RECENT_RUNS = 30;
/** Most open issues that are counted one by one. */
const MOST_ISSUES = 20_000;

/** Open issues of one kind and field. */
export interface IssueGroup {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  /** true: there may be more, because only the first issues of an account are counted. */
  readonly isPart?: true;
  /** One example of them. */
  readonly problem: string;
  readonly firstSeenMs: number;
}

export interface Progress {
  readonly records: number;
  /** null: the service sends no total. */
  readonly total: number | null;
}

/** A backfill with slices that are not read yet. */
interface UnfinishedBackfill extends Progress {
  readonly stream: StreamName;
}

export interface AccountRows {
  /** Newest first. */
  readonly runs: readonly RunRow[];
  readonly issues: readonly IssueGroup[];
  readonly backfills: readonly UnfinishedBackfill[];
  /** How far stored rows match the privacy settings. */
  readonly cleanings: readonly Pick<StreamCleaning, 'stream' | 'progress'>[];
  /** undefined: the warehouse has none yet. */
  readonly reportingTimezone: string | undefined;
}

/** The last read of the warehouse. */
export interface WarehouseRead extends AccountsRead {
  /** Present when one account was read in full. */
  readonly rows?: AccountRows | undefined;
}

async function readRecentRuns(db: Queryable, accountId: string): Promise<RunRow[]> {
  const newest = newestRuns(sql`r.*`, TOOK_PLACE, toArrayLiteral([accountId]), RECENT_RUNS);
  // The second select finds a long run that many short ones have followed; its index covers running runs only.
  const rows = await db.execute(sql`
    ${newest} union
    select r.account_id, r.stream, r.* from safety_sync.runs r
    where r.account_id = ${accountId} and r.status = 'running' order by run_id desc`);
  return await markDeadRuns(db, rows.map(toRunRow));
}

export async function readIssueGroups(db: Queryable, accountId: string): Promise<IssueGroup[]> {
  const rows = await db.execute<Omit<IssueGroup, 'firstSeenMs' | 'isPart'> & { first_seen_ms: string }>(sql`
    select stream, kind, field, count(*)::int as count, min(problem) as problem,
      ${epochMs('min(first_seen_at)')} as first_seen_ms
    from (
      select stream, kind, field, problem, first_seen_at from safety_sync.data_issues
      where account_id = ${accountId} and resolved_at is null limit ${MOST_ISSUES}) open
    group by stream, kind, field order by count(*) desc, stream, field`);
  const counted = rows.reduce((sum, { count }) => sum + count, 0);
  const part = counted < MOST_ISSUES ? {} : { isPart: true as const };
  return rows.map(({ first_seen_ms: ms, ...row }) => ({ ...row, ...part, firstSeenMs: Number(ms) }));
}

async function readBackfills(db: Queryable, accountId: string): Promise<readonly UnfinishedBackfill[]> {
  return await db.execute<UnfinishedBackfill & Record<string, unknown>>(sql`
    select stream, sum(records)::float8 as records, sum(expected)::float8 as total
    from safety_sync.backfill_slices where account_id = ${accountId} group by stream
    having bool_or(status = 'pending')`);
}

/** Reads one account with its rows. Takes a few milliseconds for tables of any size. */
export async function readInFull(
  connection: Pick<Connection, 'db' | 'query'>,
  accountId: string,
  { privacy, clock }: { readonly privacy: PrivacySettings; readonly clock: Clock },
): Promise<WarehouseRead> {
  const read = await readAccounts(connection, [accountId], { clock });
  if (read.pendingMigrations > 0) return read;
  const { db } = connection;
  return {
    ...read,
    rows: {
      backfills: await readBackfills(db, accountId),
      runs: await readRecentRuns(db, accountId),
      issues: await readIssueGroups(db, accountId),
      cleanings: (await readCleaningProgress(db, [accountId], privacy)).get(accountId) ?? [],
      reportingTimezone: (await readReportingTimezones(db, [accountId])).get(accountId),
    },
  };
}
