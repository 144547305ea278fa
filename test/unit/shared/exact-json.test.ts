import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactJson, stringifyExactJson } from '../../../src/shared/exact-json.ts';
import { ExactNumber } from '../../../src/shared/exact-number.ts';

const exact = (text: string) => new ExactNumber(text);

describe('reading JSON', () => {
  test.each([
    ['0', 0],
    ['-0', -0],
    ['17.5', 17.5],
    ['1e5', 1e5],
    ['1E+5', 1e5],
    ['0.0000001', 1e-7],
    ['66.66666666666667', 66.66666666666667],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', exact('9007199254740992')],
    ['9007199254740993', exact('9007199254740993')],
    ['-12345678901234567890', exact('-12345678901234567890')],
    ['1234567890123456800', exact('1234567890123456800')],
    ['0.1234567890123456789', exact('0.1234567890123456789')],
    ['1.0', exact('1.0')],
    ['-0.0', exact('-0.0')],
    ['62.50', exact('62.50')],
    ['1.50e1', exact('1.50e1')],
    ['1e21', exact('1e21')],
    ['1e999', exact('1e999')],
    ['-1e-400', exact('-1e-400')],
    ['0e1073741822', 0],
    ['0e1073741823', exact('0e1073741823')],
  ])('the number %s is read as a double only if the double keeps its text', (text, value) => {
    for (const around of ['%', ' % ', '[%]', '[1,%,2]', '{"a":%}', '{"a" : [ % ] }']) {
      const expected = around.replaceAll('%', '"value"');
      const read = parseExactJson(around.replace('%', text));
      const wanted: unknown = JSON.parse(expected, (_, inner: unknown) =>
        inner === 'value' ? value : inner,
      );
      expect(read).toEqual(wanted);
    }
  });

  test('text that resembles a number stays text, and every other value equals the result of JSON.parse', () => {
    const text =
      '{"a":":12345678901234567890,","b":"1.0","":[null,true,{"c\\"":"\\u0000,1e999]"}],"n":[1e999]}';
    expect(parseExactJson(text)).toEqual({
      a: ':12345678901234567890,',
      b: '1.0',
      '': [null, true, { 'c"': '\u0000,1e999]' }],
      n: [exact('1e999')],
    });
  });

  test('a name that every object has is read as a field, and the last of two equal names counts', () => {
    const read = parseExactJson('{"__proto__":{"x":1.0},"a":1.0,"a":2.0}') as object;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.entries(read)).toEqual([
      ['__proto__', { x: exact('1.0') }],
      ['a', exact('2.0')],
    ]);
  });

  test.each(['', '01', '1.', '.5', '1e', '+1', '[1.0,]', '{"a":1.0', '12345678901234567890x', 'NaN', '-'])(
    'text that is no JSON is refused: %j',
    (text) => {
      expect(() => parseExactJson(text)).toThrow(SyntaxError);
    },
  );

  test('any value without inexact numbers is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(stringifyExactJson(parseExactJson(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test('thousands of levels are read without an error', () => {
    const text = `${'['.repeat(100_000)}1.0${']'.repeat(100_000)}`;
    expect(Array.isArray(parseExactJson(text))).toBe(true);
  });

  // A reader that takes quadratic time does not end before the test's time limit.
  test('a number with a million digits is read in linear time', () => {
    const value = parseExactJson(
      `[1${'0'.repeat(1_000_000)}1, 0.${'0'.repeat(1_000_000)}1]`,
    ) as ExactNumber[];
    expect(value.map((one) => [one.isStorable, one.toWholeText(), String(one).length])).toEqual([
      [false, undefined, 1_000_004],
      [false, undefined, 10],
    ]);
  });
});

describe('a number with every digit', () => {
  test.each([
    ['12345678901234567890', '12345678901234567890', '12345678901234567890'],
    ['-7.0', '-7', '-7'],
    ['0.0', '0', '0'],
    ['-0.00', '0', '0'],
    ['1.50', undefined, '1.5'],
    ['1.0e-7', undefined, '1e-7'],
    ['1.23e25', '12300000000000000000000000', '12300000000000000000000000'],
    ['120.0e-1', '12', '12'],
    ['0.1234567890123456789', undefined, '0.1234567890123456789'],
    ['-123.00000000000000000001', undefined, '-123.00000000000000000001'],
    ['-1e-400', undefined, `-0.${'0'.repeat(399)}1`],
    ['1e2000', undefined, '1e2000'],
    ['1.5e-2000', undefined, '15e-2001'],
  ])('the number %s as a whole number is %s, and in plain digits %s', (text, whole, plain) => {
    expect(exact(text).toWholeText()).toBe(whole);
    expect(String(exact(text))).toBe(plain);
  });

  test('an exact number is written as it was read', () => {
    const text = '{"a":[12345678901234567890,1.50],"b":{"c":1e999,"d":"1.0"}}';
    expect(stringifyExactJson(parseExactJson(text))).toBe(text);
  });

  test('an exact number is written as text if PostgreSQL has no such number', () => {
    const numbers = [exact('1e200000'), exact('0e-99999'), exact('0e1073741823')];
    expect(stringifyExactJson(numbers)).toBe('["1e200000","0e-99999","0e1073741823"]');
  });
});
