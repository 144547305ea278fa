/** Reads the rows for the page of one account. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readLastRuns, readRuns, TOOK_PLACE } from '../../engine/control-tables/runs.ts';
import {
  type PrivacySettings,
  readCleaningProgress,
  type StreamCleaning,
} from '../../engine/privacy/settings.ts';
import type { IssueKind, StreamName } from '../../engine/streams/stream.ts';
import { toMs } from '../../shared/time.ts';
import { readReportingTimezones } from '../../warehouse/view-settings.ts';

/** Most runs in the list of recent runs. */
const LISTED_RUNS = 25;

/** Open issues of one kind and field. */
export interface IssueGroup {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  /** One example of them. */
  readonly problem: string;
  readonly firstSeenMs: number;
}

export type AccountRows = Awaited<ReturnType<typeof readAccountRows>>;

async function readIssueGroups(db: Queryable, accountId: string): Promise<IssueGroup[]> {
  const rows = await db.execute<Omit<IssueGroup, 'firstSeenMs'> & { first_seen_at: string }>(sql`
    select stream, kind, field, count(*)::int as count, min(problem) as problem, min(first_seen_at) as first_seen_at
    from safety_sync.data_issues where account_id = ${accountId} and resolved_at is null
    group by stream, kind, field order by count(*) desc, stream, field`);
  return rows.map(({ first_seen_at: at, ...row }) => ({ ...row, firstSeenMs: toMs(at) }));
}

export async function readAccountRows(db: Queryable, accountId: string, privacy: PrivacySettings) {
  const backfills = await db.execute<{ stream: StreamName; records: number; total: number | null }>(sql`
    select stream, sum(records)::float8 as records, sum(expected)::float8 as total
    from safety_sync.backfill_slices where account_id = ${accountId} group by stream
    having bool_or(status = 'pending')`);
  const cleanings: readonly Pick<StreamCleaning, 'stream' | 'progress'>[] =
    (await readCleaningProgress(db, [accountId], privacy)).get(accountId) ?? [];
  return {
    /** Newest first, of every stream. */
    recentRuns: await markDeadRuns(db, await readRuns(db, { accountIds: [accountId], limit: LISTED_RUNS })),
    /** The newest one of each stream that has ended, and those that have not. */
    lastRuns: await readLastRuns(db, [accountId], sql`r.status <> 'running' and ${TOOK_PLACE}`),
    openRuns: await markDeadRuns(db, await readLastRuns(db, [accountId], sql`r.status = 'running'`)),
    issues: await readIssueGroups(db, accountId),
    /** Backfills with slices that are not read yet. */
    backfills: [...backfills],
    /** How far stored rows match the privacy settings. */
    cleanings,
    /** undefined: the warehouse has none yet. */
    reportingTimezone: (await readReportingTimezones(db, [accountId])).get(accountId),
  };
}
