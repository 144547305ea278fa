/** Reads the facts about the streams of accounts: the view `safety_sync.status`, and what only locks show. */
import { sql } from 'drizzle-orm';
import { type Clock, systemClock, toMs } from '../../shared/time.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Connection } from '../../engine/database/connection.ts';
import type { RunStatus } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { readHeldUp } from '../../engine/control-tables/lock-holders.ts';
import { findDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';

/** The times of a stream, and the columns that have them. */
const TIMES = {
  lastSuccessMs: 'last_success_at',
  watermarkMs: 'watermark',
  calculatedMs: 'calculated_at',
  /** End of the service's cache of the training list: until then it responds with the same data. */
  currentUntilMs: 'current_until',
  /** When everything that was older than its retention had been removed. */
  retainedMs: 'retained_at',
  /** When the run began that `failingWith` is about. */
  failingSinceMs: 'failing_since',
} as const;

/** ms since 1970 by the database's clock; null: never, or unknown. */
type StreamTimes = Readonly<Record<keyof typeof TIMES, number | null>>;

export interface StreamFacts extends StreamTimes {
  readonly stream: StreamName;
  readonly isRunning: boolean;
  readonly lastRun: {
    readonly status: Exclude<RunStatus, 'running'>;
    readonly errorCode: string | null;
  } | null;
  /** Error code of the newest run that was not ended from outside, if it failed, and what it said. */
  readonly failingWith: string | undefined;
  readonly failedMessage: string | null;
  /** Error code of the newest reconcile, if it failed: no later sync does its work. */
  readonly failedReconcile: string | null;
  /** Changes that the newest reconcile stored and earlier syncs had missed. */
  readonly repaired: number;
  readonly openIssues: number;
  /** Fields that the service sends and this version does not know. */
  readonly newFields: readonly string[];
  /** The service has at least one of the stream's optional methods, or was not asked for them. */
  readonly isOffered: boolean;
  /** The session that holds the stream's lock without a run, in words: no sync can start until it ends. */
  readonly heldUpBy: string | null;
}

export interface AccountsRead {
  /** Start of the read by the database's clock, ms; all values were read then or later. */
  readonly databaseNowMs: number;
  /** Start of the read by this process's clock. */
  readonly readAtMs: number;
  /** Migrations of tables: before them nothing can be stored or read. */
  readonly pendingMigrations: number;
  /** Tables are as they should be, and views are not yet. */
  readonly arePendingViews: boolean;
  /** All streams of an account, in the order of the registry. Empty while migrations are pending. */
  readonly accounts: ReadonlyMap<string, readonly StreamFacts[]>;
  /** Accounts whose requests wait for the limit of their service, and until when by the database's clock. */
  readonly blocked: ReadonlyMap<string, number>;
  /** The optional methods that an account's service lacks. */
  readonly notOffered: ReadonlyMap<string, readonly string[]>;
}

/** Add to a time of this process's clock to get the database's time; 0 while the offset is unknown. */
export const databaseOffsetMs = (read: Pick<AccountsRead, 'databaseNowMs' | 'readAtMs'> | null): number =>
  read === null ? 0 : read.databaseNowMs - read.readAtMs;

export const streamKey = (one: { readonly account_id: string; readonly stream: StreamName }): string =>
  `${one.stream} ${one.account_id}`;

/** A row of `safety_sync.status`. */
interface StatusRow
  extends Record<string, unknown>, Readonly<Record<(typeof TIMES)[keyof typeof TIMES], string | null>> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly open_run_id: string | null;
  readonly last_status: Exclude<RunStatus, 'running'> | null;
  readonly last_code: string | null;
  readonly failing_with: string | null;
  readonly failed_message: string | null;
  readonly failed_reconcile: string | null;
  readonly repaired: string | null;
  readonly open_issues: number;
  readonly new_fields: string;
  readonly not_offered: string;
  readonly blocked_until: string | null;
}

const toTexts = (json: string | undefined): readonly string[] => JSON.parse(json ?? '[]') as string[];

const timesOf = (row: StatusRow | undefined): StreamTimes =>
  Object.fromEntries(
    Object.entries(TIMES).map(([name, column]) => [name, toMs(row?.[column] ?? null)]),
  ) as StreamTimes;

interface Locks {
  /** Runs that are recorded as running although their worker died. */
  readonly dead: ReadonlySet<number>;
  readonly heldUp: ReadonlyMap<string, string>;
}

function toFacts(
  { name: stream, optionalMethods }: (typeof STREAMS)[number],
  row: StatusRow | undefined,
  { dead, heldUp }: Locks,
  key: string,
): StreamFacts {
  const isDead = row?.open_run_id != null && dead.has(Number(row.open_run_id));
  const lacking = toTexts(row?.not_offered);
  const ended = row?.last_status == null ? null : { status: row.last_status, errorCode: row.last_code };
  return {
    stream,
    ...timesOf(row),
    isRunning: row?.open_run_id != null && !isDead,
    // A later run would have closed the dead run, so the dead run is the last one.
    lastRun: isDead ? { status: 'failed', errorCode: 'worker_died' } : ended,
    failingWith: row?.failing_with ?? undefined,
    failedMessage: row?.failed_message ?? null,
    failedReconcile: row?.failed_reconcile ?? null,
    repaired: Number(row?.repaired ?? 0),
    openIssues: row?.open_issues ?? 0,
    newFields: toTexts(row?.new_fields),
    isOffered: optionalMethods?.every((one) => lacking.includes(one)) !== true,
    heldUpBy: heldUp.get(key) ?? null,
  };
}

const NO_LOCKS: Locks = { dead: new Set(), heldUp: new Map() };

/** The state of an account without any data. */
export const UNKNOWN_STREAMS: readonly StreamFacts[] = STREAMS.map((stream) =>
  toFacts(stream, undefined, NO_LOCKS, ''),
);

export async function readAccounts(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountIds: readonly string[],
  { clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {},
): Promise<AccountsRead> {
  const [time = { now: '' }] = await db.execute<{ now: string }>(
    sql`select extract(epoch from clock_timestamp()) * 1000 as now`,
  );
  const read = { databaseNowMs: Number(time.now), readAtMs: clock.now() };
  const { pending, pendingTables, changed } = await readMigrationStatus({ query });
  // Our own view is made at once; until then nothing can be read by it.
  const isOwnPending = changed.some(({ name }) => name === 'safety_sync.status');
  const pendingMigrations = pendingTables > 0 ? pendingTables : isOwnPending ? 1 : 0;
  const migrations = { pendingMigrations, arePendingViews: pending > 0 && pendingMigrations === 0 };
  if (pendingMigrations > 0)
    return { ...read, ...migrations, accounts: new Map(), blocked: new Map(), notOffered: new Map() };
  const heldUp = await readHeldUp(db, accountIds);
  const rows = await db.execute<StatusRow>(sql`
    select s.*, to_json(s.new_fields)::text as new_fields, to_json(s.not_offered)::text as not_offered
    from safety_sync.status s where s.account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  const open = rows.flatMap(({ account_id, stream, open_run_id: id }) =>
    id === null ? [] : [{ account_id, stream, run_id: Number(id) }],
  );
  const locks = { dead: await findDeadRuns(db, open), heldUp };
  const byKey = new Map(rows.map((row) => [streamKey(row), row]));
  const byAccount = new Map(rows.map((row) => [row.account_id, row]));
  const factsOf = (account_id: string): StreamFacts[] =>
    STREAMS.map((stream) => {
      const key = streamKey({ account_id, stream: stream.name });
      return toFacts(stream, byKey.get(key), locks, key);
    });
  return {
    ...read,
    ...migrations,
    accounts: new Map(accountIds.map((id) => [id, factsOf(id)])),
    blocked: new Map(
      [...byAccount].flatMap(([id, { blocked_until: until }]) =>
        until === null ? [] : [[id, toMs(until)] as const],
      ),
    ),
    notOffered: new Map([...byAccount].map(([id, row]) => [id, toTexts(row.not_offered)])),
  };
}
