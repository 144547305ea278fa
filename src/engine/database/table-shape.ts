import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
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
  /** See `StateHistory`: column, and its value where another state begins. */
  readonly differences: readonly (readonly [string, (before: string, after: string) => string])[];
  /** The columns that the states have, too. */
  readonly kept: readonly string[];
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
  /** Columns that come from a record, in order; of an entity table also `_hash` and `_raw`. */
  readonly columns: readonly ColumnShape[];
  /** The temporary table that takes rows before the merge. */
  readonly stage: string;
  /** null: only the present state is kept. */
  readonly history: HistoryShape | null;
}

const WRITTEN_BY_THE_MERGE = new Set(['account_id', '_valid_from', '_synced_at', '_deleted_at', '_run_id']);

function historyShape(declared: StateHistory, key: readonly string[]): HistoryShape {
  const { differences = {} } = declared;
  const all = getTableConfig(declared.states).columns.map((column) => column.name);
  const columns = all.filter(
    (name) => !['account_id', 'valid_from', 'valid_to'].includes(name) && !(name in differences),
  );
  return {
    states: getTableConfig(declared.states).name,
    columns,
    compared: columns.filter((name) => !key.includes(name) && name !== declared.since),
    since: declared.since,
    differences: Object.entries(differences),
    kept: all.filter((name) => name in differences),
  };
}

export function tableShape(table: PgTable, histories: readonly StateHistory[] = []): TableShape {
  const config = getTableConfig(table);
  const [account, ...key] = config.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
  const [recordKey, ...others] = key;
  if (account !== 'account_id' || recordKey === undefined) {
    throw new TypeError(`${config.name}: the primary key must be account_id and others`);
  }
  const history = histories.find(({ of }) => of === table);
  return {
    table,
    schema: config.schema ?? 'public',
    name: config.name,
    key: [recordKey, ...others],
    columns: config.columns
      .filter(({ name }) => !WRITTEN_BY_THE_MERGE.has(name) && !(name in (history?.differences ?? {})))
      .map((column) => ({ name: column.name, type: column.getSQLType() })),
    stage: `stage_${config.name}`,
    history: history === undefined ? null : historyShape(history, key),
  };
}

export const hasDifferences = ({ history }: TableShape): boolean => (history?.differences ?? []).length > 0;

/** The tables of a stream, derived from their declarations. */
export interface StreamShape {
  readonly stream: StreamDefinition;
  readonly parent: TableShape;
  readonly children: readonly TableShape[];
}

export function streamShape(stream: StreamDefinition): StreamShape {
  const { histories } = stream;
  return {
    stream,
    parent: tableShape(stream.parent, histories),
    children: stream.children.map((child) => tableShape(child, histories)),
  };
}

/** The parent's columns that come from its record; the others describe the response, or are computed. */
export const receivedColumns = ({ stream, parent }: StreamShape): readonly ColumnShape[] =>
  parent.columns.filter(({ name }) => name === '_raw' || name in stream.fields);

/** The shape of rows that are written in place: without states, and without the columns that describe the response. */
export const inPlaceShape = ({ stream, parent, children }: StreamShape): StreamShape => ({
  stream,
  parent: {
    ...parent,
    history: null,
    columns: parent.columns.filter(({ name }) => name.startsWith('_') || name in stream.fields),
  },
  children: children.map((child) => ({ ...child, history: null })),
});
