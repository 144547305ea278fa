/** The normalize step: a record as received becomes rows and issues. Pure. */
import { parseExactJson, RawJson } from '../shared/exact-json.ts';
import type { RecordIssue, Row, StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { IdentifiedRecord, ReadRecord } from './identify.ts';
import { type StagedIssue, type StreamRecord, toStagedIssue } from './staged-issue.ts';

export interface RowsOfRecord {
  readonly parent: Row & { readonly _hash: string; readonly _raw: RawJson };
  /** One array of rows per child table. */
  readonly children: readonly (readonly Row[])[];
}

export interface PreparedRecord extends RowsOfRecord {
  readonly read: ReadRecord;
}

const alteredKey = (stream: StreamDefinition, { key }: IdentifiedRecord): RecordIssue => ({
  kind: 'unknown_value',
  field: stream.keyField,
  problem:
    'the identifier holds characters that PostgreSQL cannot store and that were replaced; another record may come by the same one',
  value: key,
});

/** Records wait for PostgreSQL as text: parsed they would take three times the memory, and all of it is walked for garbage. */
export function releaseParsed({ identified }: Pick<ReadRecord, 'identified'>): void {
  identified.record = null;
}

/** Of one that can be a row. */
export const parsedOf = ({ record, text }: IdentifiedRecord): WireRecord =>
  record ?? (parseExactJson(text) as WireRecord);

/** The parent's row has everything that the loader adds to what the source said. */
export function normalize(request: StreamRecord): RowsOfRecord & { readonly issues: StagedIssue[] } {
  const { stream, identified, about } = request;
  const issues: StagedIssue[] = [];
  const rows = stream.toRows(parsedOf(identified), about, (issue) => {
    issues.push(toStagedIssue(issue, request));
  });
  if (identified.isKeyAltered) issues.push(toStagedIssue(alteredKey(stream, identified), request));
  // Added in place: the row was made for this, and copying it costs as much as filling it.
  const parent = Object.assign(rows.parent, { _hash: identified.hash, _raw: new RawJson(identified.text) });
  return { parent, children: rows.children, issues };
}
