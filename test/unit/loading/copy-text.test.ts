import { describe, expect, test } from 'vitest';
import { toArrayLiteral } from '../../../src/engine/database/array-literal.ts';
import { CopyChunks, toCopyLine } from '../../../src/engine/loading/copy-records.ts';
import { RawJson } from '../../../src/engine/loading/record.ts';
import { createRandom } from '../../support/seeded-random.ts';

const columns = [
  { name: 'a', type: 'text' },
  { name: 'b', type: 'jsonb' },
  { name: 'c', type: 'text[]' },
  { name: 'd', type: 'boolean' },
];

describe('a line of COPY', () => {
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

  test('any text is equal after escaping and unescaping', () => {
    const random = createRandom(5);
    const pieces = ['\\', '\t', '\n', '\r', 'N', 'n', '.', '"', '😀', 'é', ' '];
    const back: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };
    for (let round = 0; round < 2000; round += 1) {
      let text = '';
      for (let length = random.below(12); length > 0; length -= 1) text += random.pick(pieces);
      const cell = toCopyLine([{ name: 'a', type: 'text' }], { a: text }).slice(0, -1);
      expect(cell).not.toMatch(/[\t\n\r]/);
      expect(cell.replace(/\\(.)/g, (_all, escaped: string) => back[escaped] ?? `?${escaped}`)).toBe(text);
    }
  });
});

test('an array distinguishes null from the text NULL', () => {
  expect(toArrayLiteral([null, 'NULL', 7])).toBe('{NULL,"NULL","7"}');
});

test('chunks contain all lines in order', () => {
  const text = (chunks: readonly Buffer[]) => Buffer.concat(chunks).toString();
  const chunksOf = (all: readonly string[]) => {
    const into = new CopyChunks();
    for (const line of all) into.add(line);
    return into.close();
  };
  const rows = Array.from({ length: 400 }, (_, index) => ({ a: `row ${index} ${'żółw 🐢 '.repeat(index)}` }));
  const lines = rows.map((row) => toCopyLine(columns, row));
  const chunks = chunksOf(lines);
  expect(text(chunks)).toBe(lines.join(''));
  expect(chunks.length).toBeGreaterThan(10);
  expect(chunksOf([])).toEqual([]);
  const one = columns.slice(0, 1);
  expect(toCopyLine(one, { a: 'b' }, 'x\t')).toBe('x\tb\n');
  const large = `${'long '.repeat(200_000)}\n`;
  expect(text(chunksOf(['b\n', large, 'c\n']))).toBe(`b\n${large}c\n`);
});
