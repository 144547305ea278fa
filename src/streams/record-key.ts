import { isWireRecord, key } from './wire.ts';

/** The key under which a record is stored; null: it has no usable one. */
export function keyOf(record: unknown, keyField: string): string | null {
  const told = isWireRecord(record) ? record[keyField] : undefined;
  return key.read(typeof told === 'string' ? toStorableText(told) : told, () => undefined);
}

/** Without what PostgreSQL's text cannot hold: NUL, and halves of surrogate pairs. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');
