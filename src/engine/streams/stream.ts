/** The definition of a stream: readonly data and pure functions without I/O. */
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Descriptions } from '../../dictionary/description.ts';
import type { OptionalMethod } from './optional-methods.ts';
import type { Received } from '../../shared/received.ts';

/** A declaration's `name`, in lower case with hyphens; the registry lists all names. */
export type StreamName = string;

export type IssueKind = 'record_rejected' | 'field_nulled' | 'unknown_field' | 'unknown_value';

/** A value of a record that could not be stored as received. */
export interface RecordIssue {
  readonly kind: IssueKind;
  /** The place in the record: `due`, `messages[2].date`; for unknown fields without positions: `messages[].colour`; null: all of it. */
  readonly field: string | null;
  /** Plain words: the expected value and the received one. */
  readonly problem: string;
  readonly value: unknown;
}

export type AddIssue = (issue: RecordIssue) => void;

/** A JSON object as the service sent it. */
export type WireRecord = Readonly<Record<string, unknown>>;

/** Columns that the merge adds by itself. */
type Added = 'account_id' | '_valid_from' | '_hash' | '_raw' | '_synced_at' | '_deleted_at' | '_run_id';

/**
 * A table row without the columns that the merge adds by itself. Every column of the source must be named, even with null,
 * so the compiler rejects a `toRows` that omits one. Columns that begin with `_` are computed, here or by the merge.
 */
export type RowOf<Table extends PgTable, Insert = Table['$inferInsert']> = {
  [Name in Exclude<keyof Insert, Added | `_${string}`>]-?: Exclude<Insert[Name], undefined>;
} & Partial<Omit<Insert, Added>>;

export type Row = Readonly<Record<string, unknown>>;

/** Known facts about a response as a whole when its records are normalized. */
export interface ReadContext {
  /** training: `last_updated` of the cached list, ms. */
  readonly calculatedAtMs?: number;
  /** equipments: the requested type. */
  readonly equipmentTypeId?: string;
}

interface NormalizedRecord {
  readonly parent: Row;
  /** One array of rows per child table, in the order of `StreamDefinition.children`. */
  readonly children: readonly (readonly Row[])[];
}

/** The read mode of a stream; `engine/reading` has a reader for each. */
type ReadMode =
  /** One response contains all records of the account, or of one partition (`partitionedBy`). */
  | { readonly kind: 'snapshot' }
  /** All pages of one cached list. */
  | { readonly kind: 'cached_list'; readonly pageSize: number }
  /** A newest-first list with creation and update filters. */
  | { readonly kind: 'incremental'; readonly pageSize: number }
  /** A newest-first list without filters by time. */
  | { readonly kind: 'newest_first'; readonly pageSize: number }
  /** The lists that name ids of other records, as far as the service has them: it is as fresh as the oldest one. */
  | { readonly kind: 'names'; readonly lists: readonly OptionalMethod[] }
  /** A list, and a request for each id of a person that it lacks. */
  | { readonly kind: 'people'; readonly lists: readonly OptionalMethod[] };

/**
 * The states of a table's rows, which the source does not keep. `states` receives a row when a state is superseded; together
 * with the present rows they are the history. A state is the row without its key and without `since`.
 */
export interface StateHistory {
  /** The parent, or a child with rows that are added and removed with it. Has the column `_valid_from`. */
  readonly of: PgTable;
  readonly states: PgTable;
  /**
   * The parent's column with the source's time of a new state, of the parent or of a child; null: the time when the state
   * was seen. The column changes without creating another state; the history shows its last value in each.
   */
  readonly since: string | null;
}

/** The range that was read completely: rows that are missing in it are marked as deleted. */
export interface Coverage {
  /** The partitions that were read (`partitionedBy`); null: the whole account. */
  readonly partitions: readonly string[] | null;
  /** Rows that the source changed after `fromMs`, up to `toMs`, are not covered: a response that is late does not show them. */
  readonly late?: { readonly fromMs: number; readonly toMs: number };
  /** users: without people whom only users.info has named: no list had them. */
  readonly isOfLists?: true;
  /** Only rows with one of these values. */
  readonly only?: { readonly column: string; readonly values: readonly string[] };
}

/** The relation between rows and the partitions that a stream requests. */
interface PartitionedBy {
  /** The parent's column that names the partition. */
  readonly column: string;
  /** The child that names the partition in its last column, if the parent's column contains something else. */
  readonly requested: PgTable;
}

/** A field of a record, limited to the storage of its value. */
export interface WireField {
  /** The service's name for it. Default: the name of the column. */
  readonly name?: string;
  /** Text that people wrote, or a list of such texts: neither an identifier nor one of a few known values. */
  readonly isText?: true;
  /** Id of a person, or a list of such ids. */
  readonly isUser?: true;
  /** It is known to be sent and is never stored, in `_raw` neither. */
  readonly isDropped?: true;
  readonly rows?: WireRows;
}

/** By column; a list of objects has its own name as key, because it has rows of its own instead. */
export type WireFields = Readonly<Record<string, WireField>>;

/** The rows of a field's value in another table than the field's own. */
interface WireRows {
  readonly table: PgTable;
  /** Fields of each item of a list; absent: the values of an object's entries, each in the column that `columnOf` names. */
  readonly fields?: WireFields;
  readonly columnOf?: (value: unknown) => string | null;
}

interface PersonalRecord {
  /** Columns of `fields` that are kept only where USERS_KEEP names them. */
  readonly keepable: readonly string[];
  /** Fields that are known to be sent and are never kept: they are no data issues. */
  readonly notKept: readonly string[];
  /** By column of `fields`: another column with a privacy setting that applies to it, too. */
  readonly coveredBy: Readonly<Record<string, string>>;
  readonly nameOf: (record: WireRecord) => string | undefined;
}

export interface StreamDefinition {
  readonly name: StreamName;
  /** The human term for its records: `documents`. */
  readonly contents: string;
  /** Descriptions of its tables and of the views on them. */
  readonly descriptions: Descriptions;
  /** The service's method. */
  readonly method: string;
  /** The property of the response that holds the records. */
  readonly responseKey: string;
  readonly readMode: ReadMode;
  /**
   * It is read by these, and not at all where the service has none of them. For a stream with partitions: they name its
   * partitions, unless these are configured.
   */
  readonly optionalMethods?: readonly OptionalMethod[];
  /** Its own limit of freshness: it only completes other data, so it is never a reason against readiness. */
  readonly staleAfterMs?: number;
  /** Absent: a stream is requested as a whole. */
  readonly partitionedBy?: PartitionedBy;
  /** The wire field that identifies a record. */
  readonly keyField: string;
  /** Other fields that readers use before a record is parsed. */
  readonly peekFields?: readonly string[];
  readonly parent: PgTable;
  /** The fields of its records, and the columns that store them. */
  readonly fields: WireFields;
  /** Present where a record is a person: of its fields only those of `fields` are kept. */
  readonly personal?: PersonalRecord;
  /** In dependency order: a table is after the one that its foreign key refers to. */
  readonly children: readonly PgTable[];
  /**
   * The parent's column with the source's time of the last change, which determines the newer one of two versions of a record;
   * absent if the source has no such column.
   */
  readonly changeTimeColumn?: string;
  /**
   * The parent's column that is true while the service sends the row as deleted. Such a row is marked as deleted, at the time
   * of its last change.
   */
  readonly deletedColumn?: string;
  readonly histories: readonly StateHistory[];
  /**
   * The value that the row takes from the request because the record does not contain it; part of the record's hash. Absent
   * or null: no value, so hashes of complete records do not change.
   */
  readonly takenFromRequest?: (record: Received, context: ReadContext) => string | null;
  /**
   * Version of `toRows` and `fields`. Part of every hash: raise it when `toRows` or a field changes, and the next complete read
   * (of follow-ups: a reconcile) rewrites the rows, with new states, unless the migration has given stored rows the same values.
   */
  readonly normalizerVersion: number;
  toRows(record: WireRecord, context: ReadContext, addIssue: AddIssue): NormalizedRecord;
}
