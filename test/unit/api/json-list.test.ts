import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { parseExactJson } from '../../../src/shared/exact-json.ts';
import { ElementCutter } from '../../../src/engine/api/element-cutter.ts';
import type { CutResponse } from '../../../src/engine/api/element-cutter.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { UnusableResponse } from '../../../src/engine/api/response-errors.ts';
import type { Received } from '../../../src/shared/received.ts';
import { inProof } from '../../support/proof.ts';

function cut(
  chunks: readonly Buffer[],
  listKey: string | undefined = 'items',
): CutResponse & { records: unknown[] } {
  const cutter = new ElementCutter(listKey);
  const taken: Received[] = [];
  for (const chunk of chunks) {
    cutter.push(chunk);
    taken.push(...cutter.take());
  }
  const response = cutter.end();
  return { ...response, records: [...taken, ...cutter.take()].map((one) => one.parse()) };
}

function cutText(text: string, listKey?: string): ReturnType<typeof cut> {
  return cut([Buffer.from(text)], listKey);
}

function defectOf(text: string): string {
  try {
    cutText(text);
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
  ])('records and envelope are equal if a response arrives in any two chunks (%s)', (_name, text) => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      const response = cut([bytes.subarray(0, at), bytes.subarray(at)]);
      expect(response.records).toEqual(NASTY_RECORDS);
      expect(response.envelope).toEqual(NASTY_ENVELOPE);
      expect(response.count).toBe(NASTY_RECORDS.length);
    }
  });

  test.each([1, 2, 3, 7, 64])('records are equal if a response arrives in chunks of %i bytes', (size) => {
    const bytes = Buffer.from(nastyText(1));
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    expect(cut(chunks).records).toEqual(NASTY_RECORDS);
  });

  test('the list can be first, in the middle or last in its response', () => {
    for (const text of [
      '{"items":[1,2],"ok":true,"paging":{"total":2}}',
      '{"ok":true,"items":[1,2],"paging":{"total":2}}',
      '{"ok":true,"paging":{"total":2},"items":[1,2]}',
    ]) {
      const response = cutText(text);
      expect(response.records).toEqual([1, 2]);
      expect(response.envelope).toEqual({ ok: true, paging: { total: 2 }, items: [] });
    }
  });

  test('the key of the list can be written with escapes', () => {
    expect(cutText(String.raw`{"\u0069tems":[1]}`).records).toEqual([1]);
  });

  test.each(['{"ok":true,"items":[]}', '{"ok":true,"items": [ \n ] }'])(
    'an empty list has no records: %s',
    (text) => {
      expect(cutText(text)).toEqual({
        records: [],
        count: 0,
        envelope: { ok: true, items: [] },
      });
    },
  );

  test('a response without the list, or with another value in its place, has no records', () => {
    for (const text of [
      '{"ok":false,"error":"x"}',
      '{"data":{"items":[1]}}',
      '{"items":{"a":[1]},"ok":true}',
      '{"items":null}',
    ])
      expect(cutText(text)).toEqual({ records: [], count: 0, envelope: JSON.parse(text) as unknown });
  });

  test('without a list key the whole response is envelope', () => {
    const cutter = new ElementCutter(undefined);
    cutter.push(Buffer.from('{"ok":true,"items":[1]}'));
    expect(cutter.end()).toEqual({ envelope: { ok: true, items: [1] }, count: 0 });
  });
});

describe('numbers that a double does not hold', () => {
  const filler = JSON.stringify({ id: 'x'.repeat(600), n: 17.5, times: [1_772_000_000_000], open: false });
  test.each([
    ['9007199254740993'],
    ['[1,9007199254740993,2]'],
    ['[9007199254740993]'],
    ['{"form_id":-9007199254740993}'],
    ['{"form_id" : 9007199254740993 , "a":1}'],
    ['1e999'],
    ['{"a":[1E999]}'],
    ['{"a":1e-400}'],
    ['0.1234567890123456789'],
    ['{"a":{"b":123456789.123456789012345}}'],
  ])('%s is exact at any place in a record and with any end of a chunk', (record) => {
    for (const records of [[record], [filler, record], [record, filler], [filler, record, filler]]) {
      const bytes = Buffer.from(`{"ok":true,"items":[${records.join(',')}]}`);
      const expected = records.map(parseExactJson);
      expect(JSON.stringify(expected)).not.toBe(
        JSON.stringify(records.map((one) => JSON.parse(one) as unknown)),
      );
      for (let end = 0; end <= bytes.length; end += 1) {
        // Inside of the filler's long text nothing of a number is near.
        if (end > 40 && end < bytes.length - 40 && bytes[end] === 0x78) continue;
        expect(cut([bytes.subarray(0, end), bytes.subarray(end)]).records).toEqual(expected);
      }
      expect(cut([...bytes].map((byte) => Buffer.from([byte]))).records).toEqual(expected);
    }
  });

  test('numbers are exact in a requested object, but not in the envelope of a list, which contains only counts and times', () => {
    const text = '{"ok":true,"user":{"id":12345678901234567890},"n":1.0}';
    expect(cutText(text).envelope).toEqual(JSON.parse(text));
    const cutter = new ElementCutter(undefined);
    cutter.push(Buffer.from(text));
    expect(cutter.end().envelope).toEqual(parseExactJson(text));
  });
});

describe('an incomplete or invalid response', () => {
  test('a response that ends anywhere before its end is response_cut', () => {
    const bytes = Buffer.from(nastyText(undefined));
    for (let end = 0; end < bytes.length; end += 1) {
      expect(() => cut([bytes.subarray(0, end)])).toThrow(expect.objectContaining({ code: 'response_cut' }));
    }
  });

  test.each([
    ['a login page', '<html><body>Login</body></html>'],
    ['an array', '[1]'],
    ['a number', '17'],
    ['a second response behind it', '{"ok":true,"items":[1]}{"ok":true}'],
    ['garbage behind it', '{"ok":true,"items":[1]}x'],
    ['a broken record', '{"ok":true,"items":[{"a":tru}]}'],
    ['an unclosed record', '{"ok":true,"items":[{"a":1],"b":2}}'],
    ['a list closed by a brace', '{"ok":true,"items":[1}'],
    ['a comma too many', '{"ok":true,"items":[1,,2]}'],
    ['a comma at the end of the list', '{"ok":true,"items":[1,]}'],
    ['a comma at the beginning of the list', '{"ok":true,"items":[,1]}'],
    ['a lone comma', '{"ok":true,"items":[,]}'],
    ['a missing comma', '{"ok":true,"items":[1 2]}'],
    ['an unquoted key', '{ok:true,"items":[1]}'],
    ['a raw line break in a string', '{"ok":true,"items":["a\nb"]}'],
  ])('a response with %s is response_not_json', (_name, text) => {
    expect(defectOf(text)).toBe('response_not_json');
  });

  test('a response that contains its list twice is response_invalid', () => {
    expect(defectOf('{"items":[1],"ok":true,"items":[2]}')).toBe('response_invalid');
    expect(defectOf('{"items":null,"ok":true,"items":[2]}')).toBe('response_invalid');
  });
});

test('a response with more than 16 MiB outside of the list is response_invalid', () => {
  const cutter = new ElementCutter('items');
  cutter.push(Buffer.from('{"ok":true,"text":"'));
  const part = Buffer.alloc(1024 * 1024, 'x');
  const pushAll = () => {
    for (let count = 0; count < 17; count += 1) cutter.push(part);
  };
  expect(pushAll).toThrow(expect.objectContaining({ code: 'response_invalid' }));
});

describe('the fields that are read before parsing', () => {
  const fieldsOf = (record: string, size: number) => {
    const cutter = new ElementCutter('items', ['id', 'created_on', 'name']);
    const bytes = Buffer.from(`{"ok":true,"items":[${record}]}`);
    for (let at = 0; at < bytes.length; at += size) cutter.push(bytes.subarray(at, at + size));
    cutter.end();
    const [received] = cutter.take();
    return ['id', 'created_on', 'name'].map((name) => received?.field(name));
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
  ])('the fields of %s are %j, in chunks of any size', (record, expected) => {
    for (const size of [1, 3, 1000]) expect(fieldsOf(record, size)).toEqual(expected);
  });

  test.each(['017', '"a\tb"', '"', '1-2', ''])(
    'the value %j of a field is refused, because it is not JSON',
    (value) => {
      expect(() => fieldsOf(`{"id":${value}}`, 1000)).toThrow(UnusableResponse);
    },
  );

  test('a number in a field keeps every digit', () => {
    expect(String(fieldsOf('{"id":12345678901234567890}', 1000)[0])).toBe('12345678901234567890');
  });
});

test('the text of an element is its bytes without surrounding white space', () => {
  const cutter = new ElementCutter('items');
  cutter.push(Buffer.from('{"items": [ {"a" : 1 }\n,\t[ ] , 2 ]}'));
  expect(cutter.take().map(({ text }) => text)).toEqual(['{"a" : 1 }', '[ ]', '2']);
});

describe('a record of more than 16 MiB', () => {
  const part = Buffer.alloc(1024 * 1024, 'x');
  function cutWith(before: string, parts: number, after: string) {
    const cutter = new ElementCutter('items', ['id', 'n', 'name', 'late']);
    cutter.push(Buffer.from(before));
    for (let count = 0; count < parts; count += 1) cutter.push(part);
    cutter.push(Buffer.from(after));
    const response = cutter.end();
    return { records: cutter.take(), ...response };
  }

  test('a record of more than 16 MiB keeps its first fields, and the other records are complete', () => {
    const { records, count } = cutWith(
      '{"ok":true,"items":[{"id":"a"},{"id":"b","n":7,"of":{"id":"no"},"name":"q\\"u","list":[1,2],"text":"',
      17,
      '","late":1},{"id":"c"},3]}',
    );
    expect(count).toBe(4);
    const [first, large, third, last] = records;
    expect([first, third, last].map((one) => one?.parse())).toEqual([{ id: 'a' }, { id: 'c' }, 3]);
    expect(large?.excess).toBe('the record is larger than 16777216 bytes (number 2 of its response)');
    expect(large?.parse()).toEqual({ id: 'b', n: 7, name: 'q"u' });
  });

  inProof(() => {
    test('a record of more than 16 MiB can be the only element of its list, and need not be an object', () => {
      for (const [opening, closing] of [
        ['{"id":"b","text":"', '"}'],
        ['["', '"]'],
        ['"', '"'],
      ]) {
        const { records, count } = cutWith(`{"ok":true,"items":[${opening ?? ''}`, 17, `${closing ?? ''}]}`);
        expect([count, records.map(({ excess }) => excess !== null)]).toEqual([1, [true]]);
      }
    });
  });
});

test('only the current record of a response of 20 MB is kept in memory', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const keptBytes = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const record = JSON.stringify({ id: 'u1', status: 'active', tags: ['a', 'b'], note: 'x'.repeat(400) });
  const part = Buffer.from(`${record},`.repeat(130));
  const cutter = new ElementCutter('items');
  cutter.push(Buffer.from('{"ok":true,"items":['));
  let records = 0;
  const readParts = (parts: number) => {
    for (let read = 0; read < parts; read += 1) {
      cutter.push(part);
      records += cutter.take().length;
    }
  };
  // Compiled code is kept as well: it exists after the first parts.
  readParts(30);
  const before = keptBytes();
  readParts(300);
  expect(keptBytes() - before).toBeLessThan(2_000_000);
  cutter.push(Buffer.from(`${record}]}`));
  records += cutter.take().length;
  expect(cutter.end()).toEqual({ envelope: { ok: true, items: [] }, count: records });
  expect(records).toBe(330 * 130 + 1);
});
