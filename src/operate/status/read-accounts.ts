/** Reads the state of accounts: one row per stream and account, in a fixed number of statements. */
import { type SQL, sql } from 'drizzle-orm';
import { type Clock, systemClock } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import { NOT_OFFERED } from '../../engine/streams/optional-methods.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Connection, Queryable } from '../../engine/database/connection.ts';
import type { RunStatus } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { readHeldUp } from '../../engine/control-tables/lock-holders.ts';
import { findDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { readBlocked } from '../../engine/control-tables/request-budget.ts';
import { newestRuns, TOOK_PLACE } from '../../engine/control-tables/runs.ts';

interface LastRun {
  readonly status: Exclude<RunStatus, 'running'>;
  readonly errorCode: string | null;
}

/** Whether the run was stopped, or died with its worker: the next one continues, so this one is no failure of the stream. */
export const isEndedFromOutside = ({ errorCode }: Pick<LastRun, 'errorCode'>): boolean =>
  errorCode === 'interrupted' || errorCode === 'worker_died';

/** The times of a stream, and where `stream_state` has them. */
const TIMES = {
  lastSuccessMs: 'last_success_at',
  watermarkMs: 'watermark',
  calculatedMs: 'calculated_at',
  /** End of the service's cache of the training list: until then it responds with the same data. */
  currentUntilMs: "(checked_at + fresh_for_ms * interval '1 millisecond')",
  /** When everything that was older than its retention had been removed. */
  retainedMs: 'retained_at',
} as const;

/** ms since 1970; null: never, or unknown. */
type StreamTimes = Readonly<Record<keyof typeof TIMES, number | null>>;

export interface StreamFacts extends StreamTimes {
  readonly stream: StreamName;
  readonly lastRun: LastRun | null;
  /** null: no run is active. */
  readonly running: object | null;
  readonly openIssues: number;
  /** The service has at least one of the stream's optional methods, or was not asked for them. */
  readonly isOffered: boolean;
  /** Error code of the newest run that was not ended from outside, if it failed. */
  readonly failingWith?: string | undefined;
  /** Error code of the newest reconcile, if it failed: no later sync does its work. */
  readonly failedReconcile?: string | undefined;
  /** The session that holds the stream's lock without a run, in words; absent: none. No sync can start until it ends. */
  readonly heldUpBy?: string | undefined;
}

export interface AccountsRead {
  /** Start of the read by the database's clock, ms; all values were read then or later. */
  readonly databaseNowMs: number;
  /** Start of the read by this process's clock. */
  readonly readAtMs: number;
  /** Start of the read by the monotonic clock. */
  readonly readMonotonicMs: number;
  readonly pendingMigrations: number;
  /** All streams of an account, in the order of `STREAM_NAMES`. Empty while migrations are pending. */
  readonly accounts: ReadonlyMap<string, readonly StreamFacts[]>;
  /** Accounts whose requests wait for the limit of their service, and until when by the database's clock. */
  readonly blocked: ReadonlyMap<string, number>;
}

/** Add to a time of this process's clock to get the database's time; 0 while the offset is unknown. */
export const databaseOffsetMs = (read: Pick<AccountsRead, 'databaseNowMs' | 'readAtMs'> | null): number =>
  read === null ? 0 : read.databaseNowMs - read.readAtMs;

/** A stream of an account, as rows have it. */
interface Key {
  readonly account_id: string;
  readonly stream: StreamName;
}

export const streamKey = ({ account_id, stream }: Key): string => `${stream} ${account_id}`;

export function byKey<Row extends Key>(rows: Iterable<Row>): Map<string, Row> {
  return new Map([...rows].map((row) => [streamKey(row), row]));
}

/** ms since 1970. No cast to float8, because the server's extra_float_digits can round its text to days. */
export const epochMs = (time: string) => sql.raw(`floor(extract(epoch from ${time}) * 1000)`);
export const numberOf = (text: string | null | undefined): number | null =>
  text == null ? null : Number(text);

const timesOf = (row?: Readonly<Record<string, unknown>>): StreamTimes =>
  Object.fromEntries(
    Object.keys(TIMES).map((name) => [name, numberOf(row?.[name] as string | null | undefined)]),
  ) as StreamTimes;

/** The state of an account without any data. */
export const UNKNOWN_STREAMS: readonly StreamFacts[] = STREAM_NAMES.map((stream) => ({
  stream,
  ...timesOf(),
  lastRun: null,
  running: null,
  openIssues: 0,
  isOffered: true,
}));

async function readByKey<Row>(db: Queryable, query: SQL) {
  return byKey(await db.execute<Key & Row & Record<string, unknown>>(query));
}

function readStates(db: Queryable, accounts: string) {
  const times = Object.entries(TIMES).map(([name, time]) => sql`${epochMs(time)} as ${sql.identifier(name)}`);
  return readByKey(
    db,
    sql`select account_id, stream, ${sql.join(times, sql`, `)} from safety_sync.stream_state
      where account_id = any (${accounts}::text[])`,
  );
}

/** The status and error of the newest run of each stream that meets the condition. */
const readNewest = (db: Queryable, accounts: string, condition: SQL) =>
  readByKey<{ readonly status: LastRun['status']; readonly error_code: string | null }>(
    db,
    newestRuns(sql`r.status, r.error_code`, condition, accounts),
  );

const HAS_ENDED = sql`r.status <> 'running' and ${TOOK_PLACE}`;
const BY_ITSELF = sql`coalesce(r.error_code, '') not in ('interrupted', 'worker_died')`;
const IS_RECONCILED = sql`r.kind = 'reconcile' and r.status in ('succeeded', 'failed') and ${BY_ITSELF}`;

/** The open run of each stream, and whether its worker is dead. */
async function readOpenRuns(db: Queryable, accounts: string) {
  const rows = await db.execute<Key & { readonly run_id: string } & Record<string, unknown>>(sql`
    select account_id, stream, run_id from safety_sync.runs
    where status = 'running' and account_id = any (${accounts}::text[]) order by run_id`);
  const open = rows.map((row) => ({ ...row, run_id: Number(row.run_id) }));
  const dead = await findDeadRuns(db, open);
  return byKey(open.map((row) => ({ ...row, isDead: dead.has(row.run_id) })));
}

const countIssues = (db: Queryable, accounts: string) =>
  readByKey<{ readonly count: number }>(
    db,
    sql`select account_id, stream, count(*)::int as count from safety_sync.data_issues
      where resolved_at is null and account_id = any (${accounts}::text[]) group by account_id, stream`,
  );

/** The optional methods that a service is known to lack. */
export async function readNotOffered(db: Queryable, accounts: string) {
  return await db.execute<{ account_id: string; method: string }>(sql`
    select account_id, method from safety_sync.optional_methods
    where account_id = any (${accounts}::text[]) and code = any (${toArrayLiteral([...NOT_OFFERED])}::text[]) order by method`);
}

export async function readAccounts(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountIds: readonly string[],
  { clock = systemClock }: { readonly clock?: Pick<Clock, 'now' | 'monotonicMs'> } = {},
): Promise<AccountsRead> {
  const [row] = await db.execute<{ now: string }>(
    sql`select extract(epoch from clock_timestamp()) * 1000 as now`,
  );
  const readAtMs = clock.now();
  const readMonotonicMs = clock.monotonicMs();
  // With outdated views the worker stores all the same.
  const { pendingTables: pending } = await readMigrationStatus({ query });
  const database = {
    databaseNowMs: Number(row?.now),
    readAtMs,
    readMonotonicMs,
    pendingMigrations: pending,
  };
  if (pending > 0) return { ...database, accounts: new Map(), blocked: new Map() };
  const list = toArrayLiteral(accountIds);
  const heldUp = await readHeldUp(db, accountIds);
  const reconciles = await readNewest(db, list, IS_RECONCILED);
  // Open runs are read before ended ones, so that a run that ends in between is not missed.
  const open = await readOpenRuns(db, list);
  const ended = await readNewest(db, list, HAS_ENDED);
  const isAnyFromOutside = [...ended.values()].some((one) =>
    isEndedFromOutside({ errorCode: one.error_code }),
  );
  const decided = isAnyFromOutside ? await readNewest(db, list, sql`${HAS_ENDED} and ${BY_ITSELF}`) : ended;
  // After the runs, so that a first run that ends in between has its success.
  const states = await readStates(db, list);
  const issues = await countIssues(db, list);
  const lacking = await readNotOffered(db, list);
  const notOffered = new Set(lacking.map(({ account_id, method }) => `${method} ${account_id}`));
  const blocked = await readBlocked(db, accountIds);
  const factsOf = (account_id: string, stream: StreamName): StreamFacts => {
    const key = streamKey({ account_id, stream });
    const run = open.get(key);
    const last = ended.get(key);
    const reconcile = reconciles.get(key);
    const codeOf = (one: typeof reconcile) =>
      one?.status === 'failed' ? (one.error_code ?? 'internal_error') : undefined;
    const lastRun = last === undefined ? null : { status: last.status, errorCode: last.error_code };
    return {
      stream,
      ...timesOf(states.get(key)),
      // A later run would have closed the dead run, so the dead run is the last one.
      lastRun: run?.isDead === true ? { status: 'failed', errorCode: 'worker_died' } : lastRun,
      running: run?.isDead === false ? {} : null,
      openIssues: issues.get(key)?.count ?? 0,
      isOffered:
        streamNamed(stream).optionalMethods?.every((one) => notOffered.has(`${one} ${account_id}`)) !== true,
      failingWith: codeOf(decided.get(key)),
      failedReconcile: codeOf(reconcile),
      heldUpBy: heldUp.get(key),
    };
  };
  return {
    ...database,
    blocked,
    accounts: new Map(accountIds.map((id) => [id, STREAM_NAMES.map((stream) => factsOf(id, stream))])),
  };
}
