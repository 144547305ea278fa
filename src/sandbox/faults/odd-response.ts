/** Responses with single deviations, as a service could send without breaking its protocol much. */
import type { Fault } from './fault.ts';
import type { ResponseOddity, RecordOddity } from './oddity.ts';

type Fields = Record<string, unknown>;

const DEEP_LEVELS = 300;
const LARGE_BYTES = 17 * 1024 * 1024;
const MANY = 7;

/** Applies the fault to the response object. `list` and `keyField` locate its records, if there are any. */
export function spoilResponse(
  object: Fields,
  { fault, list, keyField }: { fault: Fault | null; list: string | undefined; keyField: string },
): Fields {
  if (fault?.kind === 'oddResponse') return oddResponse(object, fault.how, list);
  const records = list === undefined ? undefined : object[list];
  if (fault?.kind !== 'oddRecord' || list === undefined || !Array.isArray(records)) return object;
  if (records.length === 0) return object;
  const at = (fault.at ?? 0) % records.length;
  const record = records[at] as Fields;
  return { ...object, [list]: withRecord(records, { at, odd: oddRecord(record, fault.how, keyField) }) };
}

function withRecord(
  records: readonly unknown[],
  { at, odd }: { at: number; odd: readonly unknown[] },
): unknown[] {
  const [instead, ...more] = odd;
  if (odd.length === 0) return records.filter((_, place) => place !== at);
  return [...records.slice(0, at), instead, ...records.slice(at + 1), ...more];
}

/** Values that replace the record, and values that are appended to the list. */
function oddRecord(record: Fields, how: RecordOddity, keyField: string): readonly unknown[] {
  switch (how) {
    case 'key-absent':
      return [Object.fromEntries(Object.entries(record).filter(([field]) => field !== keyField))];
    case 'key-null':
      return [{ ...record, [keyField]: null }];
    case 'key-object':
      return [{ ...record, [keyField]: { value: record[keyField] } }];
    case 'key-empty':
      return [{ ...record, [keyField]: '' }];
    case 'nested':
      return [{ ...record, x_deep: nested(DEEP_LEVELS) }];
    case 'null':
      return [null];
    case 'text':
      return ['not an object'];
    case 'list':
      return [[record]];
    case 'left-out':
      return [];
    case 'repeated':
      return [record, record];
    case 'too-large':
      return [{ ...record, x_large: 'x'.repeat(LARGE_BYTES) }];
  }
}

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function oddResponse(object: Fields, how: ResponseOddity, list: string | undefined): Fields {
  const { paging } = object as { paging?: { total: unknown; last_page: unknown } };
  const withPaging = (fields: object): Fields =>
    paging === undefined ? object : { ...object, paging: { ...paging, ...fields } };
  const without = (field: string): Fields =>
    Object.fromEntries(Object.entries(object).filter(([name]) => name !== field));
  const withList = (value: unknown): Fields => (list === undefined ? object : { ...object, [list]: value });
  const [total, lastPage] = [Number(paging?.total), Number(paging?.last_page)];
  switch (how) {
    case 'ok-absent':
      return without('ok');
    case 'ok-text':
      return { ...object, ok: String(object['ok']) };
    case 'list-absent':
      return list === undefined ? object : without(list);
    case 'list-null':
      return withList(null);
    case 'list-object':
      return withList({});
    case 'total-text':
      return withPaging({ total: 'many' });
    case 'total-negative':
      return withPaging({ total: -1 });
    case 'total-too-small':
      return withPaging({ total: Math.max(0, total - MANY) });
    case 'total-too-large':
      return withPaging({ total: total + MANY });
    case 'last-page-too-small':
      return withPaging({ last_page: Math.max(0, lastPage - 1) });
    case 'last-page-too-large':
      return withPaging({ last_page: lastPage + MANY });
    case 'paging-null':
      return paging === undefined ? object : { ...object, paging: null };
    case 'paging-list':
      return paging === undefined ? object : { ...object, paging: [paging] };
    case 'last-updated-text':
      return 'last_updated' in object
        ? { ...object, last_updated: new Date(Number(object['last_updated'])).toISOString() }
        : object;
    case 'last-updated-absent':
      return without('last_updated');
  }
}
