/** The normalize step: converts a received record to rows, and returns its issues. Pure. */
import { RawJson } from '../../shared/exact-json.ts';
import type { RecordIssue, AddIssue, Row, StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { ParsedRecord, ReadRecord } from './record.ts';

export interface PreparedRecord {
  readonly read: ReadRecord;
  readonly parent: Row;
  /** For each table, parents first. */
  readonly rows: readonly (readonly Row[])[];
}

const alteredKey = (stream: StreamDefinition, key: string | null): RecordIssue => ({
  kind: 'unknown_value',
  field: stream.keyField,
  problem:
    'the identifier holds characters that PostgreSQL cannot store and that were replaced; another record may come by the same one',
  value: key,
});

/** The rows of a record without a problem. The parent's row also contains the loader's own columns. */
export function normalize(
  stream: StreamDefinition,
  read: ReadRecord,
  { value, text, isKeyAltered }: ParsedRecord,
  addIssue: AddIssue = () => undefined,
): PreparedRecord {
  const { parent, children } = stream.toRows(value as WireRecord, read.about, addIssue);
  if (isKeyAltered) addIssue(alteredKey(stream, read.key));
  // Assigned in place, because a copy of the row costs as much as filling it.
  Object.assign(parent, { _hash: read.hash, _raw: new RawJson(text) });
  return { read, parent, rows: [[parent], ...children] };
}
