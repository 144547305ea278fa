import type { ErrorId } from './service-error.ts';

/**
 * Points that the specification leaves open, with the possible implementations by a service. The defaults are the simplest
 * reading; every field can be changed while the sandbox runs. Records are converted when they are sent: the store keeps its
 * own form.
 */
export const defaultReadings = {
  /** "Any paging of resources.list: not shown." See `UnaskedPaging`. */
  resourcesPaging: 'none' as UnaskedPaging,
  equipmentsPaging: 'none' as UnaskedPaging,
  /** Records per page when a response is paged without a request for pages. */
  unaskedPageSize: 50,
  followupsPaging: 'present' as 'present' | 'absent',
  /** The parameter rule refers to `paging`; the sample does not show it. */
  trainingPaging: 'present' as 'present' | 'absent',
  /** Whether the 15-minute cache holds one training list for all requests, or one per distinct request (each page is one). */
  trainingCache: 'one-calculation' as 'one-calculation' | 'per-request',
  /** `paging.last_page` of an empty result. "The highest page number that has results" does not exist then. */
  lastPageWhenEmpty: 0 as 0 | 1,
  /** "Valid pages run to paging.last_page": the response to a later page. */
  pastLastPage: 'refused' as 'refused' | 'empty',
  /** The service sends fewer records than `limit` although there are more. */
  largestPage: null as number | null,
  /** Whether "before" and "after" exclude the bound itself. */
  followupBounds: 'exclusive' as 'exclusive' | 'inclusive',
  /** `seconds`: created_before and created_after compare whole seconds, so that no query can split one. */
  followupTimes: 'milliseconds' as 'milliseconds' | 'seconds',
  /**
   * Follow-ups without a usable `created_on`. `unfiltered`: filters on creation time omit them, and they are last in any
   * order. `as-before`: treated as if they had their previous creation time.
   */
  undatedFollowups: 'as-before' as 'as-before' | 'unfiltered',
  /**
   * About every tenth follow-up is sent twice, as by a join: `limit` counts rows, but `paging` counts distinct records. So
   * `last_page` may be too small.
   */
  repeatedRows: false,
  /** Ids of follow-ups with a failing service: each response that would contain one is a `server_error`. */
  unrenderable: [] as readonly string[],
  /** Order of ties: the direction of the list, or a shuffle that is equal for every request (`unordered`). */
  followupOrder: 'newest-first' as 'newest-first' | 'oldest-first' | 'unordered',
  /** `changing`: each response sorts the follow-ups of one millisecond differently. */
  followupTies: 'settled' as 'settled' | 'changing',
  versionOrder: 'newest-first' as 'newest-first' | 'oldest-first',
  messageOrder: 'oldest-first' as 'oldest-first' | 'newest-first',
  /** Identifiers that are decimal text can be sent as JSON numbers. */
  identifiers: 'text' as 'text' | 'numbers',
  /** All other numbers of records, `last_updated` and `paging` can be sent as text. */
  numbers: 'numbers' as 'numbers' | 'text',
  /**
   * Numbers that a double cannot hold: `number` ids (forms, responses, trainings, items) beyond 2^53, several of which round
   * to one double; percentages and metavalues with many digits, trailing zeros or exponents.
   */
  bigNumbers: false,
  /** `other-each-time`: each response has another order of fields, and other white space and spellings of numbers. */
  bytes: 'plain' as 'plain' | 'other-each-time',
  /** Absent optional fields can be sent as null. */
  absent: 'left-out' as 'left-out' | 'null',
  /**
   * Fields that no record has: a name (`notes`) or a path (`followup.messages.notify`). `optionalFields` are those that the
   * specification allows to be absent.
   */
  leftOut: [] as readonly string[],
  /** Adds an unknown field to every object; `dotted`: with dots in its name. */
  extraFields: false as boolean | 'dotted',
  /** Gives about every fifth record an undocumented status or type. */
  unknownValues: false,
  /** `include_null_metavalues`: the text or a real null. */
  emptyMetavalue: 'NULL' as 'NULL' | null,
  unknownParameters: 'refused' as 'refused' | 'ignored',
  unknownEquipmentType: 'content_not_found' as
    Extract<ErrorId, 'content_not_found' | 'parameter_invalid'> | 'empty',
  unknownUser: 'content_not_found' as Extract<ErrorId, 'content_not_found' | 'parameter_invalid'>,
  usersInfo: 'offered' as 'offered' | 'not-offered',
  /** The HTTP Date header, from the sandbox's clock. `asctime`: an older form of HTTP. `iso`, `unreadable`: invalid in HTTP. */
  dateHeader: 'present' as 'present' | 'absent' | 'asctime' | 'iso' | 'unreadable',
  /** Offset in ms of the Date header alone, because a proxy with its own clock may set it. */
  dateHeaderAheadMs: 0,
  /** Offset in ms of `last_updated` alone. */
  lastUpdatedAheadMs: 0,
  /** The fields of a paging object. */
  pagingFields: 'both' as 'both' | 'total-only' | 'last-page-only' | 'none',
  /**
   * `counts-deleted`: the total includes records that no page has. `capped`: the total is at most 20, as in some search
   * engines.
   */
  pagingTotal: 'exact' as 'exact' | 'counts-deleted' | 'capped',
  /** `by-one`: every page except the first begins with the last record of the previous page, in addition to its `limit`. */
  pagesOverlap: 'none' as 'none' | 'by-one',
  /** `sub-type`: about every third equipment has a type of its own (`22.1`), and is listed under 22. */
  equipmentOwnType: 'asked' as 'asked' | 'sub-type',
  /**
   * `far-apart`: in lists that are one response, the first record is sent twice with different content, separated by more
   * than 2000 records (repetitions of the others).
   */
  doubles: 'none' as 'none' | 'far-apart',
};

export type Readings = typeof defaultReadings;

/**
 * `none`: no paging object, all records in one response. `one-page`: a paging object with one page. `pages`: the first page
 * only, the others by the parameter `page`. `unreadable`: the first page only, and `page` is refused. `silent-pages`: like
 * `pages`, but without a paging object, so that no response shows further records.
 */
export type UnaskedPaging = 'none' | 'one-page' | 'pages' | 'unreadable' | 'silent-pages';

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
