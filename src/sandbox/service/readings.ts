import type { ErrorId } from './service-error.ts';

/**
 * Points that the specification leaves open, with the possible implementations by a service. The defaults are the simplest
 * reading; every field can be changed while the sandbox runs. Records are converted when they are sent: the store keeps its
 * own form.
 */
export interface Readings {
  /** "Any paging of resources.list: not shown." See `UnaskedPaging`. */
  resourcesPaging: UnaskedPaging;
  equipmentsPaging: UnaskedPaging;
  /** Records per page when a response is paged without a request for pages. */
  unaskedPageSize: number;
  followupsPaging: 'present' | 'absent';
  /** The parameter rule refers to `paging`; the sample does not show it. */
  trainingPaging: 'present' | 'absent';
  /** Whether the 15-minute cache holds one training report for all requests, or one per distinct request (each page is one). */
  trainingCache: 'one-calculation' | 'per-request';
  /** `paging.last_page` of an empty result. "The highest page number that has results" does not exist then. */
  lastPageWhenEmpty: 0 | 1;
  /** "Valid pages run to paging.last_page": the response to a later page. */
  pastLastPage: 'refused' | 'empty';
  /** The service sends fewer records than `limit` although there are more. */
  largestPage: number | null;
  /** Whether "before" and "after" exclude the bound itself. */
  followupBounds: 'exclusive' | 'inclusive';
  /** `seconds`: created_before and created_after compare whole seconds, so that no query can split one. */
  followupTimes: 'milliseconds' | 'seconds';
  /**
   * Follow-ups without a usable `created_on`. `unfiltered`: filters on creation time omit them, and they are last in any
   * order. `as-before`: treated as if they had their previous creation time.
   */
  undatedFollowups: 'as-before' | 'unfiltered';
  /**
   * About every tenth follow-up is sent twice, as by a join: `limit` counts rows, but `paging` counts distinct records. So
   * `last_page` may be too small.
   */
  repeatedRows: boolean;
  /** Ids of follow-ups with a failing service: each response that would contain one is a `server_error`. */
  unrenderable: readonly string[];
  /** Order of ties: the direction of the list, or a shuffle that is equal for every request (`unordered`). */
  followupOrder: 'newest-first' | 'oldest-first' | 'unordered';
  /** `changing`: each response sorts the follow-ups of one millisecond differently. */
  followupTies: 'settled' | 'changing';
  versionOrder: 'newest-first' | 'oldest-first';
  messageOrder: 'oldest-first' | 'newest-first';
  /** Identifiers that are decimal text can be sent as JSON numbers. */
  identifiers: 'text' | 'numbers';
  /** All other numbers of records, `last_updated` and `paging` can be sent as text. */
  numbers: 'numbers' | 'text';
  /**
   * Numbers that a double cannot hold: `number` ids (forms, responses, trainings, items) beyond 2^53, several of which round
   * to one double; percentages and metavalues with many digits, trailing zeros or exponents.
   */
  bigNumbers: boolean;
  /** `other-each-time`: each response has another order of fields, and other white space and spellings of numbers. */
  bytes: 'plain' | 'other-each-time';
  /** Absent optional fields can be sent as null. */
  absent: 'left-out' | 'null';
  /**
   * Fields that no record has: a name (`notes`) or a path (`followup.messages.notify`). `optionalFields` are those that the
   * specification allows to be absent.
   */
  leftOut: readonly string[];
  /** Adds an unknown field to every object; `dotted`: with dots in its name. */
  extraFields: boolean | 'dotted';
  /** Gives about every fifth record an undocumented status or type. */
  unknownValues: boolean;
  /** `include_null_metavalues`: the text or a real null. */
  emptyMetavalue: 'NULL' | null;
  unknownParameters: 'refused' | 'ignored';
  unknownEquipmentType: Extract<ErrorId, 'content_not_found' | 'parameter_invalid'> | 'empty';
  unknownUser: Extract<ErrorId, 'content_not_found' | 'parameter_invalid'>;
  usersInfo: 'offered' | 'not-offered';
  /** The HTTP Date header, from the sandbox's clock. `asctime`: an older form of HTTP. `iso`, `unreadable`: invalid in HTTP. */
  dateHeader: 'present' | 'absent' | 'asctime' | 'iso' | 'unreadable';
  /** Offset in ms of the Date header alone, because a proxy with its own clock may set it. */
  dateHeaderAheadMs: number;
  /** Offset in ms of `last_updated` alone. */
  lastUpdatedAheadMs: number;
  /** The fields of a paging object. */
  pagingFields: 'both' | 'total-only' | 'last-page-only' | 'none';
  /**
   * `counts-deleted`: the total includes records that no page has. `capped`: the total is at most 20, as in some search
   * engines.
   */
  pagingTotal: 'exact' | 'counts-deleted' | 'capped';
  /** `by-one`: every page except the first begins with the last record of the previous page, in addition to its `limit`. */
  pagesOverlap: 'none' | 'by-one';
  /** `sub-type`: about every third equipment has a type of its own (`22.1`), and is listed under 22. */
  equipmentOwnType: 'asked' | 'sub-type';
  /**
   * `far-apart`: in lists that are one response, the first record is sent twice with different content, separated by more
   * than 2000 records (repetitions of the others).
   */
  doubles: 'none' | 'far-apart';
}

/**
 * `none`: no paging object, all records in one response. `one-page`: a paging object with one page. `pages`: the first page
 * only, the others by the parameter `page`. `unreadable`: the first page only, and `page` is refused. `silent-pages`: like
 * `pages`, but without a paging object, so that no response shows further records.
 */
export type UnaskedPaging = 'none' | 'one-page' | 'pages' | 'unreadable' | 'silent-pages';

export const defaultReadings: Readings = {
  resourcesPaging: 'none',
  equipmentsPaging: 'none',
  unaskedPageSize: 50,
  followupsPaging: 'present',
  trainingPaging: 'present',
  trainingCache: 'one-calculation',
  lastPageWhenEmpty: 0,
  pastLastPage: 'refused',
  largestPage: null,
  followupBounds: 'exclusive',
  followupTimes: 'milliseconds',
  undatedFollowups: 'as-before',
  repeatedRows: false,
  unrenderable: [],
  followupOrder: 'newest-first',
  followupTies: 'settled',
  versionOrder: 'newest-first',
  messageOrder: 'oldest-first',
  identifiers: 'text',
  numbers: 'numbers',
  bigNumbers: false,
  bytes: 'plain',
  absent: 'left-out',
  leftOut: [],
  extraFields: false,
  unknownValues: false,
  emptyMetavalue: 'NULL',
  unknownParameters: 'refused',
  unknownEquipmentType: 'content_not_found',
  unknownUser: 'content_not_found',
  usersInfo: 'offered',
  dateHeader: 'present',
  dateHeaderAheadMs: 0,
  lastUpdatedAheadMs: 0,
  pagingFields: 'both',
  pagingTotal: 'exact',
  pagesOverlap: 'none',
  equipmentOwnType: 'asked',
  doubles: 'none',
};

/** "may be absent", "optional". */
export const optionalFields = [
  'followup.due',
  'followup.messages.m_reassignee_id',
  'followup.messages.signature',
  'followup.messages.attachments',
  'followup.messages.notify',
  'equipment.clients_id',
  'equipment.title',
] as const;
