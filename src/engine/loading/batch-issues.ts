/**
 * The values of a batch that could not be stored as received, as data issues in the format of COPY, because some records
 * have thousands. Each record lists a bounded number. Fields that the specification does not name have one issue for each
 * name, however many records show it; beyond a bound one issue represents all others, because a service that uses data as
 * names (`{"2026-11-21": …}`) never stops sending new ones. Pure.
 */
import { getTableColumns } from 'drizzle-orm';
import { formatCount } from '../../shared/format.ts';
import { dataIssues } from '../control-tables/control-tables.ts';
import type { IssueRow } from '../control-tables/issues.ts';
import type { ColumnShape } from '../database/table-shape.ts';
import { typeName } from '../streams/columns.ts';
import type { IssueKind, RecordIssue, StreamDefinition } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { CopyChunks, toCopyLine } from './copy-records.ts';
import { identityOf, type ParsedRecord, type ReadRecord, toUuid } from './record.ts';

/** The columns of a stored issue that its record determines. */
const RECORD_COLUMNS = [
  'fingerprint',
  'record_id',
  'field',
  'kind',
  'problem',
  'value',
  'identity',
  'context',
] as const;

export interface StagedIssue extends Readonly<Pick<IssueRow, (typeof RECORD_COLUMNS)[number]>> {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The issue is about a record that is stored as a row; false: the record as a whole was rejected. */
  readonly of_row: boolean;
  /** The record is in the staging tables. */
  readonly is_staged: boolean;
  /** The number of occurrences. */
  readonly times: number;
}

export const ISSUE_STAGE_COLUMNS: readonly ColumnShape[] = [
  { name: 'ord', type: 'bigint' },
  { name: 'of_row', type: 'boolean' },
  { name: 'is_staged', type: 'boolean' },
  { name: 'times', type: 'bigint' },
  ...RECORD_COLUMNS.map((name) => ({ name, type: typeName(getTableColumns(dataIssues)[name]) })),
];

/**
 * `messages[].colour` → the jsonpath that finds it in `_raw`. The outer names are the program's, the last one is the
 * service's.
 */
function toJsonPath({ field, name = field }: RecordIssue): string {
  const outer = field
    .slice(0, field.length - name.length)
    .split('.')
    .slice(0, -1);
  const path = outer.map((part) =>
    part.endsWith('[]') ? `.${JSON.stringify(part.slice(0, -2))}[*]` : `.${JSON.stringify(part)}`,
  );
  return `$${path.join('')}.${JSON.stringify(name)}`;
}

/**
 * A problem has one fingerprint: per record and field. An unknown field is one problem however many records have it, because
 * a new field of the service appears in all of them at once.
 */
export const fingerprintOf = (
  { kind, field }: { readonly kind: IssueKind; readonly field: string | null },
  key: string | null,
): string => toUuid(JSON.stringify([kind, kind === 'unknown_field' ? null : key, field]));

/** Maximum number of unknown fields with an issue of their own, for each stream of an account. */
export const MOST_UNKNOWN_FIELDS = 1000;
/** Identifies the issue about unknown fields beyond the bound. */
export const UNLISTED = fingerprintOf({ kind: 'unknown_field', field: null }, null);

/** Characters of a field that fit into an index, for any field names of the service. */
const LONGEST_FIELD = 300;

const shortField = (field: string): string =>
  field.length <= LONGEST_FIELD
    ? field
    : `${Array.from(field)
        .slice(0, LONGEST_FIELD - 1)
        .join('')}…`;

function toStagedIssue(issue: RecordIssue, { key, about, ord }: ReadRecord): StagedIssue {
  // A field that is not kept has no name of its own: it is not in `_raw`.
  const isInRaw = issue.kind === 'unknown_field' && issue.name !== undefined;
  return {
    ord,
    of_row: true,
    is_staged: false,
    fingerprint: fingerprintOf(issue, key),
    record_id: key,
    field: shortField(issue.field),
    kind: issue.kind,
    problem: issue.problem,
    value: issue.value,
    identity: null,
    context: isInRaw ? { ...about, path: toJsonPath(issue) } : about,
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
    is_staged: false,
    fingerprint: toUuid(JSON.stringify(['record_rejected', key ?? JSON.stringify(value, inNameOrder), null])),
    record_id: key,
    field: key === null && record !== null ? stream.keyField : null,
    kind: 'record_rejected',
    problem: problem ?? 'the record cannot be stored',
    value,
    // An incomplete record may lack a field of its identity, and then match another record.
    identity: key === null && isComplete && record !== null ? identityOf(stream, record) : null,
    context: isComplete ? about : { ...about, isShortened: true },
    times: 1,
  };
}

/** Issues of one record that are listed. */
const MOST_OF_A_RECORD = 100;

const toUnlistedField = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  fingerprint: UNLISTED,
  field: null,
  problem: `more than ${formatCount(MOST_UNKNOWN_FIELDS)} fields that the specification does not name: the others are not listed`,
  value: { [issue.field ?? '']: issue.value },
  context: null,
});

const toUnlisted = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  kind: 'field_nulled',
  fingerprint: fingerprintOf({ kind: 'field_nulled', field: null }, issue.record_id),
  field: null,
  problem: `more than ${MOST_OF_A_RECORD} values that cannot be stored as they came: the others are not listed, and are in _raw`,
  value: null,
});

export class BatchIssues {
  readonly #text = new CopyChunks();
  /** Fingerprints of unknown fields with an issue of their own; grows up to the bound. */
  readonly #listed: Set<string>;
  /** By name, all beyond the bound by null. The first record of the batch that shows the field is its example. */
  readonly #unknownFields = new Map<string | null, { readonly issue: StagedIssue; times: number }>();
  #ord = -1;
  #ofRecord = 0;

  constructor(listed: Set<string>) {
    this.#listed = listed;
  }

  /** `isStaged`: the record is in the staging tables. All issues of a record are added before those of the next one. */
  add(issue: RecordIssue, read: ReadRecord, isStaged: boolean): void {
    if (issue.kind === 'unknown_field') {
      this.#addUnknownField(issue, read);
      return;
    }
    if (this.#ord !== read.ord) this.#ofRecord = 0;
    this.#ord = read.ord;
    this.#ofRecord += 1;
    if (this.#ofRecord > MOST_OF_A_RECORD + 1) return;
    const staged = { ...toStagedIssue(issue, read), is_staged: isStaged };
    this.put(this.#ofRecord > MOST_OF_A_RECORD ? toUnlisted(staged) : staged);
  }

  put(issue: StagedIssue): void {
    this.#text.add(toCopyLine(ISSUE_STAGE_COLUMNS, { ...issue }));
  }

  #addUnknownField(issue: RecordIssue, read: ReadRecord): void {
    const known = this.#unknownFields.get(issue.field);
    if (known !== undefined) {
      known.times += 1;
      return;
    }
    const staged = toStagedIssue(issue, read);
    const isListed = this.#listed.has(staged.fingerprint) || this.#listed.size < MOST_UNKNOWN_FIELDS;
    if (isListed) this.#listed.add(staged.fingerprint);
    const name = isListed ? issue.field : null;
    const times = (this.#unknownFields.get(name)?.times ?? 0) + 1;
    this.#unknownFields.set(name, { issue: isListed ? staged : toUnlistedField(staged), times });
  }

  /** All added issues. */
  close(): readonly Buffer[] {
    // Such an issue is about the format, and stays when the row of its example is refused or dropped.
    for (const { issue, times } of this.#unknownFields.values()) this.put({ ...issue, of_row: false, times });
    this.#unknownFields.clear();
    return this.#text.close();
  }
}
