/**
 * One database connection for one running stream. It holds the stream's lock, the staging tables and the
 * storing transaction: if the connection breaks all of them are gone, so a session without the lock cannot
 * store.
 */
import { SafetySyncError } from '../../shared/errors.ts';
import { sleep } from '../../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import { assertUnchanged } from './account-changes.ts';
import type { StreamKey } from './control-tables.ts';
import { describeOpenRun } from './runs.ts';
import { type Connection, openConnection } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';

export type StreamSession = ReturnType<typeof buildSession>;

/** The part of a run's context that a session needs. */
export interface SessionContext {
  readonly settings: { readonly accountId: string };
  readonly databaseUrl: string;
  /** Ends the wait, and long statements. */
  readonly signal: AbortSignal;
  readonly events: {
    /** Called once when the session waits. `holder`: a description of the run that has the stream. */
    readonly onWait?: (stream: StreamName, holder: string) => void;
  };
}

const LOCK_POLL_MS = 250;

/**
 * The lock key of a stream, from SQL expressions for account and stream: 64 bits of a hash. With 50,000 streams the
 * probability that two share a key is below one in ten million.
 */
export const streamLockKey = (account: string, stream: string): string =>
  `hashtextextended('safety-sync:' || ${account} || ':' || ${stream}, 0)`;

/** Shown in `pg_stat_activity`: by it a migration finds the sessions of runs. */
export const sessionName = (stream: StreamName): string => `safety-sync ${stream}`;

const TRY_LOCK = `select pg_backend_pid() as pid,
  pg_try_advisory_lock(${streamLockKey('$1', '$2')}) as locked`;

const BEGUN = 'select pg_backend_pid() as pid, now() as now';

/**
 * Gives the transaction its time, later than that of every transaction of the stream before it, and moves
 * `complete_until` to the instant after it. The row stays locked until both are committed with the rows. So transactions of
 * a stream have their times in the order of their commits, even after the clock was set back. A stream without a row has
 * stored nothing. The conversion to UTC makes the expression IMMUTABLE, as Citus requires.
 */
const ADVANCE = `update safety_sync.stream_state
  set complete_until = (greatest(now(), complete_until) at time zone 'UTC' + interval '1 microsecond') at time zone 'UTC'
  where account_id = $1 and stream = $2
  returning (complete_until at time zone 'UTC' - interval '1 microsecond') at time zone 'UTC' as now`;

/**
 * Works in a session that holds the stream's lock, and closes it. While another run has the stream, `skip` returns undefined, and
 * `wait` waits until the lock is free or the signal is aborted. Error: `account_busy`.
 */
export async function withStreamSession<T>(
  { settings: { accountId }, databaseUrl: url, signal, events }: SessionContext,
  { stream, whenBusy }: { readonly stream: StreamName; readonly whenBusy: 'skip' | 'wait' },
  work: (session: StreamSession) => Promise<T>,
): Promise<T | undefined> {
  const key = { accountId, stream };
  const connection = openConnection({ url, applicationName: sessionName(stream), isSession: true, signal });
  try {
    for (let waited = false; ; waited = true) {
      if (signal.aborted) throw new SafetySyncError('interrupted', 'stopped while waiting for its turn');
      const [row] = await connection.query<{ pid: number; locked: boolean }>(TRY_LOCK, [accountId, stream]);
      if (row?.locked === true) {
        await assertUnchanged(connection, accountId);
        return await work(buildSession(connection, row.pid, key));
      }
      if (whenBusy === 'skip') return undefined;
      if (!waited) events.onWait?.(stream, await describeOpenRun(connection.db, key));
      await sleep(LOCK_POLL_MS, signal);
    }
  } finally {
    // PostgreSQL gives the lock free, and rolls an open transaction back.
    await connection.close().catch(() => undefined);
  }
}

function buildSession(connection: Connection, backendPid: number, { accountId, stream }: StreamKey) {
  const broke = 'the database connection that held the lock broke';
  const lockLost = (cause?: unknown) => new SafetySyncError('lock_lost', broke, { cause });
  /** Of the open transaction. `isOfClock`: the clock was not set back, so it is `now()`, too. */
  let transactionTime: (TransactionTime & { readonly isOfClock: boolean }) | null = null;
  return {
    connection,
    backendPid,
    /** Begins the one transaction of the session, unless it is open. Later statements belong to it. */
    async begin() {
      if (transactionTime !== null) return transactionTime;
      const sent = connection.query('begin');
      const begun = connection.query<{ pid: number; now: string }>(BEGUN);
      const advanced = connection.query<{ now: string }>(ADVANCE, [accountId, stream]);
      const [[row], [own]] = await Promise.all([begun, advanced, sent]);
      if (row?.pid !== backendPid) throw lockLost();
      const { now } = own ?? row;
      transactionTime = { now, isOfClock: now === row.now };
      return transactionTime;
    },
    async commit(): Promise<void> {
      transactionTime = null;
      await connection.query('commit');
    },
    /** Rolls the open transaction back. After a broken connection PostgreSQL has already done so. */
    async rollback(): Promise<void> {
      transactionTime = null;
      await connection.query('rollback').catch(() => undefined);
    },
    /**
     * After a rollback, because a connection that breaks shows it with the next statement at the latest: the error, or `lock_lost`
     * if the connection broke, because the staging tables are then gone, too.
     */
    explain(error: SafetySyncError): SafetySyncError {
      const mayFollow = error.code.startsWith('database_') || error.code === 'interrupted';
      return mayFollow && connection.lost.aborted ? lockLost(error) : error;
    },
  };
}
