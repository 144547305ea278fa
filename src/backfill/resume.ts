/** Whether a backfill goes on where an earlier one was cut off: the run and its forecast ask this alike. */
import {
  type BackfillPlan,
  type LedgerScope,
  type LedgerSlice,
  readBackfillPlan,
  readSlices,
} from './ledger.ts';
import type { Queryable } from '../database/connection.ts';
import type { BackfillRange } from '../reading/extract.ts';

export interface BackfillAsked {
  readonly range: BackfillRange;
  readonly restart: boolean;
  /** The watermark that the stream has. */
  readonly watermarkMs: number | null;
}

export interface ResumableBackfill {
  readonly plan: BackfillPlan;
  /** Newest first. */
  readonly slices: readonly LedgerSlice[];
}

export const isOpen = (slice: LedgerSlice): boolean => slice.status !== 'done';

const isSameRange = (plan: BackfillPlan, range: BackfillRange): boolean =>
  plan.fromMs === range.fromMs && plan.toMs === range.toMs;

/** Every slice is stored, but the run ended before it could say so: a plan of everything leaves its watermark behind. */
const isUnclosed = ({ fromMs, toMs, watermark }: BackfillPlan, stateMs: number | null): boolean =>
  fromMs === null && toMs === null && watermark !== null && (stateMs === null || stateMs < watermark.ms);

/** undefined: this one begins anew. */
export async function findResumable(
  db: Queryable,
  scope: LedgerScope,
  { range, restart, watermarkMs }: BackfillAsked,
): Promise<ResumableBackfill | undefined> {
  if (restart) return undefined;
  const plan = await readBackfillPlan(db, scope);
  if (plan === null || !isSameRange(plan, range)) return undefined;
  const slices = await readSlices(db, scope);
  return isUnclosed(plan, watermarkMs) || slices.some(isOpen) ? { plan, slices } : undefined;
}
