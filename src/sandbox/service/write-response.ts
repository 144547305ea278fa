import type { MethodResponse } from './method.ts';
import { writeJson, writeOtherJson } from '../raw-number.ts';
import type { Readings } from './readings.ts';
import { EXTRA_FIELD, shapeRecord } from './shape-record.ts';

/** Above this number of records a response is written in pieces. */
const STREAM_ABOVE_RECORDS = 2000;
const CHUNK_CHARACTERS = 64 * 1024;

export function toResponseObject(response: MethodResponse, readings: Readings): Record<string, unknown> {
  const object: Record<string, unknown> = { ok: true, ...envelopeFields(response, readings) };
  if (response.list !== undefined) object[response.list.name] = [...shaped(response.list, readings)];
  return object;
}

/** Number of responses that were sent with varied bytes. */
let turn = 0;

/** One text, or pieces of it, because a string of two hundred thousand records would block the event loop. */
export function toResponseText(response: MethodResponse, readings: Readings): string | Iterable<string> {
  const { list } = response;
  if (readings.bytes === 'other-each-time') {
    turn += 1;
    return writeOtherJson(toResponseObject(response, readings), turn);
  }
  if (list === undefined || list.records.length <= STREAM_ABOVE_RECORDS) {
    return writeJson(toResponseObject(response, readings));
  }
  const head = JSON.stringify({ ok: true, ...envelopeFields(response, readings) }).slice(0, -1);
  return pieces(`${head},${JSON.stringify(list.name)}:[`, shaped(list, readings));
}

function* pieces(head: string, records: Iterable<object>): Generator<string> {
  let text = head;
  let separator = '';
  for (const record of records) {
    text += separator + writeJson(record);
    separator = ',';
    if (text.length >= CHUNK_CHARACTERS) {
      yield text;
      text = '';
    }
  }
  yield `${text}]}`;
}

function* shaped(list: NonNullable<MethodResponse['list']>, readings: Readings): Generator<object> {
  for (const record of list.records) {
    yield shapeRecord(list.kind, list.shape === undefined ? record : list.shape(record), readings);
  }
}

const envelopeFields = ({ fields }: MethodResponse, { extraFields }: Readings): Record<string, unknown> =>
  extraFields ? { ...fields, [EXTRA_FIELD]: 'unknown' } : fields;
