import { describe, expect, test } from 'vitest';
import { checkLabels } from '../../../src/warehouse/import-labels.ts';
import { readLabelsFile, renderLabelsFile } from '../../../src/warehouse/labels-file.ts';

const read = (text: string) => readLabelsFile(Buffer.from(text));
const linesOf = (text: string) =>
  read(text).lines.map(({ line, kind, id, label, parentId }) => [line, kind, id, label, parentId]);

describe('a labels file', () => {
  test('a labels file is read with byte order mark, semicolons or tabs, quotes and any line ends', () => {
    const expected = [
      [2, 'form', '1201', 'Near miss, "serious"', null],
      [4, 'field_office', '410', 'Aberdeen\nyard', 'uk'],
      [5, 'training', '301', 'Site induction', null],
    ];
    const rows = [
      ['kind', 'id', 'label', 'parent_id', 'seen'],
      ['form', '1201', '"Near miss, ""serious"""', '', '12'],
      ['field_office', '410', '"Aberdeen\nyard"', 'uk', '3'],
      ['Training', ' 301 ', 'Site induction', '', ''],
    ];
    for (const delimiter of [',', ';', '\t']) {
      for (const end of ['\n', '\r\n']) {
        const text = rows.map((cells) => cells.join(delimiter)).join(end);
        expect(linesOf(`\uFEFF${text}${end}`)).toEqual(expected);
      }
    }
  });

  test('an empty row of a template is no label, and rows without a label are counted', () => {
    const file = read('kind,id,label,parent_id,seen\nform,1,,,9\n\n,,,,\nform,2,Two,,8\n');
    expect([file.unfilled, file.bad, [...file.kinds]]).toEqual([1, [], ['form']]);
    expect(file.lines.map(({ line, id }) => [line, id])).toEqual([[5, '2']]);
  });

  test('each bad line of a labels file is reported with advice', () => {
    const { bad } = read(
      [
        'kind,id,label,parent_id',
        'fork,1,A',
        'form,,B',
        'form,2,C,,,D',
        '"form","3","E\nE"',
        'form,1.2E+15,F',
        'field_office,4,,uk',
        'form,5,"open',
      ].join('\n'),
    );
    expect(bad.map(({ line, problem }) => `${line} ${problem}`)).toEqual([
      expect.stringMatching(/^2 kind "fork" is not known; it is one of form, training, /),
      '3 has no id; write the id that the label is for, or remove the line',
      expect.stringMatching(/^4 Invalid Record Length: .* got 6 .* is put in quotes/),
      '7 id 1.2E+15 is a number that a spreadsheet has rounded; format the column as text and write the whole id',
      expect.stringMatching(/^9 Quote Not Closed: /),
    ]);
  });

  test('a text that is no labels file is refused', () => {
    expect(() => read('')).toThrow('line 1 of the labels file names the columns ""; expected kind,id,label');
    expect(() => read('kind,id,name\n')).toThrow('names the columns "kind,id,name"');
    expect(() => read('kind,id,label,label\n')).toThrow('names the columns');
    expect(() => readLabelsFile(Buffer.from('kind,id,label\nform,1,Größe\n', 'latin1'))).toThrow(
      'the labels file is not UTF-8',
    );
  });
});

const hostile = ['=HYPERLINK("http://evil","x")', '@SUM(1)', '+1', '-5', "'=1", "''-1", "'plain"];

test('a cell that a spreadsheet would treat as a formula is written as text, and read back unchanged', () => {
  const template = renderLabelsFile(hostile.map((id) => ({ kind: 'form', id, seen: 1 })));
  const file = template.replaceAll(/^form,(.*),,,1$/gm, 'form,$1,$1,$1,1');
  expect(file).not.toMatch(/(^|,|")[=@+-]/m);
  expect(read(file).lines.map(({ id, label, parentId }) => [id, label, parentId])).toEqual(
    hostile.map((id) => [id, id, id]),
  );
});

const problemsOf = (text: string, staying: Parameters<typeof checkLabels>[1] = []) =>
  checkLabels(read(`kind,id,label,parent_id\n${text}`).lines, staying).map(
    ({ line, problem }) => `${line} ${problem}`,
  );

test('the parent of a label has the kind of the label, in the file or stored before', () => {
  const stored = { kind: 'field_office', id: 'eu', label: 'Europe', parentId: null } as const;
  expect(problemsOf('field_office,1,A,eu\nfield_office,2,B,1\nclient,3,C,eu\n', [stored])).toEqual([
    '4 parent_id eu of client 3 has no name; add a line client,eu with a label, or empty the parent_id',
  ]);
});
