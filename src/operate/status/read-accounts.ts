/** Reads the facts about the streams of accounts: the view `safety_sync.status` (migrations/views), and what only locks show. */
import { sql } from 'drizzle-orm';
import { type Clock, systemClock } from '../../shared/time.ts';
import { STREAMS, streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { msOf } from '../../engine/database/sql-names.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { type AccountChange, readAccountChanges } from '../../engine/control-tables/account-changes.ts';
import { closeDeadRuns } from '../../engine/control-tables/runs.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';

/** Times are ms since 1970 by the database's clock; null: never, or unknown. */
export interface StreamFacts {
  readonly stream: StreamName;
  readonly lastSuccessMs: number | null;
  readonly watermarkMs: number | null;
  readonly calculatedMs: number | null;
  /** End of the service's cache of the training list: until then it responds with the same data. */
  readonly currentUntilMs: number | null;
  readonly isRunning: boolean;
  /** Error code of the newest run that was not ended from outside, if it failed, what it said, and when it began. */
  readonly failingWith: string | null;
  readonly failedMessage: string | null;
  readonly failingSinceMs: number | null;
  /** Its end: what has succeeded later is not affected by its cause. */
  readonly failedAtMs: number | null;
  /** Error code of the newest reconcile, if it failed: no later sync does its work. */
  readonly failedReconcile: string | null;
  /** Changes that the newest reconcile stored and no sync had brought. */
  readonly repaired: number;
  readonly openIssues: number;
  /** Fields that the service sends and this version does not know. */
  readonly newFields: readonly string[];
  /** The service has at least one of the stream's optional methods, or was not asked for them. */
  readonly isOffered: boolean;
  /** False: the service has none of its lists, so nothing is due: people are asked for one by one when they are met. */
  readonly hasList: boolean;
  /** The session that locks a table for which the run waits, in words. */
  readonly heldUpBy: string | null;
}

/** The stored facts of an account. */
interface AccountFacts {
  /** All streams, in the order of the registry. */
  readonly streams: readonly StreamFacts[];
  /** End of the wait for the limit of the service, by the database's clock; null: requests do not wait. */
  readonly blockedUntilMs: number | null;
  /** The optional methods that the service lacks. */
  readonly notOffered: readonly string[];
  /** Its rename or removal that was not finished: its rows are incomplete. */
  readonly change: AccountChange | null;
}

export type AccountsRead = Readonly<Awaited<ReturnType<typeof readAccounts>>>;

/** A row of `safety_sync.status`. After a refused first request an account has one without a stream. */
interface StatusRow extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  /** What is stored of them. */
  readonly facts: Partial<StreamFacts>;
  /** The session of the run under way; null: there is none. */
  readonly openPid: number | null;
  readonly notOffered: readonly string[];
  readonly blockedUntilMs: number | null;
}

/** The state of an account without any data. */
export const UNKNOWN: AccountFacts = {
  streams: STREAMS.map(({ name: stream }) => ({
    ...{ stream, lastSuccessMs: null, watermarkMs: null, calculatedMs: null, currentUntilMs: null },
    ...{ isRunning: false, failingWith: null, failedMessage: null, failingSinceMs: null, failedAtMs: null },
    ...{ failedReconcile: null, repaired: 0, openIssues: 0, newFields: [] },
    ...{ isOffered: true, hasList: true, heldUpBy: null },
  })),
  blockedUntilMs: null,
  notOffered: [],
  change: null,
};

/**
 * By session of a run: the other session, not of a run, that holds a lock for which it waits, for example an index
 * build or a forgotten transaction.
 */
async function readHolders(db: Connection['db'], runs: readonly number[]) {
  const pids = toArrayLiteral(runs);
  const rows = await db.execute<{ pid: number; holder: string }>(sql`
    select w.pid, format('role %s (%s, pid %s), which locks a table (to end that session: select pg_terminate_backend(%s))',
      coalesce(a.usename, 'unknown'), a.application_name, a.pid, a.pid) as holder
    from pg_stat_activity w cross join unnest(pg_blocking_pids(w.pid)) as b (pid) join pg_stat_activity a on a.pid = b.pid
    where w.pid = any (${pids}::int[]) and w.query_start < statement_timestamp() - interval '10 seconds' and a.pid <> all (${pids}::int[])`);
  return new Map(rows.map(({ pid, holder }) => [pid, holder]));
}

export async function readAccounts(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountIds: readonly string[],
  { clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {},
) {
  const [time] = await db.execute<{ now: number }>(sql`select ${msOf('clock_timestamp()')} as now`);
  const { pending, pendingTables, changed } = await readMigrationStatus({ query });
  // Our own view is made at once; until then nothing can be read by it.
  const isOwnPending = changed.some(({ name }) => name === 'safety_sync.status');
  const pendingMigrations = Math.max(pendingTables, isOwnPending ? 1 : 0);
  const read = {
    /** Start of the read by the database's clock, ms; all values were read then or later. */
    databaseNowMs: time?.now ?? 0,
    /** Start of the read by this process's clock. */
    readAtMs: clock.now(),
    /** Migrations of tables: before them nothing can be stored or read. */
    pendingMigrations,
    /** Tables are as they should be, and views are not yet. */
    arePendingViews: pending > 0 && pendingMigrations === 0,
    /** Empty while migrations are pending. */
    accounts: new Map<string, AccountFacts>(),
  };
  if (pendingMigrations > 0) return read;
  await closeDeadRuns(db, accountIds);
  const rows = await db.execute<StatusRow>(sql`
    select account_id, stream, facts, open_pid as "openPid", to_json(not_offered) as "notOffered",
      ${msOf('blocked_until')} as "blockedUntilMs"
    from safety_sync.status where account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  const pids = rows.flatMap(({ openPid }) => openPid ?? []);
  const changes = await readAccountChanges({ query }, accountIds);
  const holders = pids.length > 0 ? await readHolders(db, pids) : new Map<number, string>();
  const factsOf = (id: string): AccountFacts => {
    const own = rows.filter((row) => row.account_id === id);
    const [one] = own;
    const change = changes.find(({ from, to }) => from === id || to === id) ?? null;
    if (one === undefined) return { ...UNKNOWN, change };
    const { notOffered, blockedUntilMs } = one;
    const streams = UNKNOWN.streams.map((unknown): StreamFacts => {
      const row = own.find(({ stream }) => stream === unknown.stream);
      if (row === undefined) return unknown;
      const { optionalMethods, readMode } = streamNamed(row.stream);
      return {
        ...unknown,
        ...row.facts,
        heldUpBy: holders.get(row.openPid ?? 0) ?? null,
        isOffered: optionalMethods?.every((method) => notOffered.includes(method)) !== true,
        hasList: readMode.kind !== 'people' || !notOffered.includes('users.list'),
      };
    });
    return { streams, blockedUntilMs, notOffered, change };
  };
  return { ...read, accounts: new Map(accountIds.map((id) => [id, factsOf(id)])) };
}
