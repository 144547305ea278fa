/** What a stream is: readonly data and pure functions. No I/O happens here. */
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Descriptions } from '../dictionary/description.ts';
import type { Received } from '../shared/received.ts';

/** A declaration's `name`, in lower case with hyphens; the registry says which there are. */
export type StreamName = string;

export type IssueKind = 'record_rejected' | 'field_nulled' | 'unknown_field' | 'unknown_value';

/** Something in a record that could not be taken as it came. */
export interface RecordIssue {
  readonly kind: IssueKind;
  /** Where in the record: `due`, `messages[2].date`; for unknown fields without positions: `messages[].colour`. */
  readonly field: string;
  /** Plain words: what was expected, what came. */
  readonly problem: string;
  readonly value: unknown;
  /** Of an unknown field: its own name, the end of `field`. It may hold anything, also a dot. */
  readonly name?: string;
}

export type ReportIssue = (issue: RecordIssue) => void;

/** A JSON object as the service sent it. */
export type WireRecord = Readonly<Record<string, unknown>>;

/** Columns that the merge adds by itself. */
type Added = 'account_id' | '_valid_from' | '_hash' | '_raw' | '_synced_at' | '_deleted_at' | '_run_id';

/**
 * A table row without the columns that the merge adds by itself. A column of the source has to be named, be it with null:
 * one that `toRows` forgets is an error of the compiler. Those that begin with `_` are computed, here or by the merge.
 */
export type RowOf<Table extends PgTable, Insert = Table['$inferInsert']> = {
  [Name in Exclude<keyof Insert, Added | `_${string}`>]-?: Exclude<Insert[Name], undefined>;
} & Partial<Omit<Insert, Added>>;

export type Row = Readonly<Record<string, unknown>>;

/** What is known about a response as a whole when its records are normalized. */
export interface ReadContext {
  /** training: `last_updated` of the cached report, ms. */
  readonly calculatedAtMs?: number;
  /** equipments: the type that was asked for. */
  readonly equipmentTypeId?: string;
}

interface NormalizedRecord {
  readonly parent: Row;
  /** One array of rows per child table, in the order of `StreamDefinition.children`. */
  readonly children: readonly (readonly Row[])[];
}

/** How a stream is read; `src/reading` has a reader for each. */
type ReadMode =
  /** One response is everything there is of the account, or of one equipment type. */
  | { readonly kind: 'snapshot'; readonly per: 'account' | 'equipment_type' }
  /** All pages of one cached report. */
  | { readonly kind: 'cached_report'; readonly cacheMs: number; readonly pageSize: number }
  /** A newest-first list with creation and update filters. */
  | { readonly kind: 'incremental'; readonly pageSize: number }
  /** One request per identifier that other streams have met. */
  | { readonly kind: 'lookup' };

/**
 * What the source forgets: the states of a table's rows. `states` takes a row whenever a state is superseded; together
 * with the present rows they are the history. A state is the row without its key and without the untracked columns.
 */
export interface StateHistory {
  /** The parent, or a child whose rows come and go with it. Has the column `_valid_from`. */
  readonly of: PgTable;
  readonly states: PgTable;
  /** The parent's column in which the source tells since when a new state holds, of the parent or of a child; null: when it was seen. */
  readonly since: string | null;
  /** Columns that move without making another state; the history shows their last value in each. */
  readonly untracked: readonly string[];
  /**
   * Columns that tell how a state differs from the one before it, with their value as SQL over the aliases of the two. The
   * table of states has those of them that are about one state.
   */
  readonly differences?: Readonly<Record<string, (before: string, after: string) => string>>;
}

/** What was read completely, so that rows which it did not show are gone. */
export interface Coverage {
  /** The parts that were read (`partition`); null: the whole account. */
  readonly parts: readonly string[] | null;
}

/** How rows belong to the parts in which a stream is asked for. */
interface Partition {
  /** The parent's column that names the part. */
  readonly column: string;
  /** The child that names it, in its last column, where the parent's column says something else. */
  readonly asked: PgTable;
}

/** A field of a record as far as it says where its value is stored. */
export interface WireField {
  /** As the service calls it. Default: the name of the column. */
  readonly name?: string;
  /** Words of people, or a list of them: neither an identifier nor one of a few known values. */
  readonly isText?: true;
  readonly rows?: WireRows;
}

/** By column; a list of objects, which has rows of its own instead, by its own name. */
export type WireFields = Readonly<Record<string, WireField>>;

/** The rows that a field's value becomes in another table than the field's own. */
interface WireRows {
  readonly table: PgTable;
  /** Of each item of a list; absent: the values of an object's entries, each in the column that `columnOf` names. */
  readonly fields?: WireFields;
  readonly columnOf?: (value: unknown) => string | null;
}

export interface StreamDefinition {
  readonly name: StreamName;
  /** What its records are to people: `documents`. */
  readonly contents: string;
  /** What its tables, and the views on them, mean. */
  readonly descriptions: Descriptions;
  /** The service's method. */
  readonly method: string;
  /** The property of the response that holds the records (for a lookup: the record). */
  readonly responseKey: string;
  readonly readMode: ReadMode;
  /** Absent: a stream is asked for as a whole. */
  readonly partition?: Partition;
  /** The wire field that identifies a record. */
  readonly keyField: string;
  /** Other fields that are looked at before a record is parsed. */
  readonly peekFields?: readonly string[];
  /** The parent's column that holds it. */
  readonly keyColumn: string;
  /** Its days are counted and stored (followup-days.ts). */
  readonly countsDays?: true;
  readonly parent: PgTable;
  /** What its records have, and where that is stored. */
  readonly fields: WireFields;
  /** In dependency order: a table stands after the one that its foreign key points to. */
  readonly children: readonly PgTable[];
  /** The parent's column that tells which of two versions of a record is newer; null where the source tells none. */
  readonly versionColumn: string | null;
  /** Columns that do not tell what the record does, but of the response, or what follows from its children: they are not compared. */
  readonly contextColumns: readonly string[];
  readonly histories: readonly StateHistory[];
  /** Wire fields that stay the same for the life of a record: they recognize one that comes back with its key repaired. */
  readonly identityFields: readonly string[];
  /** Columns that hold user ids (text or text[]), per table: what the `users` stream has to look up. */
  readonly userIdColumns: readonly { readonly table: PgTable; readonly column: string }[];
  /**
   * What the row takes from the question because the record does not say it; part of the record's hash. Absent, or
   * null: nothing, so that hashes of records that say everything themselves stay as they are.
   */
  readonly takenFromQuestion?: (record: Received, context: ReadContext) => string | null;
  /** Part of every hash: raise it when `toRows` or a field changes, and the next full read rewrites the rows. */
  readonly version: number;
  toRows(record: WireRecord, context: ReadContext, report: ReportIssue): NormalizedRecord;
}
