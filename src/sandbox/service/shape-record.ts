import { RawNumber } from '../raw-number.ts';
import type { Readings } from './readings.ts';

/** With dots in its name, which no path of a known field has at this place. */
export const EXTRA_FIELD = 'x.extra.field';

/** Converts a record to this reading of the specification. */
export function shapeRecord(kind: string, record: object, { leftOut, extraFields }: Readings): object {
  const shapeObject = (path: string, fields: object): object => {
    const kept = Object.entries(fields).filter(
      ([field]) => !leftOut.includes(field) && !leftOut.includes(`${path}.${field}`),
    );
    const shaped = kept.map(([field, value]) => [field, shapeValue(`${path}.${field}`, value)]);
    const isExtended = extraFields && !/metavalues|signature/.test(path);
    if (isExtended) shaped.push([EXTRA_FIELD, { since: 'later', list: [1, null, 'x'] }]);
    return Object.fromEntries(shaped) as object;
  };
  const shapeValue = (path: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => shapeValue(path, item));
    const isObject = typeof value === 'object' && value !== null && !(value instanceof RawNumber);
    return isObject ? shapeObject(path, value) : value;
  };
  return leftOut.length > 0 || extraFields ? shapeObject(kind, record) : record;
}
