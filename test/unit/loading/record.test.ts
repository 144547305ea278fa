import { describe, expect, test } from 'vitest';
import { cutResponse } from '../../../src/engine/api/list-cutter.ts';
import { parseRecord, toReadRecord, toStorable } from '../../../src/engine/loading/record.ts';
import { equipmentsStream } from '../../../src/engine/streams/equipments.ts';
import { parseReceived, Received } from '../../../src/shared/received.ts';
import { resourcesStream } from '../../../src/engine/streams/resources.ts';

const source = { stream: resourcesStream, about: {}, protection: null };
const read = (text: string, of: Partial<Parameters<typeof toReadRecord>[1]> = {}) => {
  const response = Buffer.from(`{"items":[${text}]}`);
  const [received] = cutResponse(response, 'items', ['id', 'equipmentType_id']).records;
  if (received === undefined) throw new Error(`no element: ${text}`);
  return toReadRecord(received, { ...source, ...of });
};
const parse = (text: string) => parseRecord(resourcesStream, read(text));

test.each([
  ['a\u0000b', 'a\ufffdb'],
  ['\ud800', '\ufffd'],
  ['😀\ud83d', '😀\ufffd'],
  ['\\u0000', '\\u0000'],
])('the text %j, which PostgreSQL refuses, becomes %j', (received, stored) => {
  expect(toStorable(received)).toBe(stored);
  expect(toStorable({ [received]: [received] })).toEqual({ [stored]: [stored] });
  const { value, text } = parse(JSON.stringify({ id: 'x', title: received }));
  expect(value).toEqual({ id: 'x', title: stored });
  expect(JSON.parse(text)).toEqual(value);
});

describe('keys and checksums of records', () => {
  test('a record that was parsed has the fields of an object, and a text that is no JSON is not shown', () => {
    const sent = { length: 7 };
    expect(Received.of(sent).field('length')).toBe(7);
    expect(Received.of(sent).parse()).toBe(sent);
    for (const other of [null, ['a'], 'text', 7]) expect(Received.of(other).field('length')).toBeUndefined();
    expect(() => parseReceived('{"token":')).toThrow(/^an element of the list is not JSON$/);
  });

  test('the key of a record is read, also if its field name is written with an escape', () => {
    expect(read('{"\\u0069d":"7","title":"a"}').key).toBe('7');
    expect(read('{"title":"a"}').key).toBeNull();
  });

  test.each([
    ['12345678901234567890', null],
    ['{"id":9007199254740991}', '9007199254740991'],
    ['{"id":9007199254740993}', null],
    ['{"id":"9007199254740993"}', '9007199254740993'],
    ['{"id":7.0}', '7'],
    ['{"id":7.50}', null],
    ['{"id":1e400}', null],
    ['{"id":7}', '7'],
    ['{"id":"x"}', 'x'],
    ['{"id":"a\\u0000"}', 'a\ufffd'],
    ['{"id":""}', null],
    ['{}', null],
    ['[]', null],
    ['"text"', null],
    ['null', null],
  ])('the key of the record %s is %j', (text, key) => {
    expect(read(text).key).toBe(key);
    expect(parse(text).problem === null).toBe(key !== null);
  });
});

const ofType = (text: string, equipmentTypeId: string) =>
  read(text, { stream: equipmentsStream, about: { equipmentTypeId } });

test.each([
  ['{"id":"1"}', true],
  ['{"id":"1","equipmentType_id":"21-A"}', true],
  ['{"id":"1","equipmentType_id":"21"}', false],
])(
  'the requested type is part of the checksum if the record has no type or another one: %s',
  (text, isPart) => {
    expect(ofType(text, '21').hash === read(text, { stream: equipmentsStream }).hash).toBe(!isPart);
  },
);
