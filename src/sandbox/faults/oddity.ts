/** Single deviations of a response, as a service could send without breaking its protocol much. */
type Fields = Record<string, unknown>;

const DEEP_LEVELS = 300;
const LARGE_BYTES = 17 * 1024 * 1024;
const MANY = 7;

/** Changes of one record: the value that replaces it, and values that are appended to the list. */
export const recordOddities = {
  'key-absent': (record, keyField) => [without(record, keyField)],
  'key-null': (record, keyField) => [{ ...record, [keyField]: null }],
  'key-object': (record, keyField) => [{ ...record, [keyField]: { value: record[keyField] } }],
  'key-empty': (record, keyField) => [{ ...record, [keyField]: '' }],
  /** The key remains. */
  nested: (record) => [{ ...record, x_deep: nested(DEEP_LEVELS) }],
  null: () => [null],
  text: () => ['not an object'],
  list: (record) => [[record]],
  /** The list is shorter than its `paging.total`. */
  'left-out': () => [],
  repeated: (record) => [record, record],
  'too-large': (record) => [{ ...record, x_large: 'x'.repeat(LARGE_BYTES) }],
} satisfies Record<string, (record: Fields, keyField: string) => readonly unknown[]>;

export type RecordOddity = keyof typeof recordOddities;

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

const without = (object: Fields, field: string): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field));

const withList = (object: Fields, list: string | undefined, value: unknown): Fields =>
  list === undefined ? object : { ...object, [list]: value };

/** `change`: new fields from the present ones, as numbers. */
function withPaging(
  object: Fields,
  change: (total: number, lastPage: number) => { total: unknown } | { last_page: unknown },
): Fields {
  const { paging } = object as { paging?: { total: unknown; last_page: unknown } };
  if (paging === undefined) return object;
  return { ...object, paging: { ...paging, ...change(Number(paging.total), Number(paging.last_page)) } };
}

/** Changes of the response around its records. */
export const responseOddities = {
  'ok-absent': (object) => without(object, 'ok'),
  'ok-text': (object) => ({ ...object, ok: String(object['ok']) }),
  'list-absent': (object, list) => (list === undefined ? object : without(object, list)),
  'list-null': (object, list) => withList(object, list, null),
  'list-object': (object, list) => withList(object, list, {}),
  'total-text': (object) => withPaging(object, () => ({ total: 'many' })),
  'total-negative': (object) => withPaging(object, () => ({ total: -1 })),
  'total-too-small': (object) => withPaging(object, (total) => ({ total: Math.max(0, total - MANY) })),
  'total-too-large': (object) => withPaging(object, (total) => ({ total: total + MANY })),
  'last-page-too-small': (object) => withPaging(object, (_, last) => ({ last_page: Math.max(0, last - 1) })),
  'last-page-too-large': (object) => withPaging(object, (_, last) => ({ last_page: last + MANY })),
  'paging-null': (object) => ('paging' in object ? { ...object, paging: null } : object),
  'paging-list': (object) => ('paging' in object ? { ...object, paging: [object['paging']] } : object),
  'last-updated-text': (object) =>
    'last_updated' in object
      ? { ...object, last_updated: new Date(Number(object['last_updated'])).toISOString() }
      : object,
  'last-updated-absent': (object) => without(object, 'last_updated'),
} satisfies Record<string, (object: Fields, list: string | undefined) => Fields>;

export type ResponseOddity = keyof typeof responseOddities;
