/** Cuts creation time into slices. Pure. All times in ms since 1970, `to` exclusive. */
import type { TimeSlice } from '../reading/step.ts';

/** Pages of a slice at least: a handful. */
const SLICE_PAGES = 5;
/** What a reader can have in hand when the worker dies: a response that is being stored, and the next one. */
const PAGES_IN_HAND = 2;

/** Records of a slice that is worth planning: as many as may be lost and read again when the worker is killed. */
export function sliceRecordsFor({
  readers,
  pageSize,
}: {
  readonly readers: number;
  readonly pageSize: number;
}): number {
  return Math.max(SLICE_PAGES, PAGES_IN_HAND * readers) * pageSize;
}

/** The slice of a plan without a lower bound begins here; it is asked for without that bound. */
export const EARLIEST_MS = 0;

/** Equal parts of the time from `fromMs` to `toMs`, newest first; fewer where the time is too short. */
export function cutEvenly({ fromMs, toMs }: TimeSlice, parts: number): TimeSlice[] {
  const count = Math.max(1, Math.min(parts, Math.floor(toMs - fromMs)));
  const edges = Array.from({ length: count + 1 }, (_, index) =>
    index === count ? toMs : Math.floor(fromMs + ((toMs - fromMs) * index) / count),
  );
  return edges
    .slice(1)
    .map((end, index) => ({ fromMs: edges[index] ?? fromMs, toMs: end }))
    .reverse();
}

interface PlanRequest {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Records in the range, as the service says. */
  readonly total: number;
  /** Of what was seen of the range. */
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
}

/** Slices of about `sliceRecords`, were the records spread evenly; those that turn out too large are cut again. */
export function planSlices(request: PlanRequest): TimeSlice[] {
  const { fromMs, toMs, total, oldestMs, newestMs, sliceRecords } = request;
  const bottom = fromMs ?? EARLIEST_MS;
  const top = toMs ?? Math.floor(newestMs) + 1;
  const busyFrom = Math.min(Math.max(bottom, Math.floor(oldestMs)), top - 1);
  const slices = cutEvenly({ fromMs: busyFrom, toMs: top }, Math.ceil(total / sliceRecords));
  const oldest = slices.at(-1);
  return oldest === undefined
    ? []
    : [...slices.slice(0, -1), { fromMs: Math.min(bottom, busyFrom), toMs: oldest.toMs }];
}
