/** Whether a backfill goes on where an earlier one was cut off: the run and its forecast ask this alike. */
import type { BackfillRange } from '../reading/read-request.ts';
import type { BackfillPlan, LedgerSlice } from '../streams/state.ts';

export interface BackfillAsked {
  readonly range: BackfillRange;
  readonly restart: boolean;
  /** The watermark that the stream has. */
  readonly watermarkMs: number | null;
}

export interface StoredBackfill {
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

export function isResumable(
  { plan, slices }: StoredBackfill,
  { range, restart, watermarkMs }: BackfillAsked,
): boolean {
  return !restart && isSameRange(plan, range) && (isUnclosed(plan, watermarkMs) || slices.some(isOpen));
}
