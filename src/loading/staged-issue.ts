/** What of a record could not be taken, as the data issues that are stored. Pure. */
import { parseExactJson } from '../shared/exact-json.ts';
import type { IssueKind, RecordIssue, StreamDefinition } from '../streams/stream.ts';
import { identityOf, type ReadRecord, toUuid } from './identify.ts';

export interface StagedIssue {
  /** Number of the record in this run. */
  readonly ord: number;
  /** The issue is about a record that is stored as a row; false: the record as a whole was rejected. */
  readonly of_row: boolean;
  readonly fingerprint: string;
  readonly record_id: string | null;
  readonly field: string | null;
  readonly kind: IssueKind;
  readonly problem: string;
  readonly value: unknown;
  readonly identity: string | null;
  readonly context: unknown;
  /** How often it was met. */
  readonly times: number;
}

/** A record, and how its stream understands it. */
export interface StreamRecord extends ReadRecord {
  readonly stream: StreamDefinition;
}

/** `messages[].colour` → the jsonpath that finds it in `_raw`. The places are ours, the name at the end is the service's. */
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
 * A problem has one fingerprint wherever it is met: per record and field; an unknown field is one problem however many
 * records have it, since a new field at the service shows up in all of them at once.
 */
export const fingerprintOf = (
  { kind, field }: { readonly kind: IssueKind; readonly field: string | null },
  key: string | null,
): string => toUuid(JSON.stringify([kind, kind === 'unknown_field' ? null : key, field]));

/** Characters of a place that an index can hold, whatever the service calls its fields. */
const LONGEST_FIELD = 300;

const shortField = (field: string): string =>
  field.length <= LONGEST_FIELD
    ? field
    : `${Array.from(field)
        .slice(0, LONGEST_FIELD - 1)
        .join('')}…`;

export function toStagedIssue(issue: RecordIssue, { identified, about, ord }: StreamRecord): StagedIssue {
  const isUnknownField = issue.kind === 'unknown_field';
  return {
    ord,
    of_row: true,
    fingerprint: fingerprintOf(issue, identified.key),
    record_id: identified.key,
    field: shortField(issue.field),
    kind: issue.kind,
    problem: issue.problem,
    value: issue.value,
    identity: null,
    context: isUnknownField ? { ...about, path: toJsonPath(issue) } : about,
    times: 1,
  };
}

/** The issue that holds a record which cannot be a row. Without a key its content is what identifies it. */
export function buildRejection(request: StreamRecord): StagedIssue {
  const { stream, identified, about, ord } = request;
  return {
    ord,
    of_row: false,
    fingerprint: toUuid(JSON.stringify(['record_rejected', identified.key ?? identified.text, null])),
    record_id: identified.key,
    field: identified.key === null && identified.record !== null ? stream.keyField : null,
    kind: 'record_rejected',
    problem: identified.problem ?? 'the record cannot be stored',
    value: identified.record ?? parseExactJson(identified.text),
    // Of a record that is not whole it may lack a part, and be another one.
    identity:
      identified.key === null && !identified.isShortened ? identityOf(stream, identified.record) : null,
    context: identified.isShortened ? { ...about, isShortened: true } : about,
    times: 1,
  };
}
