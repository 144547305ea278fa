/** Reads the state of the warehouse every few seconds, so that nobody who asks for the status has to wait for a database. */
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../shared/time.ts';
import { toDatabaseError } from '../database/database-error.ts';

/** What was read last. */
export interface MonitorState<Seen, Counted> {
  readonly seen: Seen | null;
  readonly counted: Counted | null;
  /** When the counting began, by our clock; null: never. */
  readonly countedAtMs: number | null;
  /** Why the database cannot be used, by this monitor or by runs. Slowness is no reason: what was read is then older. */
  readonly problem: string | null;
  /** The newest read has not ended in time, though the database responds. */
  readonly isSlow: boolean;
}

export interface Monitor<Seen, Counted> {
  readonly latest: MonitorState<Seen, Counted>;
  /** Reads now; never rejects. */
  refresh(): Promise<void>;
  /** Something has changed: reads within a second. */
  refreshSoon(): void;
  /** The database has responded to a run of this worker: it is not away, however long a read takes. */
  recordResponse(): void;
  stop(): void;
}

export interface MonitorOptions<Seen extends { readonly pendingMigrations: number }, Counted> {
  /** Quick. */
  readonly read: () => Promise<Seen>;
  /** What costs: done now and then, apart from the reads. */
  readonly count: () => Promise<Counted>;
  /** The cheapest question that there is. */
  readonly ping: () => Promise<unknown>;
  /** Opens a new connection, as every run does, and closes it. Done only during an outage. */
  readonly connect: () => Promise<unknown>;
  /** A new connection was opened during an outage: runs that failed may try again. No more often than `everyMs`. */
  readonly onConnected?: (() => void) | undefined;
  readonly clock: Clock;
  readonly outage: OutageLog;
  readonly onDefect: (error: SafetySyncError) => void;
  /** The database responds, but a read takes longer than these ms; called once until a read is quick again. */
  readonly onSlow: (ms: number) => void;
  /** Default: ten seconds. */
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 10 * SECOND_MS;
const SOON_MS = 300;
/** How long a read, and then a ping, may take. */
const PATIENCE_MS = 5 * SECOND_MS;
/** Reading may take one part in this many of the time, because thousands of accounts cost; but see `MOST_REST_MS`. */
const READING_SHARE = 20;
/** However long a read took, the next one begins so soon after it. */
const MOST_REST_MS = 30 * SECOND_MS;
/** Counting rows may take one part in this many of the time, within these bounds. */
const COUNTING_SHARE = 200;
const COUNT_EVERY_MS = 15 * SECOND_MS;
const MOST_COUNT_REST_MS = 2 * MINUTE_MS;

/** Who calls while the work is under way gets that one: a database that does not respond is not asked again before it did. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= work().finally(() => (underWay = undefined)));
}

export function createMonitor<Seen extends { readonly pendingMigrations: number }, Counted>(
  options: MonitorOptions<Seen, Counted>,
): Monitor<Seen, Counted> {
  const { clock, outage, onDefect, everyMs = EVERY_MS } = options;
  let latest: MonitorState<Seen, Counted> = {
    seen: null,
    counted: null,
    countedAtMs: null,
    problem: null,
    isSlow: false,
  };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let countAtMs = -Infinity;
  let restUntilMs = -Infinity;
  let respondedAtMs = -Infinity;
  let connectedAtMs = -Infinity;

  function recordFailure(caught: unknown): void {
    if (isStopped) return;
    const error = toDatabaseError(caught);
    latest = { ...latest, problem: error.message, isSlow: false };
    if (dependencyOf(error) === 'database') outage.recordFailure(error);
    else onDefect(error);
  }

  const ping = oneAtATime(options.ping);

  /** Apart from the reads: where it takes minutes they must not wait for it. */
  const count = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const countedAtMs = clock.now();
    if (startedMs < countAtMs || isStopped) return;
    let restMs = COUNT_EVERY_MS;
    try {
      const counted = await options.count();
      latest = { ...latest, counted, countedAtMs };
      const shareMs = (clock.monotonicMs() - startedMs) * COUNTING_SHARE;
      restMs = Math.min(Math.max(COUNT_EVERY_MS, shareMs), MOST_COUNT_REST_MS);
    } catch (caught) {
      const error = toDatabaseError(caught);
      // Counting that PostgreSQL refuses (a statement timeout) does not keep the rest from being known.
      if (dependencyOf(error) === 'database') recordFailure(error);
      else onDefect(error);
    }
    countAtMs = clock.monotonicMs() + restMs;
  });

  /** What it reads is taken also when nobody waits for it any more. */
  const read = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const seen = await options.read();
    const endedMs = clock.monotonicMs();
    respondedAtMs = endedMs;
    latest = { ...latest, seen, problem: null, isSlow: endedMs - startedMs > PATIENCE_MS };
    restUntilMs = endedMs + Math.min((endedMs - startedMs) * READING_SHARE, MOST_REST_MS);
    if (seen.pendingMigrations === 0) void count();
  });

  /** The read goes on, but has taken too long: is the database slow, or does it not respond at all? */
  async function judgeSilence(sinceMs: number): Promise<void> {
    const { inTime } = await withTimeout(ping(), PATIENCE_MS);
    if (inTime) respondedAtMs = clock.monotonicMs();
    if (respondedAtMs < sinceMs) {
      throw new SafetySyncError('database_unreachable', 'PostgreSQL does not respond');
    }
    if (!latest.isSlow) options.onSlow(PATIENCE_MS);
    latest = { ...latest, problem: null, isSlow: true };
  }

  /** Whether runs can connect: the connections that are open say nothing of it. */
  async function endOutage(): Promise<void> {
    if (outage.current === undefined) return;
    await options.connect();
    outage.recordResponse();
    const nowMs = clock.monotonicMs();
    // Where a few connections are left, runs that try at once take them from each other again and again.
    if (nowMs - connectedAtMs < everyMs) return;
    connectedAtMs = nowMs;
    options.onConnected?.();
  }

  const refresh = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    try {
      const { inTime } = await withTimeout(read(), PATIENCE_MS);
      if (!inTime) await judgeSilence(startedMs);
      await endOutage();
    } catch (error) {
      recordFailure(error);
    }
    schedule(everyMs);
  });

  function schedule(ms: number): void {
    clearTimeout(timer);
    const restMs = Math.max(0, restUntilMs - clock.monotonicMs());
    if (!isStopped) timer = setTimeout(() => void refresh(), Math.max(ms, restMs));
  }

  return {
    get latest() {
      return { ...latest, problem: latest.problem ?? outage.current?.message ?? null };
    },
    refresh,
    refreshSoon: () => schedule(SOON_MS),
    recordResponse: () => void (respondedAtMs = clock.monotonicMs()),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
