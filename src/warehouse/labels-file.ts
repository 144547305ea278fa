/** Reads and writes the CSV file of labels: `kind,id,label,parent_id,seen`. */
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { LABEL_KINDS, type LabelKind } from './labels.ts';
import { usageError } from '../shared/errors.ts';
import { fromSpreadsheet, toSpreadsheet } from '../shared/spreadsheet.ts';

/** The columns of the template. `seen` is the number of records with the id, and is ignored by an import. */
const COLUMNS = ['kind', 'id', 'label', 'parent_id', 'seen'];

export interface LabelLine {
  readonly kind: LabelKind;
  readonly id: string;
  /** null: the name that the service gives. */
  readonly label: string | null;
  /** null: no parent. */
  readonly parentId: string | null;
  /** The last line of the record in the file, from 1. */
  readonly line: number;
}

export interface BadLine {
  readonly line: number;
  /** The problem, and how to correct it. */
  readonly problem: string;
}

export type LabelsFile = ReturnType<typeof readLabelsFile>;

/** The form that a spreadsheet gives to a long number. */
const ROUNDED = /^\d([.,]\d+)?E\+\d+$/i;

function decode(bytes: Uint8Array): string {
  try {
    // Drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const advice = 'Save it as UTF-8; in a spreadsheet choose “CSV UTF-8”.';
    throw usageError('the labels file is not UTF-8', advice, cause);
  }
}

function readHeader(cells: readonly string[]): string[] {
  const names = cells.map((name) => name.toLowerCase());
  const known = COLUMNS.filter((name) => names.includes(name));
  if (known.length === names.length && known.slice(0, 3).join() === 'kind,id,label') return names;
  throw usageError(
    `line 1 of the labels file names the columns ${JSON.stringify(names.join(',').slice(0, 200))}; expected ${COLUMNS.join(',')} (parent_id and seen can be left out)`,
    'safety-sync labels template writes such a file.',
  );
}

const QUOTES = 'a text with delimiters or quotes is put in quotes, and a quote in it is written twice';

/** Separates valid and invalid lines. Throws `usage_invalid` when the file is not a CSV file of labels. */
export function readLabelsFile(bytes: Uint8Array) {
  const text = decode(bytes);
  const [header = ''] = text.split(/[\r\n]/, 1);
  const lines: LabelLine[] = [];
  /** Every kind in the file, also kinds without labels. */
  const kinds = new Set<LabelKind>();
  const bad: BadLine[] = [];
  /** Lines of a template without a label. */
  let unfilled = 0;
  function addRow(row: Readonly<Record<string, string>>, line: number): void {
    const { id = '', label = '', parent_id: parentId = '' } = row;
    const kind = LABEL_KINDS.find((one) => one === row['kind']?.toLowerCase());
    const refuse = (problem: string): void => void bad.push({ line, problem });
    if (kind !== undefined) kinds.add(kind);
    if (Object.values(row).every((cell) => cell === '')) return;
    if (kind === undefined)
      refuse(`kind ${JSON.stringify(row['kind'])} is not known; it is one of ${LABEL_KINDS.join(', ')}`);
    else if (id === '') refuse('has no id; write the id that the label is for, or remove the line');
    else if (ROUNDED.test(id))
      refuse(
        `id ${id} is a number that a spreadsheet has rounded; format the column as text and write the whole id`,
      );
    else if (label === '' && parentId === '') unfilled += 1;
    else lines.push({ line, kind, id, label: label || null, parentId: parentId || null });
  }
  // The header of an empty file is empty.
  parse(text || '\n', {
    // A spreadsheet may write `;` or tabs.
    delimiter: [';', '\t'].find((one) => header.includes(one)) ?? ',',
    columns: readHeader,
    relax_column_count_less: true,
    cast: (cell) => fromSpreadsheet(cell.trim()),
    on_record(row: Readonly<Record<string, string>>, info) {
      addRow(row, info.lines);
      return null;
    },
    skip_records_with_error: true,
    on_skip: (error) =>
      void bad.push({ line: Number(error?.['lines']), problem: `${String(error?.message)}; ${QUOTES}` }),
  });
  return { lines, kinds, unfilled, bad };
}

/** The template: labels and parents are to be filled in. */
export const renderLabelsFile = (
  lines: readonly (Pick<LabelLine, 'kind' | 'id'> & { readonly seen: number })[],
): string =>
  stringify(
    lines.map(({ kind, id, seen }) => [kind, toSpreadsheet(id), '', '', seen]),
    { header: true, columns: COLUMNS },
  );
