/** The only functions of reading that look into a record of a list: its key, its times, its content. */
import type { Received } from '../../shared/received.ts';
import { recordKey } from '../streams/wire.ts';

/** The years 1 to 9999: a time outside of them is an error of the data and orders nothing. */
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00Z');
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

/** ms since 1970; undefined where the value is absent or unusable. */
export function readMs(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,16}$/.test(value);
  const ms = isText ? Number(value) : value;
  return typeof ms === 'number' && ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : undefined;
}

/** A time field of a record, ms since 1970; undefined where it is absent or unusable. */
export const timeOf = (record: Received, field: string): number | undefined => readMs(record.field(field));

/** Identifies a record that is sent again: by its key, or by its content where it has no usable key. */
export const recordName = (record: Received, keyField: string): string =>
  recordKey(record, keyField) ?? record.text;
