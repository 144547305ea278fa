import { writeJson, writeOtherJson } from '../raw-number.ts';
import type { MethodResponse } from './method.ts';
import type { Readings } from './readings.ts';
import { EXTRA_FIELD, shapeRecord } from './shape-record.ts';

export function toResponseObject(
  { fields, list }: MethodResponse,
  readings: Readings,
): Record<string, unknown> {
  const object: Record<string, unknown> = { ok: true, ...fields };
  if (readings.extraFields) object[EXTRA_FIELD] = 'unknown';
  if (list === undefined) return object;
  const { kind, records, shape = (record: object): object => record } = list;
  return { ...object, [list.name]: records.map((record) => shapeRecord(kind, shape(record), readings)) };
}

/** Number of responses that were sent with varied bytes. */
let turn = 0;

export const toResponseText = (response: MethodResponse, readings: Readings): string =>
  readings.bytes === 'other-each-time'
    ? writeOtherJson(toResponseObject(response, readings), (turn += 1))
    : writeJson(toResponseObject(response, readings));
