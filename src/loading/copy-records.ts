/**
 * Sends rows by COPY: those of new records straight into their tables, those of changed ones into the staging tables, from
 * which the merge takes them. A record that PostgreSQL refuses for its data is found by halving; the others are stored.
 */
import { toCell, toCopyChunks, toCopyLine } from '../database/copy-text.ts';
import { isDataError } from '../database/database-error.ts';
import type { MergeScope } from '../database/sql-names.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { ColumnShape, TableShape } from '../database/table-shape.ts';
import type { Row } from '../streams/stream.ts';
import { createCopySettings } from './copy-settings.ts';
import type { PreparedRecord } from './prepare-batch.ts';
import { createReferenceCheck } from './references.ts';
import type { StreamShape } from './stream-shape.ts';

export interface RefusedRecord {
  readonly record: PreparedRecord;
  readonly error: Error;
}

export interface RecordCopies {
  /** Rows of records that the warehouse does not have, into their tables. `now`: the transaction's time. */
  insert(records: readonly PreparedRecord[], now: string): Promise<RefusedRecord[]>;
  /** Rows of changed records, into the staging tables. */
  stage(records: readonly PreparedRecord[]): Promise<RefusedRecord[]>;
}

/** How the rows of one table are sent. */
interface TableCopy {
  readonly statement: string;
  /** The columns whose cells a row has of its own, in order. */
  readonly columns: readonly ColumnShape[];
  /** The cells before them in every line, each with its tab. */
  readonly prefixOf: (record: PreparedRecord) => string;
}

const copyInto = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.map((name) => `"${name}"`).join(', ')}) from stdin`;

const namesOf = (columns: readonly ColumnShape[]): string[] => columns.map(({ name }) => name);

/** The column in which the source tells since when the parent's state holds; elsewhere the table's default stands for it. */
const sinceColumn = ({ history, columns }: TableShape): ColumnShape | undefined =>
  columns.find(({ name }) => name === history?.since);

function toTarget(
  shape: TableShape,
  { accountId, runId, isParent }: MergeScope & { readonly isParent: boolean },
): TableCopy {
  const since = sinceColumn(shape);
  const columns = since === undefined ? shape.columns : [...shape.columns, { ...since, name: '_valid_from' }];
  const common = isParent ? { account_id: accountId, _run_id: String(runId) } : { account_id: accountId };
  const prefix = Object.values(common)
    .map((value) => `${toCell(value, 'text')}\t`)
    .join('');
  return {
    statement: copyInto(`"${shape.schema}"."${shape.name}"`, [...Object.keys(common), ...namesOf(columns)]),
    columns,
    prefixOf: () => prefix,
  };
}

const toStage = (shape: TableShape): TableCopy => ({
  statement: copyInto(`pg_temp."${shape.stage}"`, ['ord', ...namesOf(shape.columns)]),
  columns: shape.columns,
  prefixOf: ({ read }) => `${read.ord}\t`,
});

/** `position` 0: the parents. */
function* linesOf({ columns, prefixOf }: TableCopy, records: readonly PreparedRecord[], position: number) {
  for (const record of records) {
    const prefix = prefixOf(record);
    if (position === 0) yield toCopyLine(columns, record.parent, prefix);
    else for (const row of record.children[position - 1] ?? []) yield toCopyLine(columns, row, prefix);
  }
}

export function createRecordCopies(
  session: StreamSession,
  shape: StreamShape,
  scope: MergeScope,
): RecordCopies {
  const { connection } = session;
  const tables = [shape.parent, ...shape.children];
  const targets = tables.map((table) => toTarget(table, { ...scope, isParent: table === shape.parent }));
  const stages = tables.map(toStage);
  const settings = createCopySettings(connection, shape);
  const isSelfContained = createReferenceCheck(shape);
  const since = sinceColumn(shape.parent)?.name;

  async function copy(copies: readonly TableCopy[], records: readonly PreparedRecord[]): Promise<void> {
    for (const [position, table] of copies.entries()) {
      const chunks = toCopyChunks(linesOf(table, records, position));
      if (chunks.length > 0) await connection.copy(table.statement, chunks);
    }
  }

  async function copyOrRefuse(
    records: readonly PreparedRecord[],
    copyAll: (records: readonly PreparedRecord[]) => Promise<void>,
  ): Promise<RefusedRecord[]> {
    const [first] = records;
    if (first === undefined) return [];
    try {
      // On its way before the first COPY; nobody needs to wait for it, since what follows it would fail too.
      await Promise.all([connection.query('savepoint batch'), copyAll(records)]);
      connection.query('release savepoint batch').catch(() => undefined);
      return [];
    } catch (error) {
      if (!isDataError(error) || !(error instanceof Error)) throw error;
      await connection.query('rollback to savepoint batch');
      await connection.query('release savepoint batch');
      if (records.length === 1) return [{ record: first, error }];
      const middle = Math.ceil(records.length / 2);
      return [
        ...(await copyOrRefuse(records.slice(0, middle), copyAll)),
        ...(await copyOrRefuse(records.slice(middle), copyAll)),
      ];
    }
  }

  return {
    async insert(records, now) {
      // What refers to other rows than its own would not be noticed where the lookups of foreign keys are skipped.
      const wrong = records.filter((record) => !isSelfContained(record));
      const right = wrong.length === 0 ? records : records.filter((record) => !wrong.includes(record));
      if (since !== undefined) {
        for (const { parent } of right) Object.assign(parent, { _valid_from: (parent as Row)[since] ?? now });
      }
      const refused = await copyOrRefuse(right, (some) => settings.during(() => copy(targets, some)));
      const error = new Error('a row of it refers to a row that it does not hold');
      return [...refused, ...wrong.map((record) => ({ record, error }))];
    },
    stage: (records) => copyOrRefuse(records, (some) => copy(stages, some)),
  };
}
