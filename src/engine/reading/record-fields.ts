/** The only functions of reading that look into a record of a list: its key, its times, its content. */
import type { Received } from '../../shared/received.ts';
import { readMs, recordKey } from '../streams/wire.ts';

/** A time field of a record, ms since 1970; undefined where it is absent or unusable. */
export const timeOf = (record: Received, field: string): number | undefined => readMs(record.field(field));

/** Identifies a record that is sent again: by its key, or by its content where it has no usable key. */
export const recordName = (record: Received, keyField: string): string =>
  recordKey(record, keyField) ?? record.text;
