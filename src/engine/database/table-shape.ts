/** The properties of tables that the merge needs, derived from their drizzle declarations: there is no second list. */
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { typeName } from '../streams/columns.ts';
import type { StateHistory, StreamDefinition } from '../streams/stream.ts';

export type ColumnShape = TableShape['columns'][number];
export type HistoryShape = ReturnType<typeof historyShape>;
export type TableShape = ReturnType<typeof tableShape>;
export type StreamShape = ReturnType<typeof streamShape>;

const WRITTEN_BY_THE_MERGE = new Set(['account_id', '_valid_from', '_synced_at', '_deleted_at', '_run_id']);

function historyShape({ states, since }: StateHistory, key: readonly string[]) {
  const columns = getTableConfig(states)
    .columns.map((column) => column.name)
    .filter((name) => !['account_id', 'valid_from', 'valid_to'].includes(name));
  return {
    /** The table with the superseded states. */
    states,
    /** Columns that the table and its states have in common, key included, without `account_id`. */
    columns,
    /** The columns that make a state when they change. */
    compared: columns.filter((name) => !key.includes(name) && name !== since),
    /** The parent's column with the source's time of a new state; null: the time when the state was seen. */
    since,
  };
}

export function tableShape(
  table: PgTable,
  { histories = [], deletedColumn }: Partial<Pick<StreamDefinition, 'histories' | 'deletedColumn'>> = {},
) {
  const config = getTableConfig(table);
  const [, ...key] = config.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
  const sent = deletedColumn === undefined ? null : '_deleted_at';
  const history = histories.find(({ of }) => of === table);
  return {
    table,
    /** For a text of SQL. */
    quoted: `"${config.schema ?? 'public'}"."${config.name}"`,
    name: config.name,
    /** Primary key without `account_id`; it begins with the key of the record. */
    key: key as [string, ...string[]],
    /** Columns that come from a record, in order; of an entity table also `_hash` and `_raw`, and `_deleted_at` with `deletedColumn`. */
    columns: config.columns
      .filter(({ name }) => name === sent || !WRITTEN_BY_THE_MERGE.has(name))
      // As PostgreSQL spells it: `text`, `bigint[]`, `timestamp with time zone`.
      .map((column) => ({ name: column.name, type: typeName(column) })),
    /** The temporary table that takes rows before the merge. */
    stage: `stage_${config.name}`,
    /** null: only the present state is kept. */
    history: history === undefined ? null : historyShape(history, key),
    /** See `StreamDefinition`; null: only a read that lacks the record marks its row as deleted. */
    deletedColumn: deletedColumn ?? null,
  };
}

/** The tables of a stream. */
export const streamShape = (stream: StreamDefinition) => ({
  stream,
  parent: tableShape(stream.parent, stream),
  children: stream.children.map((child) => tableShape(child, { histories: stream.histories })),
});
