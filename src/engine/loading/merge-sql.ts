/**
 * The merge of all streams, as SQL text over the staging tables. Every function returns one statement and executes nothing.
 * `ord` numbers the records of a run in reading order.
 */
import { type SQL, sql } from 'drizzle-orm';
import * as history from '../history/history-sql.ts';
import {
  asInserted,
  timestampLiteral,
  instantOf,
  isGone,
  keyColumn,
  joinColumns,
  name,
  of,
  partitionOf,
  same,
  stage,
  staged,
  taken,
  type TransactionTime,
} from '../database/sql-names.ts';
import type { StreamShape, TableShape } from '../database/table-shape.ts';
import { type RunKey, userLookups } from '../control-tables/control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Coverage } from '../streams/stream.ts';

/**
 * The newest of the copies that a run receives wins, by the source's own time if it has one, then by the order of reading:
 * those that are older than another staged one, or than the one that this run has stored, are dropped. Against rows of earlier
 * runs nothing is compared, because the source may have been restored. Returns the `ord` of the dropped ones.
 */
export function dropOlderCopies({ stream, parent }: StreamShape, { accountId, runId }: RunKey): SQL {
  const { changeTimeColumn } = stream;
  const changed = (alias: string) =>
    changeTimeColumn ? sql`coalesce(${name(alias)}.${name(changeTimeColumn)}, '-infinity')` : sql`0`;
  const olderThanStored =
    changeTimeColumn === undefined
      ? sql``
      : sql`union all select s.ord from ${staged(parent, ['ord', ...parent.key, changeTimeColumn])} s join ${parent.table} t
          on t.account_id = ${accountId} and ${same('t', 's', parent.key)}
        where t._run_id = ${runId}::bigint and t.${name(changeTimeColumn)} > ${changed('s')}`;
  return sql`delete from ${stage(parent)} where ord in (
    select a.ord from ${stage(parent)} a join ${stage(parent)} b on ${same('a', 'b', parent.key)}
      and (${changed('b')}, b.ord) > (${changed('a')}, a.ord) ${olderThanStored}) returning ord::float8`;
}

/**
 * Copies in other bytes get the checksum of their row if the content is the same: the order of fields, white space and the
 * notation of numbers make no difference, because jsonb keeps none of them. Rows of another version of the program, and
 * rows with a value from the request, are left out.
 */
export function takeStoredHashes({ stream, parent, children }: StreamShape, accountId: string): SQL {
  const { partitionedBy } = stream;
  const requested = children.find(({ table }) => table === partitionedBy?.requested);
  const columns = ['ord', '_hash', '_raw', ...parent.key, ...(partitionedBy ? [partitionedBy.column] : [])];
  const isOfRequest =
    partitionedBy === undefined || requested === undefined
      ? sql``
      : sql`and ${same('t', 's', [partitionedBy.column])} and s.ord not in (select ord from ${stage(requested)})
          and not exists (select from ${requested.table} r where r.account_id = ${accountId} and r.${keyColumn(requested)} = s.${keyColumn(parent)})`;
  return sql`update ${stage(parent)} p set _hash = k.hash from (
      select s.ord, t._hash as hash from ${staged(parent, columns)} s
      join ${parent.table} t on t.account_id = ${accountId} and ${same('t', 's', parent.key)}
      where t._hash <> s._hash and left(t._hash::text, 2) = left(s._hash::text, 2) and t._raw = s._raw ${isOfRequest} offset 0
    ) k where k.ord = p.ord`;
}

/** Drops copies that equal their row, because even an attempt to write a row would lock it. */
export function dropUnchanged(parent: TableShape, accountId: string): SQL {
  return sql`delete from ${stage(parent)} where ord in (
    select p.ord from ${staged(parent, ['ord', '_hash', ...parent.key])} p join ${parent.table} t
      on t.account_id = ${accountId} and ${same('t', 'p', parent.key)}
    where t._hash = p._hash and not ${isGone(parent)})`;
}

/** Deletes rows of children after the copy of their parent was dropped. */
export function dropOrphans(parent: TableShape, child: TableShape): SQL {
  return sql`delete from ${stage(child)} c where not exists (select from ${stage(parent)} p where p.ord = c.ord)`;
}

/** Writes new and changed parents, and the states that they supersede. Returns `inserted` and `updated`. */
export function upsertParents(parent: TableShape, scope: RunKey & TransactionTime): SQL {
  const { accountId, runId } = scope;
  const columns = parent.columns.map((column) => column.name);
  const changes = columns.filter((column) => !parent.key.includes(column));
  const kept = history.parentHistory(parent, scope);
  return sql`with ${kept.before} merged as (
    insert into ${parent.table} as t (account_id, ${joinColumns(columns)}, ${kept.column} _synced_at, _run_id)
    select ${accountId}::text, ${of('s', columns)}, ${kept.value} ${instantOf(scope)}, ${runId}::bigint from ${stage(parent)} s
    on conflict (account_id, ${joinColumns(parent.key)}) do update set
      ${asInserted(changes)}, ${kept.change} _synced_at = excluded._synced_at, _run_id = excluded._run_id
        ${parent.deletedColumn === null ? sql`, _deleted_at = null` : sql``}
    where t._hash is distinct from excluded._hash or ${isGone(parent)}
    returning (xmax = 0) as is_insert)
  select (select count(*) from ${stage(parent)})::int as staged, count(*) filter (where is_insert)::int as inserted, count(*) filter (where not is_insert)::int as updated
  from merged`;
}

/** Counts records that turn deleted, because the service sends them so: their rows were live before this transaction. */
export const countTurning = (parent: TableShape, within: RunKey & TransactionTime): SQL =>
  sql`select count(*)::int as count from ${staged(parent, ['_deleted_at', ...parent.key])} s join ${parent.table} t
      on t.account_id = ${within.accountId} and ${same('t', 's', parent.key)}
    where t._deleted_at is null and s._deleted_at is not null and t._synced_at is distinct from ${instantOf(within)}`;

/** `uncertain`: rows without a hash are corrected by the next complete read: of other settings, or changed in the warehouse. */
export const countRows = (parent: TableShape, accountId: string): SQL =>
  sql`select count(*)::int as rows, count(*) filter (where _deleted_at is null)::int as live,
      count(*) filter (where _hash is null)::int as uncertain
    from ${parent.table} where account_id = ${accountId}`;

/** Deletes children that a changed record no longer has. The parent's key is the beginning of the child's. */
export function deleteStaleChildren(parent: TableShape, child: TableShape, { accountId }: RunKey): SQL {
  const staying = staged(child, ['ord', ...child.key]);
  return sql`delete from ${child.table} c using ${staged(parent, ['ord', parent.key[0]])} p
    where c.account_id = ${accountId} and c.${keyColumn(child)} = p.${keyColumn(parent)}
      and not exists (select from ${staying} s where s.ord = p.ord and ${same('s', 'c', child.key)})`;
}

/** Writes new and changed children; equal ones are not written. */
export function upsertChildren(parent: TableShape, child: TableShape, scope: RunKey & TransactionTime): SQL {
  const { accountId } = scope;
  const columns = child.columns.map((column) => column.name);
  const changes = columns.filter((column) => !child.key.includes(column));
  const kept = history.childHistory(parent, child, scope);
  return sql`insert into ${child.table} as t (account_id, ${joinColumns(columns)} ${kept.column})
    select ${accountId}::text, ${of('s', columns)} ${kept.value} from ${staged(child, columns)} s ${kept.from}
    on conflict (account_id, ${joinColumns(child.key)}) do update set
      ${asInserted(changes)}
    where (${of('t', changes)}) is distinct from (${of('excluded', changes)})`;
}

/** The live rows `t` in the coverage, and `partition`: the covered partition of each row. */
function coveredRows(shape: StreamShape, { partitions, only, late, isOfLists }: Coverage, accountId: string) {
  const { changeTimeColumn } = shape.stream;
  const isCovered =
    only === undefined
      ? sql``
      : sql` and t.${name(only.column)} = any (${toArrayLiteral(only.values)}::text[])`;
  const isSettled =
    late === undefined || changeTimeColumn === undefined
      ? sql``
      : sql` and (t.${name(changeTimeColumn)} > ${timestampLiteral(late.fromMs)} and t.${name(changeTimeColumn)} <= ${timestampLiteral(late.toMs)}) is not true`;
  const isListed =
    isOfLists === undefined
      ? sql``
      : sql` and not exists (select from ${userLookups} l where l.account_id = ${accountId} and l.user_id = t.id and l.named_at is not null)`;
  const live = sql`t.account_id = ${accountId} and t._deleted_at is null${isCovered}${isSettled}${isListed}`;
  if (partitions === null) return { partition: sql`''`, from: sql`${shape.parent.table} t`, where: live };
  const { partition, join } = partitionOf(shape.stream);
  return {
    partition,
    from: sql`${shape.parent.table} t ${join}`,
    where: sql`${live} and ${partition} = any (${toArrayLiteral(partitions)}::text[])`,
  };
}

/**
 * For each covered partition: the number of rows that were live before this transaction, and the number of them that the snapshot
 * did not show.
 */
export function countVanished(shape: StreamShape, covered: Coverage, within: RunKey & TransactionTime): SQL {
  const { partition, from, where } = coveredRows(shape, covered, within.accountId);
  // A join, because a subselect inside an aggregate would run row by row.
  return sql`select ${partition} as partition, count(*)::int as live, count(*) filter (where s.key is null)::int as vanished
    from ${from} left join (select distinct key from pg_temp.stage_seen) s
      on s.key = t.${keyColumn(shape.parent)}
    where ${where} and t._synced_at is distinct from ${instantOf(within)} group by 1 order by 1`;
}

/**
 * The keys of the covered live rows that the snapshot did not show. A set operation, because no plan turns it into a loop: in
 * a table without statistics PostgreSQL expects a single row, and would search the snapshot again for each row.
 */
export function selectVanished(shape: StreamShape, covered: Coverage, accountId: string): SQL {
  const { from, where } = coveredRows(shape, covered, accountId);
  return sql`select t.${keyColumn(shape.parent)} as key from ${from} where ${where}
    except select s.key from ${taken('stage_seen', ['key'])} s`;
}

/** Marks rows that a complete snapshot did not show as deleted. Returns the keys. */
export function markVanished(shape: StreamShape, covered: Coverage, within: RunKey & TransactionTime): SQL {
  const { accountId, runId } = within;
  const { parent } = shape;
  const key = keyColumn(parent);
  // Materialized, because a plain subselect would be evaluated again for each row of the account.
  return sql`with vanished as materialized (${selectVanished(shape, covered, accountId)})
    update ${parent.table} g
    set _deleted_at = ${instantOf(within)}, _synced_at = ${instantOf(within)}, _run_id = ${runId}::bigint
    from vanished v where g.account_id = ${accountId} and g.${key} = v.key returning g.${key} as key`;
}

/** Rows that were sent as deleted, and that a complete read did not show: the service does not send them any more. */
export function endSentAsDeleted(
  parent: TableShape,
  deletedColumn: string,
  within: RunKey & TransactionTime,
): SQL {
  const key = keyColumn(parent);
  const flag = name(deletedColumn);
  return sql`with gone as materialized (
      select t.${key} as key from ${parent.table} t where t.account_id = ${within.accountId} and t.${flag}
      except select s.key from ${taken('stage_seen', ['key'])} s)
    update ${parent.table} g set ${flag} = false, _synced_at = ${instantOf(within)}, _run_id = ${within.runId}::bigint
    from gone where g.account_id = ${within.accountId} and g.${key} = gone.key`;
}
