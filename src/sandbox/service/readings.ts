import type { ErrorId } from './service-error.ts';

/**
 * What the specification leaves open, each way a service could have meant it. The defaults are the plainest reading;
 * every field can be changed while the sandbox runs. Records are shaped when they are sent: the store keeps its own form.
 */
export interface Readings {
  /** "Any paging of resources.list: not shown." See `UnaskedPaging`. */
  resourcesPaging: UnaskedPaging;
  equipmentsPaging: UnaskedPaging;
  /** Records on a page that nobody asked for. */
  unaskedPageSize: number;
  followupsPaging: 'present' | 'absent';
  /** The parameter rule refers to `paging`, the sample does not show it. */
  trainingPaging: 'present' | 'absent';
  /** Whether the 15-minute cache holds one calculation for all, or one for each different request (each page is one). */
  trainingCache: 'one-calculation' | 'per-request';
  /** `paging.last_page` of an empty result. "The highest page number that has results" is none. */
  lastPageWhenEmpty: 0 | 1;
  /** "Valid pages run to paging.last_page": what a further page gives. */
  pastLastPage: 'refused' | 'empty';
  /** A service that gives fewer records than `limit` although there are more. */
  largestPage: number | null;
  /** Whether "before" and "after" leave out the moment itself. */
  followupBounds: 'exclusive' | 'inclusive';
  /** `seconds`: created_before and created_after compare whole seconds, so that no question divides one. */
  followupTimes: 'milliseconds' | 'seconds';
  /**
   * Follow-ups without a usable `created_on`. `unfiltered`: a filter on creation time shows none of them, and they come last
   * in any order. `as-before`: like the creation time that they had.
   */
  undatedFollowups: 'as-before' | 'unfiltered';
  /**
   * About every tenth follow-up comes twice, as from a join: `limit` counts rows, `paging` the different records. So
   * `last_page` may be too small.
   */
  repeatedRows: boolean;
  /** Ids of follow-ups for which the service fails: `server_error` in the place of each response that would hold one. */
  unrenderable: readonly string[];
  /** Ties go by the same direction. `unordered` is the same shuffle for every request. */
  followupOrder: 'newest-first' | 'oldest-first' | 'unordered';
  /** `changing`: each response has the follow-ups of one millisecond in another order. */
  followupTies: 'settled' | 'changing';
  versionOrder: 'newest-first' | 'oldest-first';
  messageOrder: 'oldest-first' | 'newest-first';
  /** Identifiers that are decimal text can come as JSON numbers. */
  identifiers: 'text' | 'numbers';
  /** All other numbers of records, `last_updated` and `paging` can come as text. */
  numbers: 'numbers' | 'text';
  /**
   * Numbers that a double does not hold: `number` ids (forms, responses, trainings, items) beyond 2^53, of which many
   * round to the same; percentages and metavalues with many digits, zeros at the end or exponents.
   */
  bigNumbers: boolean;
  /** `other-each-time`: each response has its fields in another order, and other white space and spellings of numbers. */
  bytes: 'plain' | 'other-each-time';
  /** Absent optional fields can come as null. */
  absent: 'left-out' | 'null';
  /**
   * Fields that no record has: a name (`notes`) or a path (`followup.messages.notify`). `optionalFields` are those of which
   * the specification says that they may be absent.
   */
  leftOut: readonly string[];
  /** Every object gains a field that nobody knows; `dotted`: its name has dots in it. */
  extraFields: boolean | 'dotted';
  /** About every fifth record has a status or type that is in no list. */
  unknownValues: boolean;
  /** `include_null_metavalues`: the text or a real null. */
  emptyMetavalue: 'NULL' | null;
  unknownParameters: 'refused' | 'ignored';
  unknownEquipmentType: Extract<ErrorId, 'content_not_found' | 'parameter_invalid'> | 'empty';
  unknownUser: Extract<ErrorId, 'content_not_found' | 'parameter_invalid'>;
  usersInfo: 'offered' | 'not-offered';
  /** The HTTP Date header, from the sandbox's clock. `asctime`: an older form of HTTP. `iso`, `unreadable`: none of HTTP's. */
  dateHeader: 'present' | 'absent' | 'asctime' | 'iso' | 'unreadable';
  /** ms that the Date header alone is ahead of the service's clock: whoever writes it has a clock of its own. */
  dateHeaderAheadMs: number;
  /** ms that `last_updated` alone is ahead of the service's clock. */
  lastUpdatedAheadMs: number;
  /** What a paging object holds. */
  pagingFields: 'both' | 'total-only' | 'last-page-only' | 'none';
  /** `counts-deleted`: the total counts records that no page has. `capped`: it ends at 20, as a search engine's does. */
  pagingTotal: 'exact' | 'counts-deleted' | 'capped';
  /** `by-one`: every page but the first begins with the last record of the page before it, beyond its `limit`. */
  pagesOverlap: 'none' | 'by-one';
  /** `sub-type`: about every third equipment names a type of its own (`22.1`), and is listed when 22 is asked for. */
  equipmentOwnType: 'asked' | 'sub-type';
  /**
   * `far-apart`: in lists that are one response, the first record comes twice, with other content, and more than 2000
   * records (repetitions of the others) lie between.
   */
  doubles: 'none' | 'far-apart';
}

/**
 * `none`: no paging object, everything in one response. `one-page`: a paging object that says so. `pages`: only the first
 * page, the others by the parameter `page`. `unreadable`: only the first page, and `page` is refused. `silent-pages`: as
 * `pages`, but no paging object says so: nothing in the response tells that there is more.
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
