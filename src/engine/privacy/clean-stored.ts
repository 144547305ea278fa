/**
 * Applies the privacy settings to the stored data of a stream: its records pass through the protection again, and are written
 * in place: a row keeps its states, its run and its deletion mark. Data without a record is cleaned by itself: data issues,
 * superseded states, days, the ids to look up. Each transaction changes a bounded number of rows; an interrupted cleaning is repeated from the beginning, because
 * what is clean is not written again.
 * It runs under the stream's lock, so no other process stores rows meanwhile.
 */
import { getTableConfig } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import { SafetySyncError } from '../../shared/errors.ts';
import { Received } from '../../shared/received.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import {
  asInserted,
  keyColumn,
  joinColumns,
  name,
  of,
  partitionOf,
  same,
  syncedAtOf,
  target,
  type WriteTime,
} from '../database/sql-names.ts';
import { type StreamShape, type TableShape, tableShape } from '../database/table-shape.ts';
import { equipmentCompletions } from '../history/completions.ts';
import { renameCounted } from '../history/days.ts';
import { givenRows } from '../loading/drift-sql.ts';
import { normalize, parseRecord, type PreparedRecord, toReadRecord } from '../loading/record.ts';
import { equipmentSchedules } from '../streams/equipments.ts';
import { followups } from '../streams/followups.ts';
import type { Row } from '../streams/stream.ts';
import type { Protection } from './protect.ts';

interface CleaningScope {
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
}

interface CleanRequest extends CleaningScope {
  readonly session: StreamSession;
  readonly signal: AbortSignal;
}

const PAGE_RECORDS = 500;

/** Returns the numbers of rows. */
export async function cleanStored(request: CleanRequest) {
  const { session, shape, signal } = request;
  const { db } = session.connection;
  const counts = { rowsSeen: 0, rowsChanged: 0 };
  async function inTransaction(seen: number, work: (time: WriteTime) => Promise<number>): Promise<void> {
    if (signal.aborted) throw new SafetySyncError('interrupted', 'stopped while cleaning');
    counts.rowsChanged += await work(await session.begin());
    counts.rowsSeen += seen;
    await session.commit({ isDurable: false });
  }
  let after = '';
  for (;;) {
    const page = await readPage(db, request, after);
    const keys = page.map(({ key }) => key);
    const last = keys.at(-1);
    if (last === undefined) break;
    await inTransaction(page.length, async (time) => {
      await moveRows(db, request, keys);
      return (await writeInPlace(db, request, { page, time })) + (await cleanStates(db, request, keys));
    });
    after = last;
  }
  await inTransaction(0, () => cleanDerived(db, request));
  // The planner's statistics contain values of columns, too.
  const tables = [shape.parent, ...shape.children].map(target);
  const states = shape.stream.histories.map((history) => sql`${history.states}`);
  await db.execute(sql`analyze ${sql.join([...tables, ...states, sql`safety.day_counts`], sql`, `)}`);
  return counts;
}

/** Writes the rows of the records that the protection changes. Returns the number of records. */
async function writeInPlace(
  db: Queryable,
  { shape, accountId, protection }: CleaningScope,
  { page, time }: { readonly page: readonly StoredRecord[]; readonly time: WriteTime },
): Promise<number> {
  const { stream, parent, children } = shape;
  const prepared = page.flatMap(({ raw, requested }): PreparedRecord[] => {
    const stored = raw === null ? null : (JSON.parse(raw) as unknown);
    const kept = protection.ofRecord(stored);
    if (kept === stored) return [];
    const about = requested === null ? {} : { equipmentTypeId: requested };
    const read = toReadRecord(Received.of(kept), { stream, about, secret: protection.secret });
    const parsed = parseRecord(stream, read);
    if (parsed.problem !== null)
      throw new TypeError('a stored record was rejected: its row would stay as it is');
    return [normalize(stream, read, parsed)];
  });
  if (prepared.length === 0) return 0;
  // The other columns describe the response, or are set by the merge.
  const columns = parent.columns.filter(
    ({ name: one }) => one !== '_deleted_at' && (one.startsWith('_') || one in stream.fields),
  );
  const set = columns.map((column) => sql`${name(column.name)} = r.${name(column.name)}`);
  await db.execute(sql`update ${target(parent)} t set ${sql.join(set, sql`, `)}, _synced_at = ${syncedAtOf(time)}
    from ${givenRows(
      columns,
      prepared.map((one) => one.parent),
    )} r
    where t.account_id = ${accountId} and t.${keyColumn(parent)} = r.${keyColumn(parent)}`);
  const keys = toArrayLiteral(prepared.map((one) => String(one.parent[parent.key[0]])));
  for (const [at, child] of children.entries())
    await writeChildren(db, child, {
      accountId,
      keys,
      rows: prepared.flatMap((one) => one.rows[at + 1] ?? []),
    });
  return prepared.length;
}

async function writeChildren(
  db: Queryable,
  child: TableShape,
  {
    accountId,
    keys,
    rows,
  }: { readonly accountId: string; readonly keys: string; readonly rows: readonly Row[] },
): Promise<void> {
  const given = givenRows(child.columns, rows);
  const names = child.columns.map((column) => column.name);
  await db.execute(sql`delete from ${target(child)} t where t.account_id = ${accountId} and t.${keyColumn(child)} = any (${keys}::text[])
    and not exists (select from ${given} r where ${same('r', 't', child.key)})`);
  await db.execute(sql`insert into ${target(child)} (account_id, ${joinColumns(names)}) select distinct on (${of('r', child.key)}) ${accountId}::text, ${of('r', names)} from ${given} r
    on conflict (account_id, ${joinColumns(child.key)}) do update set ${asInserted(names)}`);
}

interface StoredRecord extends Record<string, unknown> {
  readonly key: string;
  readonly raw: string | null;
  readonly requested: string | null;
}

async function readPage(
  db: Queryable,
  { shape: { stream, parent }, accountId }: CleaningScope,
  after: string,
): Promise<readonly StoredRecord[]> {
  const { partition, join } = partitionOf(stream);
  const key = keyColumn(parent);
  return await db.execute<StoredRecord>(sql`
    select t.${key} as key, t._raw::text as raw, ${partition} as requested from ${target(parent)} t ${join}
    where t.account_id = ${accountId} and t.${key} > ${after} order by t.${key} limit ${PAGE_RECORDS}`);
}

/** Moves rows to another key by copying them, because foreign keys prevent a parent from changing its own key. */
async function moveRows(
  db: Queryable,
  { shape, accountId, protection }: CleaningScope,
  keys: readonly string[],
): Promise<void> {
  const moved = keys.filter((key) => protection.ofKey(key) !== key);
  if (moved.length === 0) return;
  const pairs = sql`unnest(${toArrayLiteral(moved)}::text[], ${toArrayLiteral(moved.map((key) => protection.ofKey(key)))}::text[])
    as r (before, key)`;
  for (const table of [shape.parent, ...shape.children]) {
    const [key] = table.key;
    const columns = getTableConfig(table.table).columns.map((column) => column.name);
    const others = columns.filter((column) => column !== 'account_id' && column !== key);
    await db.execute(sql`insert into ${target(table)} (account_id, ${name(key)}, ${joinColumns(others)})
      select t.account_id, r.key, ${of('t', others)} from ${target(table)} t join ${pairs} on t.${name(key)} = r.before
      where t.account_id = ${accountId} on conflict do nothing`);
  }
  await db.execute(sql`delete from ${target(shape.parent)}
    where account_id = ${accountId} and ${keyColumn(shape.parent)} = any (${toArrayLiteral(moved)}::text[])`);
}

/** Superseded states of these records. They have no record, so their columns are processed one by one. */
async function cleanStates(
  db: Queryable,
  { shape, accountId, protection }: CleaningScope,
  keys: readonly string[],
): Promise<number> {
  let changed = 0;
  for (const { of: owner, states: table } of shape.stream.histories) {
    const states = tableShape(table);
    const [key] = states.key;
    const ofRecords = sql`${target(states)} t where t.account_id = ${accountId} and t.${name(key)} = any (${toArrayLiteral(keys)}::text[])`;
    const rows = await db.execute<{ row: string }>(sql`select to_jsonb(t)::text as row from ${ofRecords}`);
    const before = rows.map(({ row }) => JSON.parse(row) as Row);
    const cleaned = before.map((row) => {
      const id = String(row[key]);
      const kept = protection.ofRow(owner, row);
      return protection.ofKey(id) === id ? kept : { ...kept, [key]: protection.ofKey(id) };
    });
    const differing = cleaned.filter((row, at) => row !== before[at]).length;
    changed += differing;
    if (differing === 0) continue;
    await db.execute(sql`delete from ${ofRecords}`);
    const names = states.columns.map((column) => column.name);
    await db.execute(sql`insert into ${target(states)} (account_id, ${joinColumns(names)})
      select ${accountId}::text, ${of('r', names)} from ${givenRows(states.columns, cleaned)} as r on conflict do nothing`);
  }
  return changed;
}

/**
 * Data without a record: completions, days, ids to look up, data issues. The next complete read reports what may be shown of the
 * issues. Returns the number of changed ids.
 */
async function cleanDerived(db: Queryable, { shape, accountId, protection }: CleaningScope): Promise<number> {
  const { stream, parent } = shape;
  const ofAccount = sql`account_id = ${accountId}`;
  await db.execute(sql`delete from safety_sync.data_issues where ${ofAccount} and stream = ${stream.name}`);
  // Alerts on new fields have their names.
  await db.execute(sql`delete from safety_sync.outbox
    where ${ofAccount} and event = 'new_field' and starts_with(subject, ${`${stream.name} `})`);
  const times = protection.ofRow(equipmentSchedules, { last_completed_at: '1', expires_at: '1' });
  if (Object.values(times).includes(null))
    await db.execute(sql`delete from ${equipmentCompletions} where ${ofAccount}`);
  let changed = 0;
  if (parent.table === followups) {
    changed += await renameCounted(db, accountId, (countedBy, id) => {
      const column = `${countedBy}_id`;
      return protection.ofRow(parent.table, { [column]: id })[column] as string | null;
    });
  }
  if (stream.personal === undefined) return changed;
  const lookups = await db.execute<{ id: string }>(
    sql`select user_id as id from safety_sync.user_lookups where ${ofAccount}`,
  );
  const gone = lookups.flatMap(({ id }) => (protection.ofUserId(id) === id ? [] : [id]));
  await db.execute(sql`delete from safety_sync.user_lookups
    where ${ofAccount} and user_id = any (${toArrayLiteral(gone)}::text[])`);
  return changed + gone.length;
}
