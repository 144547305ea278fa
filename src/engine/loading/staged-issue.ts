/** Converts values of a record that could not be stored as received to data issues. Pure. */
import { toCanonicalText } from '../../shared/exact-json.ts';
import type { IssueKind, RecordIssue, StreamDefinition } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { identityOf, type ParsedRecord, type ReadRecord, toUuid } from './record.ts';

export interface StagedIssue {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The issue is about a record that is stored as a row; false: the record as a whole was rejected. */
  readonly of_row: boolean;
  /** The record is in the staging tables. */
  readonly is_staged: boolean;
  readonly fingerprint: string;
  readonly record_id: string | null;
  readonly field: string | null;
  readonly kind: IssueKind;
  readonly problem: string;
  readonly value: unknown;
  readonly identity: string | null;
  readonly context: unknown;
  /** The number of occurrences. */
  readonly times: number;
}

/**
 * `messages[].colour` → the jsonpath that finds it in `_raw`. The places are the program's, the name at the end is the
 * service's.
 */
function toJsonPath({ field, name = field }: RecordIssue): string {
  const places = field
    .slice(0, field.length - name.length)
    .split('.')
    .slice(0, -1);
  const steps = places.map((place) =>
    place.endsWith('[]') ? `.${JSON.stringify(place.slice(0, -2))}[*]` : `.${JSON.stringify(place)}`,
  );
  return `$${steps.join('')}.${JSON.stringify(name)}`;
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

/** Characters of a place that fit into an index, for any field names of the service. */
const LONGEST_FIELD = 300;

const shortField = (field: string): string =>
  field.length <= LONGEST_FIELD
    ? field
    : `${Array.from(field)
        .slice(0, LONGEST_FIELD - 1)
        .join('')}…`;

export function toStagedIssue(issue: RecordIssue, { key, about, ord }: ReadRecord): StagedIssue {
  const isUnknownField = issue.kind === 'unknown_field';
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
    context: isUnknownField ? { ...about, path: toJsonPath(issue) } : about,
    times: 1,
  };
}

/** The issue that contains a record which cannot be a row. Without a key its content identifies it. */
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
    fingerprint: toUuid(JSON.stringify(['record_rejected', key ?? toCanonicalText(value), null])),
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
