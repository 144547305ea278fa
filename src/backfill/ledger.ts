/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { and, asc, desc, eq, sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, type SliceStatus, streamState } from '../database/control-tables.ts';
import type { ServiceTime } from '../streams/state.ts';

export interface LedgerScope {
  readonly accountId: string;
  readonly stream: StreamName;
}

/** What a backfill covers, and what it lets the watermark be when all of it is stored. */
export interface BackfillPlan {
  /** Creation time, inclusive; null: from the beginning. */
  readonly fromMs: number | null;
  /** Exclusive; null: everything that there was when it began. */
  readonly toMs: number | null;
  readonly watermark: ServiceTime | null;
}

export interface LedgerSlice {
  readonly fromMs: number;
  readonly toMs: number;
  readonly status: SliceStatus;
  /** Everything created from here on is stored; `toMs` when nothing is. */
  readonly readToMs: number;
  readonly expected: number | null;
  readonly records: number;
}

const toText = (ms: number): string => new Date(ms).toISOString();
const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

const inScope = ({ accountId, stream }: LedgerScope) =>
  and(eq(backfillSlices.account_id, accountId), eq(backfillSlices.stream, stream));

const isSlice = (scope: LedgerScope, slice: { readonly fromMs: number; readonly toMs: number }) =>
  and(
    inScope(scope),
    eq(backfillSlices.created_from, toText(slice.fromMs)),
    eq(backfillSlices.created_to, toText(slice.toMs)),
  );

/** The plan under way or last done; null when there never was one. */
export async function readBackfillPlan(
  db: Queryable,
  { accountId, stream }: LedgerScope,
): Promise<BackfillPlan | null> {
  const [row] = await db
    .select()
    .from(streamState)
    .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream)));
  if (row?.backfill_started_at == null) return null;
  return {
    fromMs: toMs(row.backfill_from),
    toMs: toMs(row.backfill_to),
    watermark:
      row.backfill_watermark === null
        ? null
        : { ms: Date.parse(row.backfill_watermark), clockOffsetMs: row.backfill_clock_offset_ms },
  };
}

/** Newest first. */
export async function readSlices(db: Queryable, scope: LedgerScope): Promise<LedgerSlice[]> {
  const rows = await db
    .select()
    .from(backfillSlices)
    .where(inScope(scope))
    .orderBy(desc(backfillSlices.created_to), asc(backfillSlices.created_from));
  return rows.map((row) => {
    const toMsOfRow = Date.parse(row.created_to);
    return {
      fromMs: Date.parse(row.created_from),
      toMs: toMsOfRow,
      status: row.status,
      readToMs: toMs(row.read_to) ?? toMsOfRow,
      expected: row.expected,
      records: row.records,
    };
  });
}

/** Replaces plan and ledger: what an earlier backfill noted is forgotten. Use in a transaction. */
export async function writePlan(
  db: Queryable,
  scope: LedgerScope,
  {
    plan,
    slices,
  }: { readonly plan: BackfillPlan; readonly slices: readonly { fromMs: number; toMs: number }[] },
): Promise<void> {
  const values = {
    backfill_from: plan.fromMs === null ? null : toText(plan.fromMs),
    backfill_to: plan.toMs === null ? null : toText(plan.toMs),
    backfill_watermark: plan.watermark === null ? null : toText(plan.watermark.ms),
    backfill_clock_offset_ms: plan.watermark?.clockOffsetMs ?? null,
    backfill_started_at: sql`statement_timestamp()`,
  };
  await db
    .insert(streamState)
    .values({ account_id: scope.accountId, stream: scope.stream, ...values })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set: values });
  await db.delete(backfillSlices).where(inScope(scope));
  await addSlices(db, scope, slices);
}

export async function addSlices(
  db: Queryable,
  scope: LedgerScope,
  slices: readonly { readonly fromMs: number; readonly toMs: number }[],
): Promise<void> {
  for (let at = 0; at < slices.length; at += 1000) {
    await db.insert(backfillSlices).values(
      slices.slice(at, at + 1000).map(({ fromMs, toMs: end }) => ({
        account_id: scope.accountId,
        stream: scope.stream,
        created_from: toText(fromMs),
        created_to: toText(end),
        status: 'pending' as const,
      })),
    );
  }
}

/** What was stored of a slice; part of the transaction that stores it. */
export async function noteSlice(db: Queryable, scope: LedgerScope, slice: LedgerSlice): Promise<void> {
  await db
    .update(backfillSlices)
    .set({
      status: slice.status,
      read_to: toText(slice.readToMs),
      expected: slice.expected,
      records: slice.records,
      finished_at: slice.status === 'pending' ? null : sql`statement_timestamp()`,
    })
    .where(isSlice(scope, slice));
}

/** Puts smaller slices in the place of one. */
export async function replaceSlice(
  db: Queryable,
  scope: LedgerScope,
  {
    slice,
    parts,
  }: { readonly slice: LedgerSlice; readonly parts: readonly { fromMs: number; toMs: number }[] },
): Promise<void> {
  await db.delete(backfillSlices).where(isSlice(scope, slice));
  await addSlices(db, scope, parts);
}
