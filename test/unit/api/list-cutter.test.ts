import { describe, expect, test } from 'vitest';
import { cutResponse } from '../../../src/engine/api/list-cutter.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { UnusableResponse } from '../../../src/engine/api/response-errors.ts';

function cut(bytes: Buffer) {
  const { records, envelope } = cutResponse(bytes, 'items');
  return { envelope, records: records.map((one) => one.parse()) };
}

const cutText = (text: string) => cut(Buffer.from(text));

function defectOf(response: string | Buffer): string {
  try {
    cut(typeof response === 'string' ? Buffer.from(response) : response);
  } catch (error) {
    if (error instanceof UnusableResponse || error instanceof SafetySyncError) return error.code;
    throw error;
  }
  return 'none';
}

const NASTY_RECORDS: unknown[] = [
  { id: 'ä€😀', note: 'a "quoted" \\ back\\\\slash ], } , [ { "items":[1]', deep: [[[{ items: ['x'] }]]] },
  'text with ] and , and "',
  '\\',
  12.5e-3,
  null,
  true,
  [],
  {},
  [[], {}, [1, [2]]],
  { '': '\u0000\ud83d', items: [] },
];
const NASTY_ENVELOPE = {
  before: { items: [1, 2], text: '"items":[' },
  'it"ems': 'items',
  items: [],
  after: [{ items: 3 }],
  ok: true,
};

function nastyText(spaces: number | undefined): string {
  return JSON.stringify({ ...NASTY_ENVELOPE, items: NASTY_RECORDS }, undefined, spaces);
}

describe('records are cut out of a response', () => {
  test.each([
    ['compact', nastyText(undefined)],
    ['pretty', nastyText(3).replaceAll('\n', '\r\n\t')],
    ['behind a byte order mark', `\ufeff \n${nastyText(undefined)}\n `],
  ])('records and envelope of a response are those that JSON has (%s)', (_name, text) => {
    expect(cutText(text)).toEqual({ records: NASTY_RECORDS, envelope: NASTY_ENVELOPE });
  });

  test.each([
    '{"ok":true,"items":[]}',
    '{"ok":true,"items": [ \n ] }',
    '{"ok":false,"error":"x"}',
    '{"data":{"items":[1]}}',
    '{"items":{"a":[1]},"ok":true}',
    '{"items":null}',
  ])('a response without a record is envelope alone: %s', (text) => {
    expect(cutText(text)).toEqual({ records: [], envelope: JSON.parse(text) as unknown });
  });

  test('without a list key the whole response is envelope', () => {
    const response = cutResponse(Buffer.from('{"ok":true,"items":[1]}'), undefined);
    expect(response).toEqual({ envelope: { ok: true, items: [1] }, records: [] });
  });
});

describe('an incomplete or invalid response', () => {
  test('a response that ends anywhere before its end is response_cut', () => {
    const bytes = Buffer.from(nastyText(undefined));
    for (let end = 0; end < bytes.length; end += 1) {
      expect(defectOf(bytes.subarray(0, end))).toBe('response_cut');
    }
  });

  test.each([
    ['a login page', '<html><body>Login</body></html>'],
    ['an array', '[1]'],
    ['a second response behind it', '{"ok":true,"items":[1]}{"ok":true}'],
    ['a broken record', '{"ok":true,"items":[{"a":tru}]}'],
    ['an unclosed record', '{"ok":true,"items":[{"a":1],"b":2}}'],
    ['a list closed by a brace', '{"ok":true,"items":[1}'],
    ['a comma too many', '{"ok":true,"items":[1,,2]}'],
    ['a comma at the end of the list', '{"ok":true,"items":[1,]}'],
    ['a comma at the beginning of the list', '{"ok":true,"items":[,1]}'],
    ['a missing comma', '{"ok":true,"items":[1 2]}'],
    ['a raw line break in a string', '{"ok":true,"items":["a\nb"]}'],
    ['text that is not UTF-8', Buffer.from('{"ok":true,"items":["\u00e4"]}', 'latin1')],
  ])('a response with %s is response_not_json', (_name, text) => {
    expect(defectOf(text)).toBe('response_not_json');
  });

  test('a response with a record nested deeper than 200 levels is response_invalid', () => {
    const nested = (levels: number) => `{"items":[{"a":${'['.repeat(levels)}${']'.repeat(levels)}}]}`;
    expect(defectOf(nested(199))).toBe('none');
    expect(defectOf(nested(200))).toBe('response_invalid');
  });

  test('a response that contains its list twice is response_invalid', () => {
    expect(defectOf('{"items":[1],"ok":true,"items":[2]}')).toBe('response_invalid');
  });
});

describe('the fields that are read before parsing', () => {
  const FIELDS = ['id', 'created_on', 'name'];
  const fieldsOf = (record: string) => {
    const response = Buffer.from(`{"ok":true,"items":[${record}]}`);
    const [received] = cutResponse(response, 'items', FIELDS).records;
    return FIELDS.map((name) => received?.field(name));
  };
  test.each([
    ['{"id":"a","created_on":17,"name":null}', ['a', 17, null]],
    [
      '{"x":{"id":"no"},"id" : "a\\"b" ,"list":[{"id":"no","name":1}],"name":["x",{"id":2}]}',
      ['a"b', undefined, ['x', { id: 2 }]],
    ],
    ['{"id":1,"id":2}', [2, undefined, undefined]],
    ['["id",{"id":1}]', [undefined, undefined, undefined]],
    ['{"text":"\\"id\\":5","idx":1,"i":2}', [undefined, undefined, undefined]],
    ['"id"', [undefined, undefined, undefined]],
    ['{"id":"","created_on":0,"name":" ~"}', ['', 0, ' ~']],
    ['{"id":"\\u00e9","created_on":-17,"name":"é😀"}', ['é', -17, 'é😀']],
    ['{"id":"a\\tb","created_on":1.5e3,"name":true}', ['a\tb', 1500, true]],
    ['{"id":"\u007f","created_on": 999999999999999 ,"name":{}}', ['\u007f', 999_999_999_999_999, {}]],
  ])('the fields of %s are %j', (record, expected) => {
    expect(fieldsOf(record)).toEqual(expected);
  });

  test.each(['017', '"a\tb"', '"', '1-2', ''])(
    'the value %j of a field is refused, because it is not JSON',
    (value) => {
      expect(() => fieldsOf(`{"id":${value}}`)).toThrow(UnusableResponse);
    },
  );
});

test('the text of an element is its bytes without surrounding white space', () => {
  const { records } = cutResponse(Buffer.from('{"items": [ {"a" : 1 }\n,\t[ ] , 2 ]}'), 'items');
  expect(records.map(({ text }) => text)).toEqual(['{"a" : 1 }', '[ ]', '2']);
});
