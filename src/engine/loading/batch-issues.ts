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
import type { IssueKind, RecordIssue, StreamDefinition } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { toCopyLine } from './copy-records.ts';
import { type ParsedRecord, type ReadRecord, toUuid } from './record.ts';

/** The columns of a stored issue that its record determines. */
const RECORD_COLUMNS = ['fingerprint', 'record_id', 'field', 'kind', 'problem', 'value', 'context'] as const;

interface StagedIssue extends Readonly<Pick<IssueRow, (typeof RECORD_COLUMNS)[number]>> {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The issue is about a record that is stored as a row; false: the record as a whole was rejected. */
  readonly of_row: boolean;
  /** The number of occurrences. */
  readonly times: number;
}

export const ISSUE_STAGE_COLUMNS: readonly ColumnShape[] = [
  { name: 'ord', type: 'bigint' },
  { name: 'of_row', type: 'boolean' },
  { name: 'times', type: 'bigint' },
  ...RECORD_COLUMNS.map((name) => ({ name, type: typeName(getTableColumns(dataIssues)[name]) })),
];

/**
 * A problem has one fingerprint: per record and field. An unknown field is one problem however many records have it, because
 * a new field of the service appears in all of them at once.
 */
const fingerprintOf = (
  { kind, field }: { readonly kind: IssueKind; readonly field: string | null },
  key: string | null,
): string => toUuid(JSON.stringify([kind, kind === 'unknown_field' ? null : key, field]));

/** Characters of a field that fit into an index, for any field names of the service. */
const LONGEST_FIELD = 300;

const shortField = (field: string): string =>
  field.length <= LONGEST_FIELD ? field : `${field.slice(0, LONGEST_FIELD - 1).toWellFormed()}…`;

function toStagedIssue(issue: RecordIssue, { key, about, ord }: ReadRecord): StagedIssue {
  return {
    ord,
    of_row: true,
    fingerprint: fingerprintOf(issue, key),
    record_id: key,
    field: shortField(issue.field),
    kind: issue.kind,
    problem: issue.problem,
    value: issue.value,
    // A field that is not kept has no name of its own.
    context: issue.name === undefined ? about : { ...about, name: issue.name },
    times: 1,
  };
}

/** A record without a key is identified by its content. PostgreSQL keeps the fields of a stored one in an order of its own. */
const inNameOrder = (_: string, value: unknown): unknown =>
  isWireRecord(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

/** The issue that contains a record which cannot be a row. */
export function buildRejection(
  stream: StreamDefinition,
  { received, key, about, ord }: ReadRecord,
  { value, problem }: ParsedRecord,
): StagedIssue {
  const isComplete = received.excess === null;
  const record = isWireRecord(value) ? value : null;
  return {
    ord,
    of_row: false,
    fingerprint: toUuid(JSON.stringify(['record_rejected', key ?? JSON.stringify(value, inNameOrder), null])),
    record_id: key,
    field: key === null && record !== null ? stream.keyField : null,
    kind: 'record_rejected',
    problem: problem ?? 'the record cannot be stored',
    value,
    context: isComplete ? about : { ...about, isShortened: true },
    times: 1,
  };
}

/** Issues of one record that are listed. */
const MOST_OF_A_RECORD = 100;

const toUnlisted = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  kind: 'field_nulled',
  fingerprint: fingerprintOf({ kind: 'field_nulled', field: null }, issue.record_id),
  field: null,
  problem: `more than ${MOST_OF_A_RECORD} values that cannot be stored as they came: the others are not listed, and are in _raw`,
  value: null,
});

export class BatchIssues {
  #text = '';
  /** By name. The first record of the batch that shows the field is its example. */
  readonly #unknownFields = new Map<string, { readonly issue: StagedIssue; times: number }>();
  #ord = -1;
  #ofRecord = 0;

  /** All issues of a record are added before those of the next one. */
  add(issue: RecordIssue, read: ReadRecord): void {
    if (issue.kind === 'unknown_field') {
      const known = this.#unknownFields.get(issue.field);
      if (known !== undefined) known.times += 1;
      // It is about the format, and stays when the row of its example is dropped.
      else
        this.#unknownFields.set(issue.field, {
          issue: { ...toStagedIssue(issue, read), of_row: false },
          times: 1,
        });
      return;
    }
    if (this.#ord !== read.ord) this.#ofRecord = 0;
    this.#ord = read.ord;
    this.#ofRecord += 1;
    if (this.#ofRecord > MOST_OF_A_RECORD + 1) return;
    const staged = toStagedIssue(issue, read);
    this.put(this.#ofRecord > MOST_OF_A_RECORD ? toUnlisted(staged) : staged);
  }

  put(issue: StagedIssue): void {
    this.#text += toCopyLine(ISSUE_STAGE_COLUMNS, { ...issue });
  }

  /** All added issues, in the format of COPY. */
  close(): string {
    for (const { issue, times } of this.#unknownFields.values()) this.put({ ...issue, times });
    this.#unknownFields.clear();
    return this.#text;
  }
}
