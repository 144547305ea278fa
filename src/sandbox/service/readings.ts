/**
 * Points that the specification leaves open, or in which the service was observed to differ from it, with the possible
 * implementations. The defaults are as observed, else the simplest reading; every field can be changed while the sandbox
 * runs. Records are converted when they are sent: the store keeps its own form.
 */
export const defaultReadings = {
  /** "Any paging of resources.list: not shown." See `UnaskedPaging`. */
  resourcesPaging: 'none' as UnaskedPaging,
  equipmentsPaging: 'none' as UnaskedPaging,
  /** Records per page when a response is paged without a request for pages. */
  unaskedPageSize: 50,
  /** The parameter rule refers to `paging`; the sample does not show it. */
  trainingPaging: 'present' as 'present' | 'absent',
  /** `paging.last_page` of an empty result. "The highest page number that has results" does not exist then. */
  lastPageWhenEmpty: 0 as 0 | 1,
  /** "Valid pages run to paging.last_page": the response to a later page. */
  pastLastPage: 'empty' as 'refused' | 'empty',
  /** The service sends fewer records than `limit` although there are more. */
  largestPage: null as number | null,
  /** Whether "before" and "after" exclude the bound itself. */
  followupBounds: 'exclusive' as 'exclusive' | 'inclusive',
  /**
   * `observed`: times of follow-ups are numeric text, and `due`, `resolved_on` and `m_completer_id` are null when there are
   * none. `specified`: numbers, and absent.
   */
  followups: 'observed' as 'observed' | 'specified',
  /** `seconds`: created_before and created_after compare whole seconds, so that no query can split one. */
  followupTimes: 'milliseconds' as 'milliseconds' | 'seconds',
  /** Ids of follow-ups with a failing service: each response that would contain one is a `server_error`. */
  unrenderable: [] as readonly string[],
  /** Order of ties: the direction of the list, or a shuffle that is equal for every request (`unordered`). */
  followupOrder: 'newest-first' as 'newest-first' | 'oldest-first' | 'unordered',
  /** `other-each-time`: each response has another order of fields, and other white space and spellings of numbers. */
  bytes: 'plain' as 'plain' | 'other-each-time',
  /**
   * Fields that no record has: a name (`notes`) or a path (`followup.messages.notify`). `optionalFields` are those that the
   * specification allows to be absent.
   */
  leftOut: [] as readonly string[],
  /** Adds an unknown field to every object. */
  extraFields: false,
  unknownParameters: 'refused' as 'refused' | 'ignored',
  /** The parameter of users.info: `id` returns a user of users.list, `user` an id and a name. */
  usersInfo: 'id' as 'id' | 'user',
  /** Methods that the service lacks. */
  notOffered: [] as readonly string[],
  /** `absent`: no HTTP Date header. */
  dateHeader: 'present' as 'present' | 'absent',
};

export type Readings = typeof defaultReadings;

/**
 * `none`: no paging object, all records in one response. `one-page`: a paging object with one page. `pages`: the first page
 * only, the others by the parameter `page`.
 */
export type UnaskedPaging = 'none' | 'one-page' | 'pages';

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
