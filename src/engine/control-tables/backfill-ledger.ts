/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { PgInsertValue } from 'drizzle-orm/pg-core';
import { toIso, toMs } from '../../shared/time.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, streamState, type StreamKey } from './control-tables.ts';
import { asGiven, instantOf, type TransactionTime } from '../database/sql-names.ts';

/** null: there is no bound. */
const toBound = (ms: number): string | null => toIso(Number.isFinite(ms) ? ms : null);

interface Ledger {
  /** The backfill under way or last done; undefined when there never was one. */
  readonly plan: BackfillPlan | undefined;
  /** Its slices and the failed ones, newest first. */
  readonly slices: readonly LedgerSlice[];
}

export async function readLedger(db: Queryable, scope: StreamKey): Promise<Ledger> {
  const { account_id, stream } = streamState;
  const [row] = await db
    .select()
    .from(streamState)
    .where(and(eq(account_id, scope.accountId), eq(stream, scope.stream)));
  const plan =
    row?.backfill_started_at == null
      ? undefined
      : {
          fromMs: toMs(row.backfill_from) ?? -Infinity,
          toMs: toMs(row.backfill_to) ?? Infinity,
          watermark: toMs(row.backfill_watermark),
        };
  const rows = await db
    .select()
    .from(backfillSlices)
    .where(and(eq(backfillSlices.account_id, scope.accountId), eq(backfillSlices.stream, scope.stream)))
    .orderBy(desc(backfillSlices.created_to), backfillSlices.created_from);
  return { plan, slices: rows.map(toSlice) };
}

function toSlice(row: typeof backfillSlices.$inferSelect): LedgerSlice {
  const toMsOfRow = toMs(row.created_to);
  return {
    fromMs: toMs(row.created_from),
    toMs: toMsOfRow,
    status: row.status,
    readToMs: toMs(row.read_to) ?? toMsOfRow,
    expected: row.expected,
    records: row.records,
  };
}

/** Writes what a reader yielded, in the transaction that stores the records it belongs to. */
export async function writeLedger(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  changes: readonly LedgerChange[],
): Promise<void> {
  const { accountId, stream } = scope;
  /** Each page of a slice writes the slice: the last one counts. */
  const slices = new Map<string, LedgerSlice>();
  for (const change of changes) {
    switch (change.kind) {
      case 'plan':
        await writePlan(db, scope, change);
        break;
      case 'complete_read':
        await writeState(db, scope, { complete_read_at: sql`statement_timestamp()` });
        break;
      case 'failed':
        await db.execute(sql`
          insert into ${backfillSlices} (account_id, stream, created_from, created_to, status, finished_at)
          values (${accountId}, ${stream}, ${toIso(change.slice.fromMs)}, ${toIso(change.slice.toMs)}, 'failed', ${instantOf(scope)})
          on conflict (account_id, stream, created_from, created_to) do update
            set status = excluded.status, finished_at = excluded.finished_at`);
        break;
      case 'repaired':
        await db.execute(sql`
          delete from ${backfillSlices} s using ${rowsOf(change.slices)}
          where s.account_id = ${accountId} and s.stream = ${stream} and s.status = 'failed'
            and s.created_from = u.created_from and s.created_to = u.created_to`);
        break;
      case 'slice':
        slices.set(`${change.slice.fromMs} ${change.slice.toMs}`, change.slice);
    }
  }
  if (slices.size > 0) await writeSlices(db, scope, [...slices.values()]);
}

async function writeState(
  db: Queryable,
  { accountId, stream }: StreamKey,
  values: Partial<PgInsertValue<typeof streamState>>,
): Promise<void> {
  await db
    .insert(streamState)
    .values({ ...values, account_id: accountId, stream })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set: asGiven(values) });
}

/** Deletes the entries of an earlier backfill from the ledger, but failed slices stay open until they are read. */
async function writePlan(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  { plan, slices }: { readonly plan: BackfillPlan; readonly slices: readonly LedgerSlice[] },
): Promise<void> {
  const { accountId, stream } = scope;
  await writeState(db, scope, {
    backfill_from: toBound(plan.fromMs),
    backfill_to: toBound(plan.toMs),
    backfill_watermark: toIso(plan.watermark),
    backfill_started_at: sql`statement_timestamp()`,
  });
  await db.execute(sql`
    delete from ${backfillSlices} where account_id = ${accountId} and stream = ${stream} and status <> 'failed'`);
  await db.execute(sql`
    insert into ${backfillSlices} (account_id, stream, ${SLICE_COLUMNS})
    select ${accountId}::text, ${stream}::text, ${SLICE_COLUMNS} from ${rowsOf(slices)} on conflict do nothing`);
}

const SLICE_COLUMNS = sql.raw('created_from, created_to, status, read_to, expected, records');

/** Rows `u`, one for each slice. */
function rowsOf(slices: readonly (TimeSlice & Partial<LedgerSlice>)[]): SQL {
  const rows = slices.map(({ fromMs, toMs: untilMs, readToMs = null, status, expected, records }) => ({
    created_from: toIso(fromMs),
    created_to: toIso(untilMs),
    read_to: toIso(readToMs),
    ...{ status, expected, records },
  }));
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as u (created_from timestamptz, created_to timestamptz,
    status text, read_to timestamptz, expected bigint, records bigint)`;
}

/** The time is a value, because Citus allows no function that reads the clock in a `case`. A slice that failed stays failed. */
async function writeSlices(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  slices: readonly LedgerSlice[],
): Promise<void> {
  const { account_id, stream, created_from, created_to } = backfillSlices;
  await db.execute(sql`
    update ${backfillSlices} set status = u.status, read_to = u.read_to, expected = u.expected, records = u.records,
      finished_at = case when u.status <> 'pending' then ${instantOf(scope)} end
    from ${rowsOf(slices)}
    where ${account_id} = ${scope.accountId} and ${stream} = ${scope.stream} and ${backfillSlices.status} <> 'failed'
      and ${created_from} = u.created_from and ${created_to} = u.created_to`);
}
