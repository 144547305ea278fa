/** Computes the age of the last read, and the time at which data is judged. Pure. */
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { DatabaseFacts } from './read-accounts.ts';
import type { DatabaseStatus } from './status.ts';

interface DatabaseLook {
  /** The last read of the warehouse; null: none yet. */
  readonly seen: DatabaseFacts | null;
  /** Why the database is unreachable; null: it is reachable, or was not tried yet. */
  readonly problem: string | null;
  readonly isSlow: boolean;
  /** By this process's clock. */
  readonly ourNowMs: number;
}

export interface DatabaseClock {
  /** `databaseOffsetMs` */
  readonly offMs: number;
  /** By the database's clock. */
  readonly nowMs: number;
  /**
   * The moment at which data is judged. While the database is up that is the time of the read, because later changes are
   * unknown. While it is away that is now, because no new data is stored and its data grows old.
   */
  readonly judgedMs: number;
  readonly report: DatabaseStatus;
}

/** Slightly more than the worker's interval between reads (ten seconds). */
const OLD_MS = 12 * SECOND_MS;
/** A read older than this is not relied on. */
const TOO_OLD_MS = 2 * MINUTE_MS;

/** Add to a time of this process's clock to get the database's time; 0 while the offset is unknown. */
export const databaseOffsetMs = (seen: DatabaseFacts | null): number =>
  seen === null ? 0 : seen.databaseNowMs - seen.readAtMs;

export function reportDatabase({ seen, problem, isSlow, ourNowMs }: DatabaseLook): DatabaseClock {
  // Ages are computed by the database's clock, because stored times are.
  const offMs = databaseOffsetMs(seen);
  const nowMs = ourNowMs + offMs;
  const readAtMs = seen?.databaseNowMs ?? null;
  const isUp = problem === null && seen !== null;
  const ageMs = readAtMs === null ? 0 : nowMs - readAtMs;
  return {
    offMs,
    nowMs,
    judgedMs: isUp && readAtMs !== null ? Math.min(nowMs, readAtMs) : nowMs,
    report: {
      isUp,
      readAtMs,
      isSlow,
      isOld: ageMs > OLD_MS,
      isTooOld: ageMs > TOO_OLD_MS,
      problem,
      pendingMigrations: seen?.pendingMigrations ?? null,
    },
  };
}
