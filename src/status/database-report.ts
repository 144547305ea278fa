/** How old what is known of the warehouse is, and by which clock it is judged. Pure. */
import { MINUTE_MS, SECOND_MS } from '../shared/time.ts';
import type { DatabaseFacts } from './read-accounts.ts';
import type { DatabaseReport } from './status.ts';

interface DatabaseLook {
  /** What was read last; null: nothing yet. */
  readonly seen: DatabaseFacts | null;
  /** Why the database cannot be used now; null: it can, or was not asked yet. */
  readonly problem: string | null;
  readonly isSlow: boolean;
  /** By our clock. */
  readonly ourNowMs: number;
}

export interface DatabaseClock {
  /** `databaseOffsetMs` */
  readonly offMs: number;
  /** By the database's clock. */
  readonly nowMs: number;
  /**
   * When everything that was read is judged: while the database is up this is when it was read, because what happened
   * since then is not known; a database that is away stores nothing, so its data grows old.
   */
  readonly judgedMs: number;
  readonly report: DatabaseReport;
}

/** The worker looks every ten seconds. */
const OLD_MS = 12 * SECOND_MS;
/** Nobody should rely on what is known only from so long ago. */
const TOO_OLD_MS = 2 * MINUTE_MS;

/** To be added to a time of our clock to have it by the database's, however far off ours is; 0 while that is not known. */
export const databaseOffsetMs = (seen: DatabaseFacts | null): number =>
  seen === null ? 0 : seen.databaseNowMs - seen.readAtMs;

export function reportDatabase({ seen, problem, isSlow, ourNowMs }: DatabaseLook): DatabaseClock {
  // Times in the warehouse are the database's: ages are told by its clock.
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
