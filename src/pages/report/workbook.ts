/**
 * Writes workbooks (Office Open XML) as a stream: the entries of a zip, with rows as XML. Libraries for workbooks either hold
 * all cells in memory (write-excel-file: 1 GB for 100,000 rows) or are large (exceljs: 23 MB).
 */
import { strToU8, Zip, ZipDeflate } from 'fflate';
import { SafetySyncError } from '../../shared/errors.ts';
import { DAY_MS } from '../../shared/time.ts';
import { escapeMarkup } from '../../shared/escape-markup.ts';
import { withoutControls } from '../html.ts';

/** A URL is a link. */
export type Cell = string | number | boolean | null | URL;

interface Column {
  readonly title: string;
  /** In characters. */
  readonly width: number;
  readonly isDay?: boolean;
  /** Not on paper; such columns come last. */
  readonly isSpare?: boolean;
}

export interface Sheet {
  /** 31 characters at most, without a quote. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: Iterable<readonly (readonly Cell[])[]> | AsyncIterable<readonly (readonly Cell[])[]>;
}

/** Limits of the format, and of Excel. */
const MOST_ROWS = 1_048_576;
const MOST_CHARACTERS = 32_767;
const LONGEST_LINK = 255;
/** Day 0 of a workbook. */
const EPOCH_MS = Date.UTC(1899, 11, 30);
/** Excel counts a 29 February 1900: days are only right from March on. */
const FIRST_DAY = 61;

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
export const WORKBOOK_TYPE = `${TYPE}.sheet`;

/** Numbers of the cell formats below. */
const BOLD = 1;
const DAY_STYLE = 2;
const LINK = 3;
/** Cells begin at the top, and texts are wrapped. */
const NUMBER = 4;
const TEXT = 5;
const STYLES = `${HEAD}<styleSheet xmlns="${MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><fonts count="3"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font><font><u/><sz val="11"/><color rgb="FF26588F"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="6"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" applyAlignment="1"><alignment horizontal="left" vertical="top" indent="1" wrapText="1"/></xf><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment horizontal="left" vertical="top" indent="1"/></xf><xf numFmtId="0" fontId="2" fillId="0" borderId="0" xfId="0" applyFont="1" applyAlignment="1"><alignment vertical="top"/></xf><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" applyAlignment="1"><alignment vertical="top"/></xf><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" applyAlignment="1"><alignment horizontal="left" vertical="top" indent="1" wrapText="1"/></xf></cellXfs></styleSheet>`;

/** `_x000D_` in a workbook means a character, so a text of this form is escaped. */
function toXml(text: string): string {
  const printable = withoutControls(text).replace(/[\ufffe\uffff]/g, '\ufffd');
  return escapeMarkup(printable.replace(/_(?=x[0-9A-F]{4}_)/gi, '_x005F_'));
}

/** `A`, …, `Z`, `AA`, … */
function letterOf(column: number): string {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : letterOf(Math.floor(column / 26) - 1) + last;
}

function dayNumberOf({ isDay }: Column, text: string): number | null {
  if (isDay !== true || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const days = (Date.parse(text) - EPOCH_MS) / DAY_MS;
  return days >= FIRST_DAY ? days : null;
}

function toCellXml(cell: Cell, column: Column, at: string): string {
  if (cell === null || cell === '') return '';
  if (typeof cell === 'number') return `<c r="${at}" s="${NUMBER}"><v>${cell}</v></c>`;
  const full = typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : String(cell);
  if (cell instanceof URL && full.length <= LONGEST_LINK) {
    const url = toXml(full);
    return `<c r="${at}" s="${LINK}" t="str"><f>HYPERLINK("${url}")</f><v>${url}</v></c>`;
  }
  const day = dayNumberOf(column, full);
  if (day !== null) return `<c r="${at}" s="${DAY_STYLE}"><v>${day}</v></c>`;
  const text = full.length > MOST_CHARACTERS ? `${full.slice(0, MOST_CHARACTERS - 1)}…` : full;
  return `<c r="${at}" s="${TEXT}" t="inlineStr"><is><t xml:space="preserve">${toXml(text)}</t></is></c>`;
}

const LINE_HEIGHT = 15;
const MOST_LINES = 27;
/** Letters are narrower than the digits that measure a column. */
const NARROWER = 1.15;

/** Not every program measures wrapped texts when it opens a workbook. */
function heightOf(cells: readonly Cell[], columns: readonly Column[]): string {
  const linesOf = (cell: Cell, width: number): number =>
    typeof cell === 'string'
      ? cell
          .split('\n')
          .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / (NARROWER * width))), 0)
      : 1;
  const lines = Math.max(...columns.map(({ width }, at) => linesOf(cells[at] ?? null, width)));
  return lines > 1 ? ` ht="${LINE_HEIGHT * Math.min(lines, MOST_LINES)}" customHeight="1"` : '';
}

function beginSheet(columns: readonly Column[]): string {
  const widths = columns.map(
    ({ width }, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`,
  );
  const names = columns.map(
    ({ title }, at) =>
      `<c r="${letterOf(at)}1" s="${BOLD}" t="inlineStr"><is><t>${toXml(title)}</t></is></c>`,
  );
  return `${HEAD}<worksheet xmlns="${MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join('')}</cols><sheetData><row r="1" ht="${2 * LINE_HEIGHT}" customHeight="1">${names.join('')}</row>`;
}

/** On paper: landscape, as wide as a page, as many pages long as it needs, with the name of the sheet and the number of the page. */
const endSheet = (columns: readonly Column[], rows: number): string =>
  `</sheetData><autoFilter ref="A1:${letterOf(columns.length - 1)}${rows}"/><pageMargins left="0.4" right="0.4" top="0.4" bottom="0.6" header="0.3" footer="0.3"/><pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/><headerFooter><oddFooter>&amp;L&amp;A&amp;R&amp;P / &amp;N</oddFooter></headerFooter></worksheet>`;

const relation = (id: number, type: string, target: string): string =>
  `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
const relations = (...all: readonly string[]): string =>
  `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`;
const override = (part: string, type: string): string =>
  `<Override PartName="/xl/${part}" ContentType="${TYPE}.${type}+xml"/>`;

/** The files that name the sheets, by path. The header row is repeated on each printed page. */
function framesOf(sheets: readonly Pick<Sheet, 'name' | 'columns'>[]): Readonly<Record<string, string>> {
  const ofEach = (toXmlOf: (name: string, at: number) => string): string =>
    sheets.map(({ name }, at) => toXmlOf(name, at)).join('');
  const lastOf = (at: number): string =>
    letterOf((sheets[at]?.columns.filter(({ isSpare }) => isSpare !== true).length ?? 1) - 1);
  const named = ofEach(
    (name, at) => `<sheet name="${toXml(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
  );
  const titles = ofEach(
    (name, at) =>
      `<definedName name="_xlnm.Print_Area" localSheetId="${at}">'${toXml(name)}'!$A:$${lastOf(at)}</definedName><definedName name="_xlnm.Print_Titles" localSheetId="${at}">'${toXml(name)}'!$1:$1</definedName>`,
  );
  const targets = ofEach((_, at) => relation(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`));
  const parts = ofEach((_, at) => override(`worksheets/sheet${at + 1}.xml`, 'worksheet'));
  return {
    'xl/workbook.xml': `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${named}</sheets><definedNames>${titles}</definedNames></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(targets, relation(sheets.length + 1, 'styles', 'styles.xml')),
    'xl/styles.xml': STYLES,
    '_rels/.rels': relations(relation(1, 'officeDocument', 'xl/workbook.xml')),
    '[Content_Types].xml': `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${override('workbook.xml', 'sheet.main')}${override('styles.xml', 'styles')}${parts}</Types>`,
  };
}

/** Pulls the rows of one sheet after the other. */
export async function* renderWorkbook(
  sheets: Iterable<Sheet> | AsyncIterable<Sheet>,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    chunks.push(chunk);
  });
  const open = (path: string): ZipDeflate => {
    const entry = new ZipDeflate(path);
    zip.add(entry);
    return entry;
  };
  const push = (entry: ZipDeflate, xml: string, isLast = false): Uint8Array[] => {
    entry.push(strToU8(xml), isLast);
    return chunks.splice(0);
  };
  const written: Pick<Sheet, 'name' | 'columns'>[] = [];
  for await (const { name, columns, rows } of sheets) {
    written.push({ name, columns });
    const letters = columns.map((_, at) => letterOf(at));
    const entry = open(`xl/worksheets/sheet${written.length}.xml`);
    yield* push(entry, beginSheet(columns));
    let count = 1;
    for await (const batch of rows) {
      if (count + batch.length > MOST_ROWS)
        throw new SafetySyncError(
          'usage_invalid',
          `${name} has more rows than a sheet holds: take CSV files`,
        );
      const lines = batch.map((cells) => {
        count += 1;
        const row = columns.map((column, at) =>
          toCellXml(cells[at] ?? null, column, `${letters[at] ?? ''}${count}`),
        );
        return `<row r="${count}"${heightOf(cells, columns)}>${row.join('')}</row>`;
      });
      yield* push(entry, lines.join(''));
    }
    yield* push(entry, endSheet(columns, count), true);
  }
  for (const [path, xml] of Object.entries(framesOf(written))) yield* push(open(path), xml, true);
  zip.end();
  yield* chunks;
}
