/**
 * The values of a batch that could not be stored as received, as data issues in the format of COPY, because some records
 * have thousands. Each record lists a bounded number. Fields that the specification does not name have one issue for each
 * name, however many records show it. Pure.
 */
import { getTableColumns } from 'drizzle-orm';
import { dataIssues } from '../control-tables/control-tables.ts';
import type { IssueRow } from '../control-tables/issues.ts';
import type { ColumnShape } from '../database/table-shape.ts';
import { typeName } from '../streams/columns.ts';
import type { RecordIssue, StreamDefinition } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { toCopyLine } from './copy-records.ts';
import { parseRecord, RawJson, type ReadRecord, toUuid } from './record.ts';

/** The columns of a stored issue that its record determines. */
const RECORD_COLUMNS = ['fingerprint', 'record_id', 'field', 'kind', 'problem', 'value', 'context'] as const;

/** `fingerprint` of a record without a key is empty here: `recordIssues` makes it of the value. */
interface StagedIssue extends Readonly<Pick<IssueRow, (typeof RECORD_COLUMNS)[number]>> {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The issue is about a record that is stored as a row; false: the record as a whole was rejected. */
  readonly of_row: boolean;
  /** The number of occurrences. */
  times: number;
}

export const ISSUE_STAGE_COLUMNS: readonly ColumnShape[] = [
  { name: 'ord', type: 'bigint' },
  { name: 'of_row', type: 'boolean' },
  { name: 'times', type: 'bigint' },
  ...RECORD_COLUMNS.map((name) => ({ name, type: typeName(getTableColumns(dataIssues)[name]) })),
];

/**
 * A problem has one fingerprint: per record and field. A record without a key is identified by its content. An unknown field is
 * one problem however many records have it, because a new field of the service appears in all of them at once.
 */
function toStagedIssue({ key, about, ord }: ReadRecord, issue: RecordIssue): StagedIssue {
  const { kind, field } = issue;
  const identity = JSON.stringify([kind, kind === 'unknown_field' ? null : key, field]);
  return {
    ...issue,
    ord,
    of_row: true,
    fingerprint: kind === 'record_rejected' && key === null ? '' : toUuid(identity),
    record_id: key,
    context: about,
    times: 1,
  };
}

/** Issues of one record that are listed. */
const MOST_OF_A_RECORD = 100;
const OTHERS = `more than ${MOST_OF_A_RECORD} values that cannot be stored as they came: the others are not listed, and are in _raw`;

export class BatchIssues {
  #text = '';
  /** By name. The first record of the batch that shows the field is its example. */
  readonly #unknownFields = new Map<string | null, StagedIssue>();

  /** Issues of a record that becomes a row. */
  addOfRow(read: ReadRecord, found: readonly RecordIssue[]): void {
    const own = found.filter(({ kind }) => kind !== 'unknown_field');
    for (const issue of own.slice(0, MOST_OF_A_RECORD)) this.#put(toStagedIssue(read, issue));
    if (own.length > MOST_OF_A_RECORD)
      this.#put(toStagedIssue(read, { kind: 'field_nulled', field: null, problem: OTHERS, value: null }));
    for (const issue of found) {
      if (issue.kind !== 'unknown_field') continue;
      const known = this.#unknownFields.get(issue.field);
      if (known !== undefined) known.times += 1;
      // It is about the format, and stays when the row of its example is dropped.
      else this.#unknownFields.set(issue.field, { ...toStagedIssue(read, issue), of_row: false });
    }
  }

  /** A record that cannot be a row: the issue contains it. `refusal`: the reason of PostgreSQL. */
  addRejected(stream: StreamDefinition, read: ReadRecord, refusal?: string): void {
    const { value, text, problem } = parseRecord(stream, read);
    const issue = {
      kind: 'record_rejected',
      field: read.key === null && isWireRecord(value) ? stream.keyField : null,
      problem: refusal ?? problem ?? 'the record cannot be stored',
      value: new RawJson(text),
    } as const;
    this.#put({ ...toStagedIssue(read, issue), of_row: false });
  }

  #put(issue: StagedIssue): void {
    this.#text += toCopyLine(ISSUE_STAGE_COLUMNS, { ...issue });
  }

  /** All added issues, in the format of COPY. */
  close(): string {
    for (const issue of this.#unknownFields.values()) this.#put(issue);
    return this.#text;
  }
}
