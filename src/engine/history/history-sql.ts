/**
 * The history's statements of the merge. Present rows contain the beginning of their state (`_valid_from`); a state moves to the
 * table of states when it is superseded, in the statement or transaction that supersedes it, so a first load writes none.
 * Deletion writes nothing here either: a deleted row shows its last state, which ends at `_deleted_at`. A row that changes
 * while the service sends it as deleted has a state of one tick at that time, so the one before stays as it was seen.
 *
 * A live row without a hash was changed in the warehouse (drift-sql.ts removed its hash): its content was never a state of
 * the source. The merge corrects it in place, and its state continues.
 *
 * Every state lasts at least a tick and begins no earlier than the end of the one before it, even if a clock is wrong.
 */
import { type SQL, sql } from 'drizzle-orm';
import {
  instantOf,
  isReturning,
  keyColumn,
  joinColumns,
  name,
  of,
  same,
  staged,
  type TransactionTime,
} from '../database/sql-names.ts';
import type { HistoryShape, TableShape } from '../database/table-shape.ts';
import type { RunKey } from '../control-tables/control-tables.ts';

/**
 * One tick later, the smallest step of a time. The conversion to UTC, where all days have the same length, makes the
 * expression IMMUTABLE, as Citus requires.
 */
const later = (column: SQL): SQL =>
  sql`(${column} at time zone 'UTC' + interval '1 microsecond') at time zone 'UTC'`;
const PRESENT_BEGAN = sql`t._valid_from`;

/**
 * The beginning of a new state, from the parent's row `parent`: the source's own time if there is one, but no later than the
 * transaction's time, because the clock of a device may be ahead.
 */
const stateBegin = ({ since }: HistoryShape, parent: string, now: SQL): SQL =>
  since === null ? now : sql`least(${name(parent)}.${name(since)}, ${now})`;
const NO_SQL = sql``;

const differ = (left: string, right: string, { compared }: HistoryShape): SQL =>
  sql`(${of(left, compared)}) is distinct from (${of(right, compared)})`;

/**
 * Clauses of the statement that writes new and changed parents; empty where the table has no history. `before` keeps the
 * superseded rows, from the same snapshot, which still contains the old values.
 */
export function parentHistory(parent: TableShape, scope: RunKey & TransactionTime) {
  const { history } = parent;
  const now = instantOf(scope);
  if (history === null) return { before: NO_SQL, column: NO_SQL, value: NO_SQL, change: NO_SQL };
  const since = stateBegin(history, 's', now);
  const changing = ['_hash', ...(parent.deletedColumn === null ? [] : ['_deleted_at'])];
  const isAgain = (row: string): SQL =>
    parent.deletedColumn === null ? NO_SQL : sql` or ${name(row)}._deleted_at > t._deleted_at`;
  const isNewState = (row: string): SQL => sql`(${differ('t', row, history)}${isAgain(row)})`;
  return {
    before: sql`superseded as (
      insert into ${history.states} (account_id, ${joinColumns(history.columns)}, valid_from, valid_to)
      select t.account_id, ${of('t', history.columns)}, t._valid_from,
        greatest(case when t._deleted_at is null then ${since} else t._deleted_at end, ${later(PRESENT_BEGAN)})
      from ${staged(parent, [...changing, ...history.columns])} s join ${parent.table} t
        on t.account_id = ${scope.accountId} and ${same('t', 's', parent.key)}
      where ${isReturning(parent, 's')} or (t._hash <> s._hash and ${isNewState('s')})),`,
    column: sql`_valid_from,`,
    value: sql`${since},`,
    // The source has no time for the return of a deleted record: the state begins when the return was seen, or with a later
    // change.
    change: sql`_valid_from = case
      when ${isReturning(parent, 'excluded')} then greatest(t._deleted_at, ${later(PRESENT_BEGAN)},
        case when excluded._valid_from > t._deleted_at then excluded._valid_from else ${now} end)
      when t._hash is not null and ${isNewState('excluded')} then greatest(excluded._valid_from, t._deleted_at, ${later(PRESENT_BEGAN)})
      else t._valid_from end,`,
  };
}

/**
 * Deletes the children with a state that ends: changed, deleted, or with a parent that returns from deletion, because they
 * ended with it. Runs before the parents are written. Children that still exist are inserted again, with a new beginning. No
 * new state begins before the parent's present one (`childHistory`), so the one before does not end earlier, even if a clock
 * is wrong.
 */
export function endChildStates(parent: TableShape, child: TableShape, scope: RunKey & TransactionTime): SQL {
  const { accountId } = scope;
  const { history } = child;
  if (history === null) throw new TypeError(`${child.name} has no history`);
  return sql`with ended as (
      delete from ${child.table} c using ${staged(parent, ['ord', '_hash', ...parent.key, ...(history.since === null ? [] : [history.since])])} p, ${parent.table} t
      where t.account_id = ${accountId} and t.${keyColumn(parent)} = p.${keyColumn(parent)}
        and (t._hash is distinct from p._hash or t._deleted_at is not null)
        and c.account_id = ${accountId} and c.${keyColumn(child)} = p.${keyColumn(parent)}
        and (t._deleted_at is not null or not exists (select from ${staged(child, ['ord', ...history.columns])} s
          where s.ord = p.ord and ${same('s', 'c', child.key)} and (t._hash is null or not (${differ('s', 'c', history)}))))
      returning c.account_id, ${of('c', history.columns)}, c._valid_from, ${history.since === null ? NO_SQL : sql`p.${name(history.since)},`}
        t._valid_from as parent_valid_from, t._deleted_at as parent_deleted_at,
        t._hash is null and t._deleted_at is null as is_no_state)
    insert into ${history.states} (account_id, ${joinColumns(history.columns)}, valid_from, valid_to)
    select account_id, ${joinColumns(history.columns)}, _valid_from, greatest(coalesce(parent_deleted_at,
      greatest(${stateBegin(history, 'ended', instantOf(scope))}, ${later(sql`parent_valid_from`)})), ${later(sql`_valid_from`)})
    from ended where not is_no_state`;
}

/**
 * Like `parentHistory`, for the staged child `s` of the written parent `p`: its state begins no earlier than the parent's, and
 * no earlier than the end of its own last one.
 */
export function childHistory(parent: TableShape, child: TableShape, scope: RunKey & TransactionTime) {
  const { history } = child;
  if (history === null) return { column: NO_SQL, value: NO_SQL, from: NO_SQL };
  return {
    column: sql`, _valid_from`,
    value: sql`, greatest(${stateBegin(history, 'p', instantOf(scope))}, p._valid_from, (select max(h.valid_to) from ${history.states} h
        where h.account_id = ${scope.accountId} and ${same('h', 's', child.key)}))`,
    from: sql`join ${parent.table} p on p.account_id = ${scope.accountId}
      and p.${keyColumn(parent)} = s.${keyColumn(child)}`,
  };
}
