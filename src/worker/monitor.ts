/** Looks at the warehouse every few seconds, so that nobody who asks for the status has to wait for a database. */
import { type OutageLog, WATCH } from '../ops/outage-log.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { type Clock, SECOND_MS } from '../shared/time.ts';
import type { Connection } from '../warehouse/connection.ts';
import { toDatabaseError } from '../warehouse/database-error.ts';
import { type Operations, readOperations } from '../warehouse/read-operations.ts';
import { readVolumes, type Volumes } from '../warehouse/read-volumes.ts';
import { within } from './within.ts';

export interface Sighting {
  readonly operations: Operations | null;
  readonly volumes: Volumes | null;
  /** By our clock; null: never. */
  readonly readAtMs: number | null;
  /** Why the newest look failed. */
  readonly problem: string | null;
}

export interface Monitor {
  readonly latest: Sighting;
  /** Looks now; never rejects. */
  look(): Promise<void>;
  /** Something has changed: looks within a second. */
  lookSoon(): void;
  stop(): void;
}

export interface MonitorOptions {
  readonly connection: Connection;
  readonly accountId: string;
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
/** Counting rows may take one part in this many of the time, and is never repeated sooner than this. */
const COUNTING_SHARE = 200;
const COUNT_EVERY_MS = 15 * SECOND_MS;

export function createMonitor(options: MonitorOptions): Monitor {
  const { connection, accountId, clock, outages, onDefect, everyMs = EVERY_MS } = options;
  let latest: Sighting = { operations: null, volumes: null, readAtMs: null, problem: null };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let reading: Promise<Operations> | undefined;
  let looking: Promise<void> | undefined;
  let countAtMs = -Infinity;

  async function count(): Promise<Volumes | null> {
    const startedMs = clock.monotonicMs();
    if (startedMs < countAtMs) return latest.volumes;
    try {
      const volumes = await readVolumes(connection.db, accountId);
      const endedMs = clock.monotonicMs();
      countAtMs = endedMs + Math.max(COUNT_EVERY_MS, (endedMs - startedMs) * COUNTING_SHARE);
      return volumes;
    } catch (error) {
      countAtMs = startedMs + COUNT_EVERY_MS;
      throw error;
    }
  }

  async function lookOnce(): Promise<void> {
    try {
      // One at a time: a database that does not answer is not asked again before it did.
      reading ??= readOperations(connection, accountId).finally(() => (reading = undefined));
      const read = await within(reading, PATIENCE_MS);
      if (!read.inTime) throw new SafetySyncError('database_unreachable', 'PostgreSQL does not answer');
      outages.noteAnswer('database', WATCH);
      latest = { ...latest, operations: read.value, readAtMs: clock.now(), problem: null };
      if (read.value.pendingMigrations === 0) latest = { ...latest, volumes: await count() };
    } catch (caught) {
      const error = toDatabaseError(caught);
      if (isStopped) return;
      latest = { ...latest, problem: error.message };
      if (!outages.noteFailure(WATCH, error)) onDefect(error);
    }
  }

  function schedule(ms: number): void {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void look(), ms);
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
