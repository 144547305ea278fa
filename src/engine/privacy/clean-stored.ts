/**
 * Applies the privacy settings to the stored data of a stream: records that the protection changes are loaded again. Their rows
 * keep their states, their run and their deletion mark. Data without a record is cleaned by itself: data issues, superseded
 * states, days, the ids to look up. Each transaction changes a bounded number of rows; an interrupted cleaning is repeated from
 * the beginning, because what is clean is not written again.
 * It runs under the stream's lock, so no other process stores rows meanwhile.
 */
import { getTableConfig } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import { SafetySyncError } from '../../shared/errors.ts';
import { Received } from '../../shared/received.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import { contextOf, keyColumn, joinColumns, name, of, instantOf } from '../database/sql-names.ts';
import { type StreamShape, tableShape } from '../database/table-shape.ts';
import { equipmentCompletions } from '../history/completions.ts';
import { renameCounted } from '../history/days.ts';
import { givenRows } from '../loading/drift-sql.ts';
import { createLoad } from '../loading/load.ts';
import { equipmentSchedules } from '../streams/equipments.ts';
import { followups } from '../streams/followups.ts';
import type { ReadContext, Row } from '../streams/stream.ts';
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

/** Returns the number of changed rows. */
export async function cleanStored(request: CleanRequest): Promise<number> {
  const { session, shape, accountId, protection, signal } = request;
  const { db } = session.connection;
  const { stream, parent } = shape;
  let rowsChanged = 0;
  const load = await createLoad({
    ...{ session, shape, accountId, protection, runId: 0, fullCompare: false, tracksSeen: false },
    maxDeleteRatio: Infinity,
  });
  const commit = (clean: () => Promise<number>) =>
    load.commit({
      covered: null,
      async beforeCommit({ rejected }) {
        if (rejected > 0) throw new TypeError('a stored record was rejected: its row would stay as it is');
        rowsChanged += await clean();
      },
    });
  try {
    for (let after: string | undefined = ''; after !== undefined;) {
      if (signal.aborted) throw new SafetySyncError('interrupted', 'stopped while cleaning');
      const page: readonly StoredRecord[] = await readPage(db, request, after);
      after = page.at(-1)?.key;
      const keys = page.map(({ key }) => key);
      const time = await session.begin();
      await moveRows(db, request, keys);
      const changed = page.filter(({ raw }) => protection.ofRecord(raw) !== raw);
      const ofChanged = sql`t.account_id = ${accountId} and t.${keyColumn(parent)}`;
      const newKeys = toArrayLiteral(changed.map(({ key }) => protection.ofKey(key)));
      // The merge corrects a live row without a hash in place.
      await db.execute(sql`update ${parent.table} t
        set _hash = null, _deleted_at = null, _synced_at = ${instantOf(time)} where ${ofChanged} = any (${newKeys}::text[])`);
      for (const { raw, context } of changed) await load.add([Received.of(raw)], context);
      await commit(async () => {
        const deletedAt = toArrayLiteral(changed.map((one) => one.deletedAt));
        const runIds = toArrayLiteral(changed.map((one) => one.runId));
        await db.execute(sql`update ${parent.table} t set _deleted_at = r.deleted_at, _run_id = r.run_id
          from unnest(${newKeys}::text[], ${deletedAt}::timestamptz[], ${runIds}::bigint[]) as r (key, deleted_at, run_id)
          where ${ofChanged} = r.key`);
        return changed.length + (await cleanStates(db, request, keys));
      });
    }
    await commit(() => cleanDerived(db, request));
  } catch (error) {
    await load.abort();
    throw error;
  }
  // The planner's statistics contain values of columns, too.
  const tables = [parent, ...shape.children].map(({ table }) => sql`${table}`);
  const states = stream.histories.map((history) => sql`${history.states}`);
  await db.execute(sql`analyze ${sql.join([...tables, ...states, sql`safety.day_counts`], sql`, `)}`);
  return rowsChanged;
}

interface StoredRecord extends Record<string, unknown> {
  readonly key: string;
  readonly raw: unknown;
  readonly context: ReadContext;
  readonly deletedAt: string | null;
  readonly runId: string;
}

async function readPage(
  db: Queryable,
  { shape: { stream, parent }, accountId }: CleaningScope,
  after: string,
): Promise<readonly StoredRecord[]> {
  const { context, join } = contextOf(stream);
  const key = keyColumn(parent);
  return await db.execute<StoredRecord>(sql`
    select t.${key} as key, t._raw as raw, ${context} as context, t._deleted_at::text as "deletedAt", t._run_id::text as "runId"
    from ${parent.table} t ${join}
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
    await db.execute(sql`insert into ${table.table} (account_id, ${name(key)}, ${joinColumns(others)})
      select t.account_id, r.key, ${of('t', others)} from ${table.table} t join ${pairs} on t.${name(key)} = r.before
      where t.account_id = ${accountId} on conflict do nothing`);
  }
  await db.execute(sql`delete from ${shape.parent.table}
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
    const ofRecords = sql`${states.table} t where t.account_id = ${accountId} and t.${name(key)} = any (${toArrayLiteral(keys)}::text[])`;
    const rows = await db.execute<{ row: Row }>(sql`select to_jsonb(t) as row from ${ofRecords}`);
    const before = rows.map(({ row }) => row);
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
    await db.execute(sql`insert into ${states.table} (account_id, ${joinColumns(names)})
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
