/** Reads the CSV file of labels: `kind,id,label,parent_id,seen`. */
import { CsvError, type Info, parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { LABEL_KINDS, type LabelKind } from './labels.ts';
import { usageError } from '../shared/errors.ts';
import { fromSpreadsheet, toSpreadsheet } from '../shared/spreadsheet.ts';

/** The columns of the template. `seen` is the number of records with the id, and is ignored by an import. */
const CSV_COLUMNS = ['kind', 'id', 'label', 'parent_id', 'seen'] as const;
type ColumnName = (typeof CSV_COLUMNS)[number];
const NEEDED: readonly ColumnName[] = ['kind', 'id', 'label'];

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

/** Most bytes of an id: together with account and kind, it must fit an index page. */
const MOST_ID_BYTES = 600;
/** Most characters of a label, because reports show it on one line. */
const MOST_LABEL = 500;

/** The form that a spreadsheet gives to a long number. */
const ROUNDED = /^\d([.,]\d+)?E\+\d+$/i;

function decodeFile(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw usageError(
      'the labels file is not UTF-8',
      'Save it as UTF-8; in a spreadsheet choose “CSV UTF-8”.',
      cause,
    );
  }
}

/** Detects the separator from the header: a spreadsheet may write `;` or tabs. */
function delimiterOf(text: string): string {
  const [header = ''] = text.split(/\r?\n|\r/, 1);
  return [';', '\t'].find((one) => header.includes(one)) ?? ',';
}

interface Cells {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Skips empty lines. */
function readCells(text: string): Cells[] {
  const delimiter = delimiterOf(text);
  try {
    const parsed = parse(text, { delimiter, bom: true, info: true, raw: true, relax_column_count: true });
    const found = parsed as unknown as { record: string[]; raw: string; info: Info }[];
    return found.flatMap(({ record, raw, info }) => {
      const cells = record.map((cell) => fromSpreadsheet(cell.trim()));
      // The parser gives the last line of a record; quoted texts may span several lines.
      const lines = raw.replace(/[\r\n]+$/, '').split(/\r\n|\r|\n/).length;
      return cells.every((cell) => cell === '') ? [] : [{ line: info.lines - lines + 1, cells }];
    });
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    throw usageError(
      `the labels file is not CSV: ${cause.message}`,
      'A text in quotes ends with a quote, and a quote within it is written twice.',
      cause,
    );
  }
}

function readHeader(header: Cells | undefined): ColumnName[] {
  const names = (header?.cells ?? []).map((name) => name.toLowerCase());
  const unknown = names.filter((name) => !(CSV_COLUMNS as readonly string[]).includes(name));
  const missing = NEEDED.filter((name) => !names.includes(name));
  if (unknown.length === 0 && missing.length === 0 && new Set(names).size === names.length) {
    return names as ColumnName[];
  }
  throw usageError(
    `line ${header?.line ?? 1} of the labels file names the columns ${JSON.stringify(names.join(',').slice(0, 200))}; expected ${CSV_COLUMNS.join(',')} (parent_id and seen can be left out)`,
    'safety-sync labels template writes such a file.',
  );
}

const isKind = (text: string): text is LabelKind => (LABEL_KINDS as readonly string[]).includes(text);

type CellReader = (column: ColumnName) => string;

/** Checks one line alone; undefined: it is valid. */
function lineProblem(kind: LabelKind, cell: CellReader): string | undefined {
  const id = cell('id');
  if (id === '') return 'has no id; write the id that the label is for, or remove the line';
  if (ROUNDED.test(id)) {
    return `id ${id} is a number that a spreadsheet has rounded; format the column as text and write the whole id`;
  }
  if (Buffer.byteLength(id) > MOST_ID_BYTES || Buffer.byteLength(cell('parent_id')) > MOST_ID_BYTES) {
    return `has an id or parent_id of more than ${MOST_ID_BYTES} bytes, which no record can have; correct it`;
  }
  if (cell('label').length > MOST_LABEL) {
    return `${kind} ${id} has a label of more than ${MOST_LABEL} characters; shorten it`;
  }
  if (CSV_COLUMNS.some((column) => cell(column).includes('\0'))) return 'holds a NUL character; remove it';
  return undefined;
}

/** Separates valid and invalid lines. Throws `usage_invalid` when the file is not a CSV file of labels. */
export function readLabelsFile(bytes: Uint8Array): LabelsFile {
  const [header, ...rows] = readCells(decodeFile(bytes));
  const columns = readHeader(header);
  const lines: LabelLine[] = [];
  const kinds = new Set<LabelKind>();
  const bad: BadLine[] = [];
  let unfilled = 0;
  for (const { line, cells } of rows) {
    if (cells.length > columns.length && cells.slice(columns.length).some((one) => one !== '')) {
      const problem = `has ${cells.length} cells where the first line has ${columns.length}; put a text with a delimiter in quotes`;
      bad.push({ line, problem });
      continue;
    }
    const cell: CellReader = (column) => cells[columns.indexOf(column)] ?? '';
    const kind = cell('kind').toLowerCase();
    if (!isKind(kind)) {
      const problem = `kind ${JSON.stringify(kind.slice(0, 60))} is not known; it is one of ${LABEL_KINDS.join(', ')}`;
      bad.push({ line, problem });
      continue;
    }
    kinds.add(kind);
    const problem = lineProblem(kind, cell);
    if (problem !== undefined) bad.push({ line, problem });
    else if (cell('label') === '' && cell('parent_id') === '') unfilled += 1;
    else
      lines.push({
        line,
        kind,
        id: cell('id'),
        label: cell('label') || null,
        parentId: cell('parent_id') || null,
      });
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
    { header: true, columns: [...CSV_COLUMNS] },
  );
}
