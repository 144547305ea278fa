import type { Fault } from './fault.ts';
import { recordOddities, responseOddities } from './oddity.ts';

type Fields = Record<string, unknown>;

/** Applies the fault to the response object. `list` and `keyField` locate its records, if there are any. */
export function spoilResponse(
  object: Fields,
  { fault, list, keyField }: { fault: Fault | null; list: string | undefined; keyField: string },
): Fields {
  if (fault?.kind === 'oddResponse') return responseOddities[fault.how](object, list);
  const records = list === undefined ? undefined : object[list];
  if (fault?.kind !== 'oddRecord' || list === undefined || !Array.isArray(records)) return object;
  if (records.length === 0) return object;
  const at = (fault.at ?? 0) % records.length;
  const record = records[at] as Fields;
  return { ...object, [list]: withRecord(records, { at, odd: recordOddities[fault.how](record, keyField) }) };
}

function withRecord(
  records: readonly unknown[],
  { at, odd }: { at: number; odd: readonly unknown[] },
): unknown[] {
  const [instead, ...more] = odd;
  if (odd.length === 0) return records.filter((_, place) => place !== at);
  return [...records.slice(0, at), instead, ...records.slice(at + 1), ...more];
}
