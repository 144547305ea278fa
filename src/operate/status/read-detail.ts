/** Reads what only the page of one account shows: runs, data issues, counts, and differences from the settings. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { readRuns } from '../../engine/control-tables/runs.ts';
import type { PrivacySettings } from '../../engine/privacy/settings.ts';
import type { IssueKind, StreamName } from '../../engine/streams/stream.ts';
import { readDifferences } from './differences.ts';
import type { JudgedAccount } from './facts.ts';
import { countRows } from './read-volumes.ts';

/** Most runs in the list of recent runs. */
const LISTED_RUNS = 25;

/** Open issues of one kind and field. */
interface IssueGroup extends Record<string, unknown> {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  /** One example of them. */
  readonly problem: string;
}

export type AccountDetail = Awaited<ReturnType<typeof readDetail>>;

interface NextRun {
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
  readonly atMs: number;
}

/** `nextRuns`: soonest first. */
export async function readDetail(
  db: Queryable,
  account: Pick<JudgedAccount, 'id' | 'config'>,
  { privacy, nextRuns }: { readonly privacy: PrivacySettings; readonly nextRuns: readonly NextRun[] },
) {
  const { id } = account;
  const runs = await readRuns(db, [id], { limit: LISTED_RUNS });
  const issues = await db.execute<IssueGroup>(sql`
    select stream, kind, field, count(*)::int as count, min(problem) as problem
    from safety_sync.data_issues where account_id = ${id} and resolved_at is null
    group by stream, kind, field order by count(*) desc, stream, field`);
  const counts = await countRows(db, [id]);
  const differences = await readDifferences(db, [account], privacy);
  return {
    /** Newest first, of every stream. */
    recentRuns: runs,
    issues: [...issues],
    /** Live rows of each stream. */
    liveRows: Object.fromEntries(counts.map(({ stream, live }) => [stream, live])),
    differences: differences.get(id)?.texts ?? [],
    nextRuns,
    /** Time zone of the schedules. */
    timezone: account.config.schedule.timezone,
  };
}
