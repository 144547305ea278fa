/** What happens to one record of a list. */
export type RecordOddity =
  | 'key-absent'
  | 'key-null'
  | 'key-object'
  | 'key-empty'
  /** A field that nobody knows is nested `DEEP_LEVELS` deep; the key is there. */
  | 'nested'
  | 'null'
  | 'text'
  | 'list'
  /** The record is left out: the list is shorter than its `paging.total`. */
  | 'left-out'
  /** The record stands at the end of the response once more. */
  | 'repeated'
  /** A text field that nobody knows makes the record larger than `LARGE_BYTES`. */
  | 'too-large';

/** What happens to the response around its records. */
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
