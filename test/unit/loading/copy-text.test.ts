import { expect, test } from 'vitest';
import { toCopyLine } from '../../../src/engine/loading/copy-records.ts';
import { RawJson } from '../../../src/engine/loading/record.ts';

const columns = [
  { name: 'a', type: 'text' },
  { name: 'b', type: 'jsonb' },
  { name: 'c', type: 'text[]' },
  { name: 'd', type: 'boolean' },
];

test.each([
  [{ a: 'x', b: { k: 1 }, c: ['p', 'q'], d: true }, 'x\t{"k":1}\t{"p","q"}\ttrue\n'],
  [{ a: null, b: null, c: null }, '\\N\t\\N\t\\N\t\\N\n'],
  [{ a: '\\N', b: 'null', c: [] }, '\\\\N\t"null"\t{}\t\\N\n'],
  [{ a: 'a\tb\nc\rd\\e' }, 'a\\tb\\nc\\rd\\\\e\t\\N\t\\N\t\\N\n'],
  [{ b: new RawJson('{"t":"\\n"}') }, '\\N\t{"t":"\\\\n"}\t\\N\t\\N\n'],
  [{ c: ['a,b', '"', '\\', 'NULL', ''] }, '\\N\t\\N\t{"a,b","\\\\"","\\\\\\\\","NULL",""}\t\\N\n'],
  [{ d: false }, '\\N\t\\N\t\\N\tfalse\n'],
])('a row becomes a line of COPY, case %#', (row, line) => {
  expect(toCopyLine(columns, row)).toBe(line);
});
