/** A record on its way: as it was read, and as rows. */
import type { RawJson } from '../shared/exact-json.ts';
import type { ReadContext, Row } from '../streams/stream.ts';
import type { IdentifiedRecord } from './identify.ts';

/** A record as it was read, with its number in the run. */
export interface ReadRecord {
  readonly identified: IdentifiedRecord;
  readonly about: ReadContext;
  readonly ord: number;
}

/** One that can be a row. */
export type KeyedRecord = ReadRecord & { readonly identified: { readonly key: string } };

export interface RowsOfRecord {
  readonly parent: Row & { readonly _hash: string; readonly _raw: RawJson };
  /** One array of rows per child table. */
  readonly children: readonly (readonly Row[])[];
}

export interface PreparedRecord extends RowsOfRecord {
  readonly read: ReadRecord;
}
