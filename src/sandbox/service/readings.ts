/**
 * Behaviour that the specification leaves open, or that was observed to differ from it, with the possible
 * implementations. The defaults are as observed, else the simplest reading; every field can be changed while the sandbox
 * runs. Records are converted when they are sent: the store keeps its own form.
 */
export const defaultReadings = {
  /** "Any paging of resources.list: not shown", nor of equipments.list. null: none; else records per page. */
  unaskedPageSize: null as number | null,
  /** The parameter rule refers to `paging`; the sample does not show it. */
  trainingPaging: 'present' as 'present' | 'absent',
  /** "Valid pages run to paging.last_page": the response to a later page. */
  pastLastPage: 'empty' as 'refused' | 'empty',
  /** The service sends fewer records than `limit` although there are more. */
  largestPage: null as number | null,
  /**
   * `observed`: times of follow-ups are numeric text, and `due`, `resolved_on` and `m_completer_id` are null when there are
   * none. `specified`: numbers, and absent.
   */
  followups: 'observed' as 'observed' | 'specified',
  /** Ids of follow-ups with a failing service: each response that would contain one is a `server_error`. */
  unrenderable: [] as readonly string[],
  /** `other-each-time`: each response has another order of fields, and other white space and spellings of numbers. */
  bytes: 'plain' as 'plain' | 'other-each-time',
  /** Fields that no record has. `optionalFields` are those that the specification allows to be absent. */
  leftOut: [] as readonly string[],
  /** Adds an unknown field to every object. */
  extraFields: false,
  /** The parameter of users.info: `id` returns a user of users.list, `user` an id and a name. */
  usersInfo: 'id' as 'id' | 'user',
  /** Methods that the service lacks. */
  notOffered: [] as readonly string[],
  /** `absent`: no HTTP Date header. */
  dateHeader: 'present' as 'present' | 'absent',
};

export type Readings = typeof defaultReadings;

/** "may be absent", "optional". */
export const optionalFields = [
  'due',
  'm_reassignee_id',
  'signature',
  'attachments',
  'notify',
  'clients_id',
  'title',
];
