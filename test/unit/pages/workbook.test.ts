import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Cell, renderWorkbook } from '../../../src/pages/report/workbook.ts';
import { readEntries, readWorkbook } from '../../support/read-workbook.ts';

async function bytesOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<Buffer> {
  const titles = columns.map((title) => ({
    title,
    width: title === 'Note' ? 60 : 15,
    isDay: title.endsWith('on'),
  }));
  return await buffer(renderWorkbook([{ name: 'list', columns: titles, rows: [rows] }]));
}
const sheetOf = async (columns: readonly string[], rows: readonly (readonly Cell[])[]) =>
  readWorkbook(await bytesOf(columns, rows)).get('list') ?? [];

test('a number and a day are typed cells, a boolean is a word, and an id is a text cell', async () => {
  const [, row] = await sheetOf(
    ['id', 'count', 'open', 'due on', 'closed on', 'old on', 'share'],
    [['00042', -3, true, '2026-03-01', null, '1850-01-01', 12.5]],
  );
  expect(
    [...(row?.entries() ?? [])].map(([column, { type, style, text }]) => [column, type, style, text]),
  ).toEqual([
    ['A', 'inlineStr', '5', '00042'],
    ['B', 'n', '4', '-3'],
    ['C', 'inlineStr', '5', 'yes'],
    ['D', 'n', '2', '46082'],
    ['F', 'inlineStr', '5', '1850-01-01'],
    ['G', 'n', '4', '12.5'],
  ]);
});

test('a text remains a text, also if it resembles a formula or markup', async () => {
  const texts = [`=1+1`, `<b>"&'</b>`, 'two\nlines ', '_x0041_', 'a\u0000b\u202e', '\uffff', `'=x`, '😀'];
  const [, ...rows] = await sheetOf(
    ['text'],
    texts.map((text) => [text]),
  );
  expect(rows.map((row) => row.get('A'))).toEqual(
    [`=1+1`, `<b>"&'</b>`, 'two\nlines ', '_x005F_x0041_', 'a\ufffdb\ufffd', '\ufffd', `'=x`, '😀'].map(
      (text) => ({
        type: 'inlineStr',
        style: '5',
        formula: null,
        text,
      }),
    ),
  );
});

test('a URL is a link, or a text if it is too long for a link', async () => {
  const [short, long] = [
    new URL('https://example.com/a?b="c"&d'),
    new URL(`https://example.com/${'x'.repeat(300)}`),
  ];
  const [, first, second] = await sheetOf(['link'], [[short], [long]]);
  expect(first?.get('A')).toEqual({
    type: 'str',
    style: '3',
    formula: `HYPERLINK("${short.href}")`,
    text: short.href,
  });
  expect(second?.get('A')).toMatchObject({ type: 'inlineStr', formula: null, text: long.href });
});

test('a text that is too long for a cell is cut and ends with an ellipsis', async () => {
  const text = (await sheetOf(['Note'], [['y'.repeat(40_000)]]))[1]?.get('A')?.text ?? '';
  expect([text.length, text.at(-1)]).toEqual([32_767, '…']);
});

test('on paper a sheet has the columns before those that come last, and rows as high as their wrapped texts', async () => {
  const columns = [
    { title: 'Note', width: 10 },
    { title: 'Due', width: 10 },
    { title: 'Id', width: 10, isSpare: true },
  ];
  const rows = [[['x'.repeat(30)], ['short']]];
  const files = readEntries(await buffer(renderWorkbook([{ name: 'list', columns, rows }])));
  expect(files.get('xl/workbook.xml')).toContain(`'list'!$A:$B</definedName>`);
  expect(files.get('xl/workbook.xml')).toContain(`'list'!$1:$1</definedName>`);
  const sheet = files.get('xl/worksheets/sheet1.xml') ?? '';
  expect(sheet).toContain('<row r="2" ht="45" customHeight="1">');
  expect(sheet).toContain('<row r="3">');
  expect(sheet).toContain('orientation="landscape" fitToWidth="1" fitToHeight="0"');
});
