import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactJson } from '../../../src/shared/exact-json.ts';
import { equipmentsStream } from '../../../src/streams/equipments.ts';
import { resourcesStream } from '../../../src/streams/resources.ts';
import type { WireRecord } from '../../../src/streams/stream.ts';
import { toCanonicalJson } from '../../../src/loading/canonical-json.ts';
import { identify, identityOf, toIdentity, toStorable, toUuid } from '../../../src/loading/identify.ts';

/** What canonical JSON is, without regard to time. */
function simply(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(simply).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${simply(inner)}`).join(',')}}`;
}

describe('canonical JSON', () => {
  test('the order of keys does not matter, the order of lists does', () => {
    expect(toCanonicalJson({ b: [2, 1], a: { d: null, c: 'x' } })).toBe('{"a":{"c":"x","d":null},"b":[2,1]}');
    expect(toCanonicalJson([1, 2])).not.toBe(toCanonicalJson([2, 1]));
  });

  test('any JSON value reads back as itself, and is the text that JSON.stringify has for it with sorted keys', () => {
    const unit = fc.constantFrom<('grapheme-ascii' | 'grapheme' | 'binary')[]>(
      'grapheme-ascii',
      'grapheme',
      'binary',
    );
    const values = unit.chain((stringUnit) => fc.jsonValue({ stringUnit, depthSize: 'large' }));
    fc.assert(
      fc.property(values, (value) => {
        const text = toCanonicalJson(value);
        expect(text).toBe(simply(value));
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(toCanonicalJson(JSON.parse(text))).toBe(text);
      }),
      { numRuns: 200 },
    );
    expect(toCanonicalJson(JSON.parse('[1e400, -1e400, -0, 1e21, 1e-7]'))).toBe('[null,null,0,1e+21,1e-7]');
    expect(toCanonicalJson([{}, [], '', 'ä"\\', true, null])).toBe('[{},[],"","ä\\"\\\\",true,null]');
    for (let unit = 0; unit < 0x100; unit += 1) {
      const text = `a${String.fromCharCode(unit)}`;
      expect(toCanonicalJson(text)).toBe(JSON.stringify(text));
    }
  });

  test('whole numbers are written as they are, however many digits they have', () => {
    const near = (power: number) => [10 ** power - 1, 10 ** power, 10 ** power + 1];
    const numbers = [
      ...Array.from({ length: 16 }, (_, power) => near(power)).flat(),
      Number.MAX_SAFE_INTEGER,
    ];
    for (const number of numbers) expect(toCanonicalJson([number, -number])).toBe(`[${number},${-number}]`);
    fc.assert(fc.property(fc.maxSafeInteger(), (number) => toCanonicalJson(number) === String(number)));
  });

  test('a text may be longer than all before it, and the next one is not touched by it', () => {
    for (const part of ['a', '\n', 'ä', '😀', '\ud800']) {
      const value = { z: part.repeat(400_000), a: [part] };
      expect(toCanonicalJson(value)).toBe(simply(value));
      expect(toCanonicalJson({ b: part })).toBe(simply({ b: part }));
    }
    const many = Array.from({ length: 60_000 }, () => [{}]);
    expect(toCanonicalJson(many)).toBe(simply(many));
    const names = Object.fromEntries(many.map((_, number) => [`name ${number}`, true]));
    expect(toCanonicalJson(names)).toBe(simply(names));
  });

  test('a key that is called like a property of every object is a key', () => {
    const value: unknown = JSON.parse('{"__proto__":1,"constructor":2}');
    expect(toCanonicalJson(value)).toBe('{"__proto__":1,"constructor":2}');
    expect(toCanonicalJson(toStorable(value))).toBe('{"__proto__":1,"constructor":2}');
  });
});

describe('text that PostgreSQL refuses', () => {
  test.each([
    ['a\u0000b', 'a\ufffdb'],
    ['\ud800', '\ufffd'],
    ['\udc00\ud800', '\ufffd\ufffd'],
    ['😀\ud83d', '😀\ufffd'],
    ['\\u0000', '\\u0000'],
  ])('%j becomes %j', (received, stored) => {
    expect(toStorable(received)).toBe(stored);
    expect(toStorable({ [received]: [received] })).toEqual({ [stored]: [stored] });
    expect(identify(resourcesStream, { id: 'x', title: received }, {}).record).toEqual({
      id: 'x',
      title: stored,
    });
  });
});

describe('what a record is known by', () => {
  test('equal records have equal hashes, whatever the order of their fields', () => {
    const one = identify(resourcesStream, { id: '1', title: 'a' }, {});
    expect(identify(resourcesStream, { title: 'a', id: '1' }, {}).hash).toBe(one.hash);
    expect(identify(resourcesStream, { title: 'b', id: '1' }, {}).hash).not.toBe(one.hash);
    expect(identify({ ...resourcesStream, version: 2 }, { id: '1', title: 'a' }, {}).hash).not.toBe(one.hash);
  });

  test.each([
    '{"id":"e1","created":1772000000000,"metavalues":{"1":2024.5,"2":1e-7,"3":0.1,"4":-0,"5":66.66666666666667}}',
    '{"id":"e1","created":1772000000000.0,"metavalues":{"1":2024.50,"2":1.0e-7,"3":0.10,"4":-0.0,"5":66.666666666666670}}',
    '{"created":177200000000e1,"id":"e1","metavalues":{"1":20245e-1,"2":0.0000001,"3":1E-1,"4":0,"5":6666666666666667e-14}}',
  ])('a number has one hash in whatever way it is written, and stored records keep theirs: %s', (text) => {
    expect(identify(equipmentsStream, parseExactJson(text), {}).hash).toBe(
      '481af8ee-f4af-864a-e158-d7cd99a1e245',
    );
  });

  test('what a double would round to the same has different hashes, and none is that of the rounded number', () => {
    const hashes = ['9007199254740992', '9007199254740993', '9007199254740992.5', '1e999', '1e998'].map(
      (number) => identify(resourcesStream, parseExactJson(`{"id":"x","n":${number}}`), {}).hash,
    );
    const rounded = [2 ** 53, Infinity].map((n) => identify(resourcesStream, { id: 'x', n }, {}).hash);
    expect(new Set([...hashes, ...rounded]).size).toBe(7);
  });

  test('a number is kept where the text of its record has to be made storable', () => {
    const { text, record } = identify(
      resourcesStream,
      parseExactJson('{"id":12345678901234567890,"title":"a\\u0000b","n":[1.50,1e200000]}'),
      {},
    );
    expect(text).toBe('{"id":12345678901234567890,"n":[1.50,"1e200000"],"title":"a\ufffdb"}');
    expect(record).toMatchObject({ title: 'a\ufffdb' });
  });

  test.each([
    [parseExactJson('12345678901234567890') as object, null],
    [{ id: parseExactJson('12345678901234567890') }, '12345678901234567890'],
    [{ id: parseExactJson('12345678901234567891.0') }, '12345678901234567891'],
    [{ id: parseExactJson('7.0') }, '7'],
    [{ id: parseExactJson('7.50') }, null],
    [{ id: parseExactJson('1e400') }, `1${'0'.repeat(400)}`],
    [{ id: parseExactJson('1e999999999') }, null],
    [{ id: 7 }, '7'],
    [{ id: 'x' }, 'x'],
    [{ id: '' }, null],
    [{}, null],
    [[], null],
    ['text', null],
    [null, null],
  ])('the key of %j is %j', (received, key) => {
    const identified = identify(resourcesStream, received, {});
    expect(identified.key).toBe(key);
    expect(identified.problem === null).toBe(key !== null);
  });

  test('a record nested without end cannot be a row, but tells which one it is, and is held as far as it can be', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 20_000; depth += 1) nested = [nested];
    expect(identify(resourcesStream, { id: 'deep', nested }, {})).toMatchObject({
      key: 'deep',
      problem: 'the record is nested deeper than 200 levels',
      isShortened: true,
      record: { id: 'deep' },
    });
    expect(identify(resourcesStream, { id: null, nested }, {})).toMatchObject({
      key: null,
      problem: 'the record is nested deeper than 200 levels; no usable id: it is absent',
    });
    expect(identify(resourcesStream, nested, {})).toMatchObject({ key: null, isShortened: true });
  });

  test('identity needs at least one of its fields', () => {
    expect(identityOf(resourcesStream, { id: '1' })).toBeNull();
    expect(identityOf(resourcesStream, null)).toBeNull();
    expect(identityOf(resourcesStream, { id: '1', created: 5 })).toBe(
      identityOf(resourcesStream, { created: 5, title: 'x' }),
    );
  });
});

describe('what a row takes from the question', () => {
  const hashOf = (record: object, equipmentTypeId: string) =>
    identify(equipmentsStream, record, { equipmentTypeId }).hash;

  test('is part of the hash where the record does not say it, or says something else', () => {
    expect(hashOf({ id: '1' }, '21')).not.toBe(hashOf({ id: '1' }, '24'));
    expect(hashOf({ id: '1', equipmentType_id: '21-A' }, '21')).not.toBe(
      hashOf({ id: '1', equipmentType_id: '21-A' }, '24'),
    );
  });

  test('leaves the hash of a record that says it itself as it was in earlier releases', () => {
    const record = { equipmentType_id: '21', id: '1' };
    expect(hashOf(record, '21')).toBe(toUuid(`1:${JSON.stringify(record)}`));
  });
});

test('a record without a key is recognized by numbers that a double does not hold, as PostgreSQL writes them', () => {
  const identity = (text: string) => identityOf(resourcesStream, parseExactJson(text) as WireRecord);
  const stored = toIdentity(parseExactJson('[9007199254740993, null]') as unknown[]);
  expect(identity('{"created":9007199254740993}')).toBe(stored);
  expect(identity('{"created":9.007199254740993e15}')).toBe(stored);
  expect(identity('{"created":9007199254740995}')).not.toBe(stored);
});

test('a record without a key is recognized when its numbers come as text, and by text that comes as numbers', () => {
  const identity = (text: string) => identityOf(resourcesStream, parseExactJson(text) as WireRecord);
  for (const number of ['1772452800000', '9007199254740993']) {
    expect(identity(`{"created":"${number}","sequence":7}`)).toBe(
      identity(`{"created":${number},"sequence":"7"}`),
    );
  }
  expect(identity('{"created":"5"}')).not.toBe(identity('{"created":6}'));
});
