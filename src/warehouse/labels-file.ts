/** Reads and writes the CSV file of labels: `kind,id,label,parent_id,seen`. */
import { CsvError, type Info, parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { LABEL_KINDS, type LabelKind } from './labels.ts';
import { usageError } from '../shared/errors.ts';
import { fromSpreadsheet, toSpreadsheet } from '../shared/spreadsheet.ts';

/** The columns of the template. `seen` is the number of records with the id, and is ignored by an import. */
const COLUMNS = ['kind', 'id', 'label', 'parent_id', 'seen'];

export interface Label {
  readonly kind: LabelKind;
  readonly id: string;
  /** null: the name that the service gives. */
  readonly label: string | null;
  /** null: no parent. */
  readonly parentId: string | null;
}

export interface LabelLine extends Label {
  /** The first line of the record in the file, from 1. */
  readonly line: number;
}

export interface BadLine {
  readonly line: number;
  /** The problem, and how to correct it. */
  readonly problem: string;
}

export interface LabelsFile {
  readonly lines: readonly LabelLine[];
  /** Every kind in the file, also kinds without labels. */
  readonly kinds: ReadonlySet<LabelKind>;
  /** Lines of a template without a label. */
  readonly unfilled: number;
  readonly bad: readonly BadLine[];
}

/** The form that a spreadsheet gives to a long number. */
const ROUNDED = /^\d([.,]\d+)?E\+\d+$/i;

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

function readRows(bytes: Uint8Array): Row[] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const [header = ''] = text.split(/\r?\n|\r/, 1);
    // A spreadsheet may write `;` or tabs.
    const delimiter = [';', '\t'].find((one) => header.includes(one)) ?? ',';
    const parsed = parse(text, { delimiter, bom: true, info: true, relax_column_count: true });
    let next = 1;
    return (parsed as unknown as { record: string[]; info: Info }[]).map(({ record, info }) => {
      const line = next;
      // Quoted texts may span several lines.
      next = info.lines + 1;
      return { line, cells: record.map((cell) => fromSpreadsheet(cell.trim())) };
    });
  } catch (cause) {
    if (cause instanceof CsvError) {
      throw usageError(
        `the labels file is not CSV: ${cause.message}`,
        'A text in quotes ends with a quote, and a quote within it is written twice.',
        cause,
      );
    }
    throw usageError(
      'the labels file is not UTF-8',
      'Save it as UTF-8; in a spreadsheet choose “CSV UTF-8”.',
      cause,
    );
  }
}

function readHeader({ cells }: Row): string[] {
  const names = cells.map((name) => name.toLowerCase());
  const isWhole = ['kind', 'id', 'label'].every((name) => names.includes(name));
  if (isWhole && names.every((name, at) => COLUMNS.includes(name) && names.indexOf(name) === at))
    return names;
  throw usageError(
    `line 1 of the labels file names the columns ${JSON.stringify(names.join(',').slice(0, 200))}; expected ${COLUMNS.join(',')} (parent_id and seen can be left out)`,
    'safety-sync labels template writes such a file.',
  );
}

/** Separates valid and invalid lines. Throws `usage_invalid` when the file is not a CSV file of labels. */
export function readLabelsFile(bytes: Uint8Array): LabelsFile {
  const [header = { line: 1, cells: [] }, ...rows] = readRows(bytes);
  const columns = readHeader(header);
  const lines: LabelLine[] = [];
  const kinds = new Set<LabelKind>();
  const bad: BadLine[] = [];
  let unfilled = 0;
  for (const { line, cells } of rows.filter((row) => row.cells.some((cell) => cell !== ''))) {
    const refuse = (problem: string): void => void bad.push({ line, problem });
    const cell = (column: string): string => cells[columns.indexOf(column)] ?? '';
    const word = cell('kind').toLowerCase();
    const kind = LABEL_KINDS.find((one) => one === word);
    const id = cell('id');
    if (kind !== undefined) kinds.add(kind);
    if (cells.slice(columns.length).some((one) => one !== ''))
      refuse(
        `has ${cells.length} cells where the first line has ${columns.length}; put a text with a delimiter in quotes`,
      );
    else if (kind === undefined)
      refuse(`kind ${JSON.stringify(word)} is not known; it is one of ${LABEL_KINDS.join(', ')}`);
    else if (id === '') refuse('has no id; write the id that the label is for, or remove the line');
    else if (ROUNDED.test(id))
      refuse(
        `id ${id} is a number that a spreadsheet has rounded; format the column as text and write the whole id`,
      );
    else if (cell('label') === '' && cell('parent_id') === '') unfilled += 1;
    else lines.push({ line, kind, id, label: cell('label') || null, parentId: cell('parent_id') || null });
  }
  return { lines, kinds, unfilled, bad };
}

type TemplateLine = { readonly kind: string; readonly seen?: number } & Pick<Label, 'id'> &
  Partial<Pick<Label, 'label' | 'parentId'>>;

export function renderLabelsFile(lines: readonly TemplateLine[]): string {
  return stringify(
    lines.map(({ kind, id, label, parentId, seen }) => [
      ...[kind, id, label ?? '', parentId ?? ''].map(toSpreadsheet),
      seen ?? '',
    ]),
    { header: true, columns: COLUMNS },
  );
}
