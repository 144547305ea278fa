/** What is kept of a record that is a person, by the list of its stream: everything else is dropped. Pure. */
import type { StreamDefinition, WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { changeFields, mapEach } from './find-people.ts';

/** Fields that hold ids of something, by the service's names. */
const isIdField = (name: string): boolean => name.endsWith('_id');

/** `keep`: words of USERS_KEEP. */
export function createPersonFilter(
  { fields, personal, keyField }: StreamDefinition,
  keep: readonly string[],
) {
  const all = Object.entries(fields).map(([column, { name = column }]) => ({ column, name }));
  const isKept = (column: string): boolean =>
    personal?.keepable.includes(column) !== true || keep.includes(column);
  const kept = new Set(all.filter(({ column }) => isKept(column)).map(({ name }) => name));
  const known = new Set([...all.map(({ name }) => name), ...(personal?.notKept ?? [])]);

  /** Of an object where an id is meant only its id. */
  function toId(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, toId);
    return isWireRecord(value) ? (value[keyField] ?? null) : value;
  }

  return {
    isKept: (name: string): boolean => kept.has(name),
    filter: (record: WireRecord): WireRecord =>
      changeFields(record, (value, name) =>
        kept.has(name) ? [name, isIdField(name) ? toId(value) : value] : null,
      ),
    /** Names of fields that the service is not known to send. */
    unknownIn: (record: unknown): readonly string[] =>
      isWireRecord(record) ? Object.keys(record).filter((name) => !known.has(name)) : [],
  };
}
