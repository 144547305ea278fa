/** Looks at the warehouse every few seconds, so that nobody who asks for the status has to wait for a database. */
import { type OutageLog, WATCH } from '../ops/outage-log.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { type Clock, SECOND_MS } from '../shared/time.ts';
import { toDatabaseError } from '../warehouse/database-error.ts';
import { within } from './within.ts';

/** What was seen last. */
export interface Sighting<Seen, Counted> {
  readonly seen: Seen | null;
  readonly counted: Counted | null;
  /** By our clock; null: never. */
  readonly readAtMs: number | null;
  /** Why the newest look failed. */
  readonly problem: string | null;
}

export interface Monitor<Seen, Counted> {
  readonly latest: Sighting<Seen, Counted>;
  /** Looks now; never rejects. */
  look(): Promise<void>;
  /** Something has changed: looks within a second. */
  lookSoon(): void;
  stop(): void;
}

export interface MonitorOptions<Seen extends { readonly pendingMigrations: number }, Counted> {
  /** What is looked at; quick. */
  readonly read: () => Promise<Seen>;
  /** What costs: done now and then. */
  readonly count: () => Promise<Counted>;
  readonly clock: Clock;
  readonly outages: OutageLog;
  readonly onDefect: (error: SafetySyncError) => void;
  /** Default: ten seconds. */
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 10 * SECOND_MS;
const SOON_MS = 300;
/** A look that takes longer counts as no answer. */
const PATIENCE_MS = 5 * SECOND_MS;
/** Looking may take one part in this many of the time: thousands of accounts are looked at less often. */
const LOOKING_SHARE = 20;
/** Counting rows may take one part in this many of the time, and is never repeated sooner than this. */
const COUNTING_SHARE = 200;
const COUNT_EVERY_MS = 15 * SECOND_MS;

export function createMonitor<Seen extends { readonly pendingMigrations: number }, Counted>(
  options: MonitorOptions<Seen, Counted>,
): Monitor<Seen, Counted> {
  const { clock, outages, onDefect, everyMs = EVERY_MS } = options;
  let latest: Sighting<Seen, Counted> = { seen: null, counted: null, readAtMs: null, problem: null };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let reading: Promise<Seen> | undefined;
  let looking: Promise<void> | undefined;
  let countAtMs = -Infinity;
  let restUntilMs = -Infinity;

  async function count(): Promise<Counted | null> {
    const startedMs = clock.monotonicMs();
    if (startedMs < countAtMs) return latest.counted;
    try {
      const counted = await options.count();
      const endedMs = clock.monotonicMs();
      countAtMs = endedMs + Math.max(COUNT_EVERY_MS, (endedMs - startedMs) * COUNTING_SHARE);
      return counted;
    } catch (error) {
      countAtMs = startedMs + COUNT_EVERY_MS;
      throw error;
    }
  }

  async function lookOnce(): Promise<void> {
    const startedMs = clock.monotonicMs();
    try {
      // One at a time: a database that does not answer is not asked again before it did.
      reading ??= options.read().finally(() => (reading = undefined));
      const read = await within(reading, PATIENCE_MS);
      if (!read.inTime) throw new SafetySyncError('database_unreachable', 'PostgreSQL does not answer');
      outages.noteAnswer('database', WATCH);
      latest = { ...latest, seen: read.value, readAtMs: clock.now(), problem: null };
      restUntilMs = clock.monotonicMs() + (clock.monotonicMs() - startedMs) * LOOKING_SHARE;
      if (read.value.pendingMigrations === 0) latest = { ...latest, counted: await count() };
    } catch (caught) {
      const error = toDatabaseError(caught);
      if (isStopped) return;
      latest = { ...latest, problem: error.message };
      if (!outages.noteFailure(WATCH, error)) onDefect(error);
    }
  }

  function schedule(ms: number): void {
    clearTimeout(timer);
    const restMs = Math.max(0, restUntilMs - clock.monotonicMs());
    if (!isStopped) timer = setTimeout(() => void look(), Math.max(ms, restMs));
  }

  async function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
      schedule(everyMs);
    });
    await looking;
  }

  return {
    get latest() {
      return latest;
    },
    look,
    lookSoon: () => schedule(SOON_MS),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
