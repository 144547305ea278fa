/** Reads what there is to know about each stream of accounts, for `status`: one statement each, however many accounts. */
import { sql } from 'drizzle-orm';
import { STREAM_NAMES, STREAMS } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { tellDeadRuns } from '../database/dead-runs.ts';
import { CURRENT_UNTIL } from './read-operations.ts';
import { readLastRuns, type RunRow } from '../database/runs.ts';
import { toArrayLiteral } from '../database/copy-text.ts';
import { target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';

export interface StreamStatus {
  readonly stream: StreamName;
  readonly lastRun: RunRow | null;
  /** ISO times. */
  readonly watermark: string | null;
  readonly calculatedAt: string | null;
  readonly lastSuccessAt: string | null;
  /** Up to when the service itself would answer the same: the cache of the training calculation. */
  readonly currentUntil: string | null;
  readonly liveRows: number;
  readonly deletedRows: number;
  readonly openIssues: number;
}

export interface AccountStatus {
  readonly accountId: string;
  readonly streams: readonly StreamStatus[];
}

const toIso = (instant: string | null | undefined): string | null =>
  instant === null || instant === undefined ? null : new Date(instant).toISOString();

const keyOf = (accountId: string, stream: StreamName): string => `${stream} ${accountId}`;

interface Counted extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
}

function byKey<Row extends Counted>(rows: Iterable<Row>): Map<string, Row> {
  return new Map([...rows].map((row) => [keyOf(row.account_id, row.stream), row]));
}

async function countRows(db: Queryable, accounts: string) {
  const counts = STREAMS.map(
    ({ name, parent }) => sql`select account_id, ${name}::text as stream,
      count(*) filter (where _deleted_at is null)::int as live,
      count(*) filter (where _deleted_at is not null)::int as deleted
    from ${target(tableShape(parent))} where account_id = any (${accounts}::text[]) group by account_id`,
  );
  return await db.execute<Counted & { live: number; deleted: number }>(sql.join(counts, sql` union all `));
}

/** In the order asked for. */
export async function readStatus(db: Queryable, accountIds: readonly string[]): Promise<AccountStatus[]> {
  const accounts = toArrayLiteral(accountIds);
  const [runs, states, rows, issues] = await Promise.all([
    readLastRuns(db, accountIds).then((last) => tellDeadRuns(db, last)),
    db.execute<
      Counted & {
        watermark: string | null;
        calculated_at: string | null;
        last_success_at: string | null;
        current_until: string | null;
      }
    >(sql`select account_id, stream, watermark, calculated_at, last_success_at,
      ${sql.raw(CURRENT_UNTIL)} as current_until from safety_sync.stream_state where account_id = any (${accounts}::text[])`),
    countRows(db, accounts),
    db.execute<Counted & { open: number }>(sql`select account_id, stream, count(*)::int as open
      from safety_sync.data_issues where account_id = any (${accounts}::text[]) and resolved_at is null
      group by account_id, stream`),
  ]);
  const [runOf, stateOf, rowsOf, issuesOf] = [byKey(runs), byKey(states), byKey(rows), byKey(issues)];
  return accountIds.map((accountId) => ({
    accountId,
    streams: STREAM_NAMES.map((stream) => {
      const key = keyOf(accountId, stream);
      const state = stateOf.get(key);
      return {
        stream,
        lastRun: runOf.get(key) ?? null,
        watermark: toIso(state?.watermark),
        calculatedAt: toIso(state?.calculated_at),
        lastSuccessAt: toIso(state?.last_success_at),
        currentUntil: toIso(state?.current_until),
        liveRows: rowsOf.get(key)?.live ?? 0,
        deletedRows: rowsOf.get(key)?.deleted ?? 0,
        openIssues: issuesOf.get(key)?.open ?? 0,
      };
    }),
  }));
}
