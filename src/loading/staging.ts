/** The temporary tables of one session: rows wait here, sent by COPY, until one transaction merges them. */
import { sql } from 'drizzle-orm';
import type { Row, StreamDefinition } from '../streams/stream.ts';
import type { Transaction } from '../database/connection.ts';
import { type RawJson, toArrayLiteral, toCopyText } from '../database/copy-text.ts';
import { isDataError } from '../database/database-error.ts';
import type { StagedIssue } from './issue-sql.ts';
import { createIssueStage, ISSUE_STAGE_COLUMNS } from './issue-sql.ts';
import {
  CHILD_STAGE_COLUMNS,
  createStage,
  PARENT_STAGE_COLUMNS,
  readVanished,
  type SnapshotScope,
} from './merge-sql.ts';
import { stage, target } from '../database/sql-names.ts';
import type { StreamSession } from '../database/stream-session.ts';
import { type ColumnShape, type TableShape, tableShape } from '../database/table-shape.ts';

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

export interface StagedRecord {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The warehouse has no row with this key. */
  readonly isNew: boolean;
  readonly parent: Row & { readonly _hash: string; readonly _raw: RawJson };
  readonly children: readonly (readonly Row[])[];
}

/** How a record compares with the warehouse. */
export type Standing = 'new' | 'changed' | 'unchanged';

export interface Probe {
  readonly key: string;
  readonly hash: string;
}

export interface Staging {
  /** Creates the tables; call once per session. */
  open(): Promise<void>;
  /** One statement for a batch: what of it the warehouse already has. Notes the keys as seen when a snapshot is read. */
  compare(records: readonly Probe[], firstOrd: number): Promise<Standing[]>;
  /** Sends rows. A record that PostgreSQL refuses for its data is given to `onRefused`; the others are stored. */
  write(
    records: readonly StagedRecord[],
    onRefused: (record: StagedRecord, error: unknown) => void,
  ): Promise<void>;
  writeIssues(issues: readonly StagedIssue[]): Promise<void>;
  /** Forgets what was staged from this number on. */
  discardFrom(ord: number): Promise<void>;
  /** Empties the tables, as part of the transaction that merged them. */
  clear(tx: Transaction): Promise<void>;
  /** Keys of the live rows of the scope that were not noted as seen. */
  findVanished(scope: SnapshotScope): Promise<Set<string>>;
  /** Of what this transaction wrote: records that the source had changed up to this time, ms. */
  countUpTo(tx: Transaction, ms: number): Promise<number>;
}

export interface StagingOptions {
  readonly shape: StreamShape;
  readonly accountId: string;
  /** Note the keys of everything that is read, to find what was deleted. */
  readonly tracksSeen: boolean;
}

export function createStaging(session: StreamSession, options: StagingOptions): Staging {
  const { connection } = session;
  const { shape, accountId, tracksSeen } = options;
  const { parent, children } = shape;
  const parentColumns: ColumnShape[] = [...PARENT_STAGE_COLUMNS, ...parent.columns];
  const childColumns = children.map((child): ColumnShape[] => [...CHILD_STAGE_COLUMNS, ...child.columns]);
  const key = parent.key[0] ?? '';
  const seen = tracksSeen
    ? ', s as (insert into pg_temp.stage_seen select $4::bigint + ord, key from k)'
    : '';
  const compareText = `with k as materialized (
      select key, hash, ord from unnest($2::text[], $3::uuid[]) with ordinality as u (key, hash, ord))${seen}
    select ord::int as ord, standing from (
      select k.ord, (select case when t._deleted_at is null and t._hash = k.hash then 0 else 1 end
        from "${parent.schema}"."${parent.name}" t where t.account_id = $1 and t."${key}" = k.key) as standing
      from k) p where standing is distinct from 0${tracksSeen ? '' : ' and $4::bigint is not null'}`;

  async function copyRows(
    table: string,
    columns: readonly ColumnShape[],
    rows: readonly Row[],
  ): Promise<void> {
    if (rows.length === 0) return;
    const names = columns.map((column) => `"${column.name}"`).join(', ');
    await connection.copy(`copy pg_temp."${table}" (${names}) from stdin`, toCopyText(columns, rows));
  }

  async function copyRecords(records: readonly StagedRecord[]): Promise<void> {
    await copyRows(
      parent.stage,
      parentColumns,
      records.map((record) => ({ ...record.parent, ord: record.ord, is_new: record.isNew })),
    );
    for (const [position, child] of children.entries()) {
      const rows = records.flatMap((record) =>
        (record.children[position] ?? []).map((row) => ({ ...row, ord: record.ord })),
      );
      await copyRows(child.stage, childColumns[position] ?? [], rows);
    }
  }

  async function forget(fromOrd: number, toOrd: number, tables: readonly string[]): Promise<void> {
    for (const table of tables) {
      await connection.query(`delete from pg_temp."${table}" where ord between $1::bigint and $2::bigint`, [
        fromOrd,
        toOrd,
      ]);
    }
  }

  const rowTables = [parent.stage, ...children.map((child) => child.stage)];

  const staging: Staging = {
    async open() {
      const { db } = connection;
      await db.execute(createStage(parent, PARENT_STAGE_COLUMNS));
      for (const child of children) await db.execute(createStage(child, CHILD_STAGE_COLUMNS));
      await db.execute(sql`create temporary table if not exists stage_seen (ord bigint, key text)`);
      await db.execute(createIssueStage());
    },
    async compare(records, firstOrd) {
      const differing = await connection.query<{ ord: number; standing: number | null }>(compareText, [
        accountId,
        toArrayLiteral(records.map((record) => record.key)),
        toArrayLiteral(records.map((record) => record.hash)),
        firstOrd - 1,
      ]);
      const standings = records.map((): Standing => 'unchanged');
      for (const { ord, standing } of differing) standings[ord - 1] = standing === null ? 'new' : 'changed';
      return standings;
    },
    async write(records, onRefused) {
      const [first, last] = [records[0], records.at(-1)];
      if (first === undefined || last === undefined) return;
      try {
        await copyRecords(records);
      } catch (error) {
        if (!isDataError(error)) throw error;
        await forget(first.ord, last.ord, rowTables);
        if (records.length === 1) {
          onRefused(first, error);
          return;
        }
        const middle = Math.ceil(records.length / 2);
        await staging.write(records.slice(0, middle), onRefused);
        await staging.write(records.slice(middle), onRefused);
      }
    },
    writeIssues: (issues) =>
      copyRows('stage_issues', ISSUE_STAGE_COLUMNS, issues as readonly (StagedIssue & Row)[]),
    async discardFrom(ord) {
      await forget(ord, Number.MAX_SAFE_INTEGER, [...rowTables, 'stage_seen', 'stage_issues']);
    },
    async findVanished(scope) {
      await connection.db.execute(sql`analyze pg_temp.stage_seen`);
      const rows = await connection.db.execute<{ key: string }>(readVanished(parent, scope, accountId));
      return new Set(rows.map((row) => row.key));
    },
    async countUpTo(tx, ms) {
      const version = shape.stream.versionColumn;
      if (version === null) return 0;
      const column = sql.identifier(version);
      // What this transaction wrote carries its time.
      const [row] = await tx.execute<{ count: number }>(
        sql`select count(*)::int as count from ${stage(parent)} s join ${target(parent)} t
          on t.account_id = ${accountId} and t.${sql.identifier(key)} = s.${sql.identifier(key)}
          where t._synced_at = now() and t.${column} <= ${new Date(ms).toISOString()}::timestamptz`,
      );
      return row?.count ?? 0;
    },
    async clear(tx) {
      const tables = [...rowTables, 'stage_seen', 'stage_issues'].map((table) => `pg_temp."${table}"`);
      await tx.execute(sql.raw(`truncate ${tables.join(', ')}`));
    },
  };
  return staging;
}
