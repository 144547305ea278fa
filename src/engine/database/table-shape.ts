import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { typeName } from '../streams/columns.ts';
import type { StateHistory, StreamDefinition } from '../streams/stream.ts';

export interface ColumnShape {
  readonly name: string;
  /** As PostgreSQL spells it: `text`, `bigint[]`, `timestamp with time zone`. */
  readonly type: string;
}

/** The table of superseded states, and the columns that make a state. */
export interface HistoryShape {
  /** Table of the same schema. */
  readonly states: string;
  /** Columns that the table and its states have in common, key included, without `account_id`. */
  readonly columns: readonly string[];
  /** The columns that make a state when they change. */
  readonly compared: readonly string[];
  /** The parent's column with the source's time of a new state; null: the time when the state was seen. */
  readonly since: string | null;
}

/**
 * The properties of a table that the merge needs, derived from its drizzle declaration: there is no second
 * list.
 */
export interface TableShape {
  readonly table: PgTable;
  readonly schema: string;
  readonly name: string;
  /** Primary key without `account_id`; it begins with the key of the record. */
  readonly key: readonly [string, ...string[]];
  /** Columns that come from a record, in order; of an entity table also `_hash` and `_raw`, and `_deleted_at` with `deletedColumn`. */
  readonly columns: readonly ColumnShape[];
  /** The temporary table that takes rows before the merge. */
  readonly stage: string;
  /** null: only the present state is kept. */
  readonly history: HistoryShape | null;
  /** See `StreamDefinition`; null: only a read that lacks the record marks its row as deleted. */
  readonly deletedColumn: string | null;
}

const WRITTEN_BY_THE_MERGE = new Set(['account_id', '_valid_from', '_synced_at', '_deleted_at', '_run_id']);

function historyShape(declared: StateHistory, key: readonly string[]): HistoryShape {
  const columns = getTableConfig(declared.states)
    .columns.map((column) => column.name)
    .filter((name) => !['account_id', 'valid_from', 'valid_to'].includes(name));
  return {
    states: getTableConfig(declared.states).name,
    columns,
    compared: columns.filter((name) => !key.includes(name) && name !== declared.since),
    since: declared.since,
  };
}

interface TableUse {
  readonly histories?: readonly StateHistory[];
  readonly deletedColumn?: string | null;
}

export function tableShape(
  table: PgTable,
  { histories = [], deletedColumn = null }: TableUse = {},
): TableShape {
  const config = getTableConfig(table);
  const [account, ...key] = config.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
  const [recordKey, ...others] = key;
  if (account !== 'account_id' || recordKey === undefined) {
    throw new TypeError(`${config.name}: the primary key must be account_id and others`);
  }
  const sent = deletedColumn === null ? null : '_deleted_at';
  const history = histories.find(({ of }) => of === table);
  return {
    table,
    schema: config.schema ?? 'public',
    name: config.name,
    key: [recordKey, ...others],
    columns: config.columns
      .filter(({ name }) => name === sent || !WRITTEN_BY_THE_MERGE.has(name))
      .map((column) => ({ name: column.name, type: typeName(column) })),
    stage: `stage_${config.name}`,
    history: history === undefined ? null : historyShape(history, key),
    deletedColumn,
  };
}

/** The tables of a stream, derived from their declarations. */
export interface StreamShape {
  readonly stream: StreamDefinition;
  readonly parent: TableShape;
  readonly children: readonly TableShape[];
}

export function streamShape(stream: StreamDefinition): StreamShape {
  const { histories, deletedColumn = null } = stream;
  return {
    stream,
    parent: tableShape(stream.parent, { histories, deletedColumn }),
    children: stream.children.map((child) => tableShape(child, { histories })),
  };
}

/** The parent's columns that come from its record; the others describe the response, or are computed. */
export const receivedColumns = ({ stream, parent }: StreamShape): readonly ColumnShape[] =>
  parent.columns.filter(({ name }) => name === '_raw' || name in stream.fields);
