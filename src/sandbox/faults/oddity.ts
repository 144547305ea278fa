/** Changes of one record in a list. */
export type RecordOddity =
  | 'key-absent'
  | 'key-null'
  | 'key-object'
  | 'key-empty'
  /** Adds an unknown field that is nested `DEEP_LEVELS` deep; the key remains. */
  | 'nested'
  | 'null'
  | 'text'
  | 'list'
  /** Omits the record: the list is shorter than its `paging.total`. */
  | 'left-out'
  /** Repeats the record at the end of the response. */
  | 'repeated'
  /** Adds an unknown text field that makes the record larger than `LARGE_BYTES`. */
  | 'too-large';

/** Changes of the response around its records. */
export type ResponseOddity =
  | 'ok-absent'
  | 'ok-text'
  | 'list-absent'
  | 'list-null'
  | 'list-object'
  | 'total-text'
  | 'total-negative'
  | 'total-too-small'
  | 'total-too-large'
  | 'last-page-too-small'
  | 'last-page-too-large'
  | 'paging-null'
  | 'paging-list'
  | 'last-updated-text'
  | 'last-updated-absent';
