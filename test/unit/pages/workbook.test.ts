import { expect, test } from 'vitest';
import { type Cell, renderWorkbook } from '../../../src/pages/report/workbook.ts';
import { readWorkbook } from '../../support/read-workbook.ts';

async function sheetOf(columns: readonly string[], rows: readonly (readonly Cell[])[], name = 'list') {
  const chunks: Uint8Array[] = [];
  for await (const chunk of renderWorkbook([{ name, columns, rows: [rows] }])) chunks.push(chunk);
  return readWorkbook(Buffer.concat(chunks));
}

test('a number, a boolean and a day are typed cells, and an id is a text cell', async () => {
  const sheets = await sheetOf(
    ['id', 'count', 'is_open', 'due_on', 'closed_on', 'old_on', 'share'],
    [['00042', -3, true, '2026-03-01', null, '1850-01-01', 12.5]],
  );
  const [names, row] = sheets.get('list') ?? [];
  expect([...(names?.values() ?? [])].map(({ text }) => text)).toContain('due_on');
  expect(
    [...(row?.entries() ?? [])].map(([column, { type, style, text }]) => [column, type, style, text]),
  ).toEqual([
    ['A', 'inlineStr', '', '00042'],
    ['B', 'n', '', '-3'],
    ['C', 'b', '', '1'],
    ['D', 'n', '2', '46082'],
    ['F', 'inlineStr', '', '1850-01-01'],
    ['G', 'n', '', '12.5'],
  ]);
});

test('a text remains a text, also if it resembles a formula or markup', async () => {
  const texts = [`=1+1`, `<b>"&'</b>`, 'two\nlines ', '_x0041_', 'a\u0000b\u202e', '\uffff', `'=x`, '😀'];
  const sheets = await sheetOf(
    ['note'],
    texts.map((text) => [text]),
  );
  const [, ...rows] = sheets.get('list') ?? [];
  expect(rows.map((row) => row.get('A'))).toEqual(
    [`=1+1`, `<b>"&'</b>`, 'two\nlines ', '_x005F_x0041_', 'a\ufffdb\ufffd', '\ufffd', `'=x`, '😀'].map(
      (text) => ({
        type: 'inlineStr',
        // The style of texts that a change of the cell must not turn into a formula.
        style: text.endsWith('=1+1') || text.startsWith("'") ? '3' : '',
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
  const sheets = await sheetOf(['link'], [[short], [long]]);
  const [, first, second] = sheets.get('list') ?? [];
  expect(first?.get('A')).toEqual({
    type: 'str',
    style: '4',
    formula: `HYPERLINK("${short.href}")`,
    text: short.href,
  });
  expect(second?.get('A')).toMatchObject({ type: 'inlineStr', formula: null, text: long.href });
});

test('a text that is too long for a cell is cut and ends with an ellipsis', async () => {
  const sheets = await sheetOf(['note'], [['y'.repeat(40_000)]]);
  const text = sheets.get('list')?.[1]?.get('A')?.text ?? '';
  expect([text.length, text.at(-1)]).toEqual([32_767, '…']);
});

test('rows beyond the limit of a sheet continue on another sheet', async () => {
  const rows = [[[1], [2], [3]], [[4]], [[5], [6], [7]]];
  const chunks: Uint8Array[] = [];
  const sheet = { name: 'a list with a name of 31 letters', columns: ['n'], rows };
  for await (const chunk of renderWorkbook([sheet], 4)) chunks.push(chunk);
  const sheets = readWorkbook(Buffer.concat(chunks));
  expect([...sheets].map(([name, read]) => [name, read.map((row) => row.get('A')?.text)])).toEqual([
    ['a list with a name of 31 letters', ['n', '1', '2', '3']],
    ['a list with a name of 31  (2)', ['n', '4', '5', '6']],
    ['a list with a name of 31  (3)', ['n', '7']],
  ]);
});
