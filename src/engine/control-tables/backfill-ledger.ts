/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { and, desc, eq, gt, ne, type SQL, sql } from 'drizzle-orm';
import { backoff } from '../../shared/backoff.ts';
import { DAY_MS, MINUTE_MS, toIso, toMs } from '../../shared/time.ts';
import type { BackfillPlan, Hole, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, streamState, type StreamKey } from './control-tables.ts';
import { asGiven, instantOf, type TransactionTime } from '../database/sql-names.ts';

/** null: there is no bound. */
const toBound = (ms: number): string | null => toIso(Number.isFinite(ms) ? ms : null);

const inScope = ({ accountId, stream }: StreamKey) =>
  and(eq(backfillSlices.account_id, accountId), eq(backfillSlices.stream, stream));

/** The backfill under way or last done; undefined when there never was one. */
export async function readLedger(
  db: Queryable,
  scope: StreamKey,
): Promise<{ plan: BackfillPlan; slices: LedgerSlice[] } | undefined> {
  const { account_id, stream } = streamState;
  const [row] = await db
    .select()
    .from(streamState)
    .where(and(eq(account_id, scope.accountId), eq(stream, scope.stream)));
  if (row?.backfill_started_at == null) return undefined;
  const plan: BackfillPlan = {
    fromMs: toMs(row.backfill_from) ?? -Infinity,
    toMs: toMs(row.backfill_to) ?? Infinity,
    watermark:
      row.backfill_watermark === null
        ? null
        : { ms: toMs(row.backfill_watermark), clockOffsetMs: row.backfill_clock_offset_ms },
  };
  return { plan, slices: await readSlices(db, scope) };
}

/** Delay before a hole is read again. */
const HOLE_DELAYS = { firstMs: 15 * MINUTE_MS, mostMs: DAY_MS };

/** Newest first. */
export async function readHoles(db: Queryable, scope: StreamKey): Promise<Hole[]> {
  const { status, failures, created_to } = backfillSlices;
  const rows = await db
    .select({ row: backfillSlices, now: sql<string>`statement_timestamp()` })
    .from(backfillSlices)
    .where(and(inScope(scope), ne(status, 'done'), gt(failures, 0)))
    .orderBy(desc(created_to));
  return rows.map(({ row, now }) => ({ slice: toSlice(row), isDue: isDue(row, toMs(now)) }));
}

/** An attempt in the future is from before the clock of the database was put back. */
function isDue(
  { finished_at, failures }: Pick<typeof backfillSlices.$inferSelect, 'finished_at' | 'failures'>,
  nowMs: number,
): boolean {
  const sinceMs = nowMs - (toMs(finished_at) ?? -Infinity);
  return sinceMs < 0 || sinceMs >= backoff(failures, HOLE_DELAYS);
}

/** Newest first. */
async function readSlices(db: Queryable, scope: StreamKey): Promise<LedgerSlice[]> {
  const rows = await db
    .select()
    .from(backfillSlices)
    .where(inScope(scope))
    .orderBy(desc(backfillSlices.created_to), backfillSlices.created_from);
  return rows.map(toSlice);
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
    failures: row.failures,
  };
}

/** Writes what a reader yielded, in the transaction that stores the records it belongs to. */
export async function writeLedger(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  changes: readonly LedgerChange[],
): Promise<void> {
  for (const change of changes) {
    if (change.kind === 'plan') await writePlan(db, scope, change);
    else if (change.kind === 'hole') await addHole(db, scope, change.slice);
    else if (change.kind === 'cut') {
      await db.execute(sql`
        delete from ${backfillSlices} where account_id = ${scope.accountId} and stream = ${scope.stream}
          and created_from = ${toIso(change.slice.fromMs)} and created_to = ${toIso(change.slice.toMs)}`);
      await addSlices(db, scope, change.pieces);
    }
  }
  // After a cut, because a slice that was cut has no row any more.
  const slices = changes.flatMap((change) => (change.kind === 'slice' ? [change.slice] : []));
  if (slices.length > 0) await writeSlices(db, scope, slices);
  const done = slices.filter(({ status }) => status === 'done');
  if (done.length > 0) await deleteHolesWithin(db, scope, done);
}

/** Holes within slices that were read to their end. */
async function deleteHolesWithin(
  db: Queryable,
  { accountId, stream }: StreamKey,
  slices: readonly LedgerSlice[],
): Promise<void> {
  await db.execute(sql`
    delete from ${backfillSlices} h using ${rowsOf(slices)}
    where h.account_id = ${accountId} and h.stream = ${stream} and h.status <> 'done' and h.failures > 0
      and h.created_from >= u.created_from and h.created_to <= u.created_to`);
}

/** If the range is already a hole, it has failed again. */
async function addHole(db: Queryable, scope: StreamKey, slice: TimeSlice): Promise<void> {
  await db.execute(sql`
    insert into ${backfillSlices} as s (account_id, stream, created_from, created_to, status, failures, finished_at)
    values (${scope.accountId}, ${scope.stream}, ${toIso(slice.fromMs)}, ${toIso(slice.toMs)}, 'failed', 1, statement_timestamp())
    on conflict (account_id, stream, created_from, created_to) do update
      set status = excluded.status, failures = s.failures + 1, finished_at = excluded.finished_at`);
}

/** Deletes the entries of an earlier backfill from the ledger, except the holes that this one does not cover. */
async function writePlan(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  { plan, slices }: { readonly plan: BackfillPlan; readonly slices: readonly LedgerSlice[] },
): Promise<void> {
  const from = toIso(Math.min(...slices.map(({ fromMs }) => fromMs)));
  const to = toIso(Math.max(...slices.map(({ toMs: ms }) => ms)));
  const values = {
    backfill_from: toBound(plan.fromMs),
    backfill_to: toBound(plan.toMs),
    backfill_watermark: toIso(plan.watermark?.ms ?? null),
    backfill_clock_offset_ms: plan.watermark?.clockOffsetMs ?? null,
    backfill_started_at: sql`statement_timestamp()`,
  };
  await db
    .insert(streamState)
    .values({ account_id: scope.accountId, stream: scope.stream, ...values })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set: asGiven(values) });
  await db.execute(sql`
    delete from ${backfillSlices} where account_id = ${scope.accountId} and stream = ${scope.stream}
      and not (status <> 'done' and failures > 0 and (created_from < ${from}::timestamptz or created_to > ${to}::timestamptz))`);
  await addSlices(db, scope, slices);
}

const SLICE_COLUMNS = sql.raw('created_from, created_to, status, read_to, expected, records, failures');

/** Rows `u` with these columns, one for each slice. */
function rowsOf(slices: readonly LedgerSlice[]): SQL {
  const list = (type: string, valueOf: (slice: LedgerSlice) => string | number | null): SQL =>
    sql`${toArrayLiteral(slices.map(valueOf))}::${sql.raw(type)}[]`;
  const lists = [
    list('timestamptz', (slice) => toIso(slice.fromMs)),
    list('timestamptz', (slice) => toIso(slice.toMs)),
    list('text', ({ status }) => status),
    list('timestamptz', ({ readToMs }) => toIso(readToMs)),
    list('bigint', ({ expected }) => expected),
    list('bigint', ({ records }) => records),
    list('int', ({ failures }) => failures),
  ];
  return sql`unnest(${sql.join(lists, sql`, `)}) as u (${SLICE_COLUMNS})`;
}

/** The time is a value, because Citus allows no function that reads the clock in a `case`. */
const finishedAt = (scope: TransactionTime): SQL =>
  sql`case when u.status <> 'pending' then ${instantOf(scope)} end`;

/** A piece may have the bounds of a hole that a sync has left out meanwhile: it takes its place. */
async function addSlices(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  slices: readonly LedgerSlice[],
): Promise<void> {
  await db.execute(sql`
    insert into ${backfillSlices} (account_id, stream, ${SLICE_COLUMNS}, finished_at)
    select ${scope.accountId}::text, ${scope.stream}::text, u.*, ${finishedAt(scope)} from ${rowsOf(slices)}
    on conflict (account_id, stream, created_from, created_to) do update set status = excluded.status, read_to = excluded.read_to,
      expected = excluded.expected, records = excluded.records, failures = excluded.failures, finished_at = excluded.finished_at`);
}

/** In one statement, because several readers change their slices between two commits. */
async function writeSlices(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  slices: readonly LedgerSlice[],
): Promise<void> {
  const { account_id, stream, created_from, created_to } = backfillSlices;
  await db.execute(sql`
    update ${backfillSlices} set status = u.status, read_to = u.read_to, expected = u.expected, records = u.records,
      failures = u.failures, finished_at = ${finishedAt(scope)}
    from ${rowsOf(slices)}
    where ${account_id} = ${scope.accountId} and ${stream} = ${scope.stream}
      and ${created_from} = u.created_from and ${created_to} = u.created_to`);
}
