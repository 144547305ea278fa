import { describe, expect, test } from 'vitest';
import * as wire from '../../../src/engine/streams/wire.ts';

/** The result of a field for a value, and its issue for a value that it cannot take. */
function read<T>(field: wire.Field<T>, value: unknown): { taken: T | null; problems: number } {
  let problems = 0;
  const taken = field.read(value, () => {
    problems += 1;
  });
  return { taken, problems };
}

const taken = <T>(value: T) => ({ taken: value, problems: 0 });
const refused = { taken: null, problems: 1 };

describe('forms of field values', () => {
  test.each([
    ['text', wire.text, 'a', taken('a')],
    ['text', wire.text, '', taken('')],
    ['text', wire.text, 7.5, taken('7.5')],
    ['text', wire.text, { a: 1 }, refused],
    ['identifier', wire.identifier, 7, taken('7')],
    ['identifier', wire.identifier, '007', taken('007')],
    ['identifier', wire.identifier, 7.5, refused],
    ['identifier', wire.identifier, 2 ** 53, refused],
    ['identifier', wire.identifier, 'é'.repeat(300), taken('é'.repeat(300))],
    ['identifier', wire.identifier, 'é'.repeat(301), refused],
    ['key', wire.key, '', refused],
    ['key', wire.key, 0, taken('0')],
    ['bigint', wire.bigint, '9007199254740991', taken('9007199254740991')],
    ['bigint', wire.bigint, '9007199254740992', refused],
    ['bigint', wire.bigint, -(2 ** 53), refused],
    ['bigint', wire.bigint, '-0', taken('0')],
    ['bigint', wire.bigint, '007', taken('7')],
    ['bigint', wire.bigint, '17.5', refused],
    ['bigint', wire.bigint, '', refused],
    ['bigint', wire.bigint, ' 7', refused],
    ['bigint', wire.bigint, '0x10', refused],
    ['bigint', wire.bigint, 'seven', refused],
    ['bigint', wire.bigint, ['7'], refused],
    ['numeric', wire.numeric, 62.5, taken('62.5')],
    ['numeric', wire.numeric, '62.50', taken('62.5')],
    ['numeric', wire.numeric, 2 ** 53 - 1, taken('9007199254740991')],
    ['numeric', wire.numeric, 2 ** 53, refused],
    ['numeric', wire.numeric, Infinity, refused],
    ['text', wire.text, 2 ** 53, refused],
    ['numeric', wire.numeric, '1e5', refused],
    ['instant', wire.instant, 0, refused],
    ['instant', wire.instant, '0', refused],
    ['instant', wire.instant, '1700000000000', taken('2023-11-14T22:13:20.000Z')],
    ['instant', wire.instant, 1.5, taken('1970-01-01T00:00:00.001Z')],
    ['instant', wire.instant, -1, taken('1969-12-31T23:59:59.999Z')],
    ['instant', wire.instant, Date.parse('0001-01-01T12:00:00Z'), taken('0001-01-01T12:00:00.000Z')],
    ['instant', wire.instant, Date.parse('0000-12-31T00:00:00Z'), refused],
    ['instant', wire.instant, Date.parse('9999-12-31T09:59:59.999Z'), taken('9999-12-31T09:59:59.999Z')],
    ['instant', wire.instant, Date.parse('+010000-01-01T00:00:00Z'), refused],
    ['instant', wire.instant, '2023-11-14', refused],
    ['day', wire.day, 1_700_000_000_000, taken('2023-11-14')],
    ['day', wire.day, '20240229', taken('2024-02-29')],
    ['day', wire.day, 20_230_229, refused],
    ['day', wire.day, [20_240_229], refused],
    ['date', wire.date, 20_240_229, taken('2024-02-29')],
    ['date', wire.date, '20240229', taken('2024-02-29')],
    ['date', wire.date, 20_230_229, refused],
    ['date', wire.date, 20_240_431, refused],
    ['date', wire.date, [20_240_229], refused],
    ['date', wire.date, 0, refused],
    ['date', wire.date, 20_240_229.5, refused],
    ['date', wire.date, 202_402, refused],
    ['date', wire.date, 202_402_290, refused],
    ['date', wire.date, '2024-02-29', refused],
    ['boolean', wire.boolean, 'false', taken(false)],
    ['boolean', wire.boolean, 1, refused],
    ['object', wire.object, {}, taken({})],
    ['object', wire.object, [], refused],
  ] as const)(
    'a field of type %s accepts the forms of the specification and refuses others, case %#',
    (_name, field: wire.Field<unknown>, value, expected) => {
      expect(read(field, value)).toEqual(expected);
    },
  );

  test.each(Object.entries(wire).filter(([, field]) => typeof field === 'object'))(
    'a field of type %s reads absent and null as null, without an issue',
    (_name, field) => {
      for (const value of [null, undefined]) {
        expect(read(field as wire.Field<unknown>, value)).toEqual({ taken: null, problems: 0 });
      }
    },
  );
});

test.each([
  [[1, 2], 'a list of 2'],
  [{ a: 1 }, 'an object'],
  [Infinity, 'number Infinity'],
  [false, 'boolean false'],
  ['x'.repeat(58), `text "${'x'.repeat(58)}"`],
  ['x'.repeat(59), `text "${'x'.repeat(56)}…`],
  [null, 'null'],
])('the value %j is described as %s', (value, words) => {
  expect(wire.describeValue(value)).toBe(words);
});

test('a value outside of its list of values is kept, with an issue', () => {
  const found: unknown[] = [];
  const field = wire.oneOf(['open', 'closed']);
  expect(field.read('ajar', (_problem, detail) => found.push(detail?.kind))).toBe('ajar');
  expect(field.read('open', () => found.push('never'))).toBe('open');
  expect(found).toEqual(['unknown_value']);
});
