/**
 * Rows of records that the warehouse does not have go straight to their tables by `COPY`: nothing has to be compared,
 * superseded or cleared away for them. They are made text as soon as they are known, so that what waits for its commit
 * is a few buffers. Where one of them turns out to be there already, or cannot be stored, PostgreSQL refuses (SQLSTATE
 * 22, 23), and the caller takes the way over the staging tables.
 */
import { sql } from 'drizzle-orm';
import type { Row } from '../streams/stream.ts';
import type { Transaction } from '../database/connection.ts';
import { toArrayLiteral, toCell, toCopyText } from '../database/copy-text.ts';
import * as issues from './issue-sql.ts';
import { createCopySettings } from './copy-settings.ts';
import { createReferenceCheck } from './references.ts';
import type { MergeScope } from '../database/sql-names.ts';
import type { StagedRecord, StreamShape } from './staging.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { ColumnShape, TableShape } from '../database/table-shape.ts';
import { noteUsers } from '../database/user-lookups.ts';

/** A table's part of a load: how a line is made, and where it goes. */
interface Layout {
  readonly statement: string;
  /** The columns whose cells a row has of its own, in order. */
  readonly own: readonly ColumnShape[];
  /** What stands before them in every line. */
  readonly prefix: string;
  /** Columns of this table that hold user ids. */
  readonly userIds: readonly string[];
}

/** Rows as PostgreSQL takes them. */
export interface DirectRows {
  readonly count: number;
  /** Of the parents. */
  readonly keys: readonly string[];
  /** Per table, the parent's first. */
  readonly chunks: readonly (readonly Buffer[])[];
  readonly userIds: ReadonlySet<string>;
}

export interface DirectLoad {
  /** The record's rows can be made text before their transaction begins, and refer to nothing but each other. */
  suits(record: StagedRecord): boolean;
  toRows(records: readonly StagedRecord[]): DirectRows;
  /** Part of the transaction: resolves when the rows are in their tables. */
  store(tx: Transaction, loads: readonly DirectRows[]): Promise<DirectlyStored>;
}

export interface DirectlyStored {
  /** Records, all of them new. */
  readonly inserted: number;
  /** Resolves when what follows from them is stored too. */
  readonly settled: Promise<unknown>;
}

export interface DirectLoadOptions extends MergeScope {
  readonly session: StreamSession;
  readonly shape: StreamShape;
}

/** The time at which a row's state began, where the source tells it; elsewhere PostgreSQL's own time stands for it. */
function sinceColumn({ history, columns }: TableShape): ColumnShape | undefined {
  return columns.find(({ name }) => name === history?.since);
}

function layoutOf(
  shape: TableShape,
  { accountId, runId, shape: { parent, stream } }: DirectLoadOptions,
): Layout {
  const since = sinceColumn(shape);
  const common = shape === parent ? ['account_id', '_run_id'] : ['account_id'];
  const values = shape === parent ? [accountId, String(runId)] : [accountId];
  const names = [
    ...common,
    ...shape.columns.map(({ name }) => name),
    ...(since === undefined ? [] : ['_valid_from']),
  ];
  return {
    statement: `copy "${shape.schema}"."${shape.name}" (${names.map((name) => `"${name}"`).join(', ')}) from stdin`,
    own: since === undefined ? shape.columns : [...shape.columns, since],
    prefix: values.map((value) => `${toCell(value, 'text')}\t`).join(''),
    userIds: stream.userIdColumns.filter(({ table }) => table === shape.table).map(({ column }) => column),
  };
}

export function createDirectLoad(options: DirectLoadOptions): DirectLoad {
  const { session, shape, accountId } = options;
  const { parent, children, stream } = shape;
  const layouts = [parent, ...children].map((table) => layoutOf(table, options));
  const settings = createCopySettings(session.connection, shape);
  const isSelfContained = createReferenceCheck(shape);
  const key = parent.key[0] ?? '';
  const since = sinceColumn(parent);

  function noteUsersOf(row: Row, columns: readonly string[], into: Set<string>): void {
    for (const column of columns) {
      const value = row[column];
      if (typeof value === 'string') into.add(value);
      else if (Array.isArray(value)) for (const one of value) into.add(String(one));
    }
  }

  return {
    suits: (record) =>
      (since === undefined || (record.parent as Row)[since.name] !== null) && isSelfContained(record),
    toRows(records) {
      const userIds = new Set<string>();
      const chunks = layouts.map(({ own, prefix, userIds: columns }, position) => {
        const rows =
          position === 0
            ? records.map((record) => record.parent)
            : records.flatMap((record) => record.children[position - 1] ?? []);
        if (columns.length > 0) for (const row of rows) noteUsersOf(row, columns, userIds);
        return toCopyText(own, rows, { prefix });
      });
      const keys = records.map((record) => String((record.parent as Row)[key]));
      return { count: records.length, keys, chunks, userIds };
    },
    async store(tx, loads) {
      if (loads.length === 0) return { inserted: 0, settled: Promise.resolve() };
      await settings.during(async () => {
        for (const [position, { statement }] of layouts.entries()) {
          const chunks = loads.flatMap((load) => load.chunks[position] ?? []);
          if (chunks.length > 0) await session.connection.copy(statement, chunks);
        }
      });
      const userIds = new Set(loads.flatMap((load) => [...load.userIds]));
      const keys = toArrayLiteral(loads.flatMap((load) => load.keys));
      // A record that could not be stored before leaves an issue behind that is settled now.
      const settle = tx.execute(issues.resolveKeys(keys, { accountId, stream: stream.name }));
      const ids = sql`select unnest(${toArrayLiteral([...userIds])}::text[]) as user_id`;
      const note = userIds.size > 0 ? noteUsers(tx, ids, accountId) : undefined;
      const inserted = loads.reduce((sum, { count }) => sum + count, 0);
      return { inserted, settled: Promise.all([settle, note]) };
    },
  };
}
