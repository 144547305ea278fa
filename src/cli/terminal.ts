/** The output of a verb: results to stdout, everything else to stderr. */
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import type { Environment } from '../config/read-variables.ts';
import { wrapLines } from '../shared/wrap-lines.ts';

export type Colors = ReturnType<typeof pc.createColors>;

export interface Terminal {
  /** stdout: the result of the command. */
  print(text: string): void;
  /** Writes a file to stdout unchanged, unless stdout is a terminal. */
  printFile(text: string): void;
  /** stderr: notes, progress, errors. */
  note(text: string): void;
  /** For stdout. */
  readonly colors: Colors;
  /** For stderr. */
  readonly noteColors: Colors;
  /** stderr is a terminal. */
  readonly isInteractive: boolean;
  /** Asks at the terminal for a line; undefined: stdin or stderr is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Characters in a line of stdout; undefined when it is no terminal. */
  readonly width: number | undefined;
}

/** Node.js leaves `isTTY` undefined if it is false, and for undefined picocolors decides itself. */
const isTerminal = (stream: { readonly isTTY?: boolean }): boolean => stream.isTTY === true;

/** Ctrl-C and Ctrl-D end the question, as an empty line does. */
function askAtTerminal(question: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    reader.once('close', () => resolve(''));
    reader.question(question, (line) => {
      resolve(line);
      reader.close();
    });
  });
}
/**
 * Control characters, and characters that change the direction of text. The group matches the colours that the commands
 * use.
 */
const UNPRINTABLE =
  // eslint-disable-next-line no-control-regex -- These are what is looked for.
  /(\x1b\[(?:[012]|22|3[0-79]|9[0-7])m)|[\0-\x08\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes a text for a terminal, because content of the service or of a file may clear the screen or imitate other output.
 * The escapes are those of JSON, so JSON keeps its meaning.
 */
export const toPrintable = (text: string): string =>
  text.replace(UNPRINTABLE, (found, color?: string) => color ?? toEscape(found));

export function createTerminal(env: Environment): Terminal {
  const plain = (env['NO_COLOR'] ?? '') !== '';
  const columnsOf = ({ isTTY, columns }: NodeJS.WriteStream) => (isTTY ? columns : undefined);
  const toLines = (text: string, stream: NodeJS.WriteStream): string =>
    `${wrapLines(toPrintable(text), columnsOf(stream))}\n`;
  const print = (text: string): void => void process.stdout.write(toLines(text, process.stdout));
  return {
    print,
    printFile: isTerminal(process.stdout) ? print : (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(toLines(text, process.stderr)),
    colors: pc.createColors(isTerminal(process.stdout) && !plain),
    noteColors: pc.createColors(isTerminal(process.stderr) && !plain),
    isInteractive: isTerminal(process.stderr),
    ask: isTerminal(process.stdin) && isTerminal(process.stderr) ? askAtTerminal : undefined,
    get width() {
      return columnsOf(process.stdout);
    },
  };
}

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** The column may be omitted if a line is too short for the table; the one with the highest number is omitted first. */
  readonly spare?: number | undefined;
  /** Its cells are cut if a line is still too short after other columns were omitted. */
  readonly isCut?: true;
  /** false: left out, with its cells. */
  readonly isShown?: boolean;
}

/** Minimum characters of a cut cell. */
const SHORTEST_CUT = 15;

/** A cell is on one line, because a text with line breaks could look like other rows. */
const toCell = (text: string): string => toPrintable(text).replace(/[\t\n]/g, toEscape);

const GAP = '  ';
const widthOf = (cell: string): number => stripVTControlCharacters(cell).length;

/** A cut cell loses its colours. */
const cutTo = (room: number, cell: string): string =>
  widthOf(cell) <= room ? cell : `${stripVTControlCharacters(cell).slice(0, room - 1)}…`;

/** Each row as lines of titles and cells, for a table that does not fit. */
function renderStacked(
  columns: readonly { readonly title: string; readonly cells: readonly string[] }[],
): string {
  const room = Math.max(...columns.map(({ title }) => title.length));
  const rows = columns[0]?.cells.slice(1) ?? [];
  return rows
    .map((_, row) =>
      columns.map(({ title, cells }) => `${title.padEnd(room)}${GAP}${cells[row + 1]}`).join('\n'),
    )
    .join('\n\n');
}

/**
 * An aligned table without lines. Columns for which a line is too short are omitted, the one with the highest `spare`
 * first. If it still does not fit, each row becomes lines of its own.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { colors, width = Infinity }: Pick<Terminal, 'colors'> & { readonly width?: number | undefined },
): string {
  const all = columns.flatMap(({ title, align, spare = -1, isCut, isShown = true }, at) => {
    const cells = [colors.dim(title), ...rows.map((row) => toCell(row[at] ?? ''))];
    const widest = Math.max(...cells.map(widthOf));
    const least = isCut ? Math.min(widest, SHORTEST_CUT) : widest;
    return isShown ? [{ title, align, spare, isCut, cells, least, width: widest }] : [];
  });
  let kept = all;
  const spares = all.filter(({ spare }) => spare >= 0).sort((one, other) => other.spare - one.spare);
  const room = () => kept.reduce((left, { least }) => left - least - GAP.length, width + GAP.length);
  while (room() < 0 && spares.length > 0) {
    const omitted = spares.shift();
    kept = kept.filter((column) => column !== omitted);
  }
  let spareRoom = room();
  if (spareRoom < 0 && rows.length > 0) return renderStacked(all);
  const names = all.filter((column) => !kept.includes(column)).map(({ title }) => title);
  let shares = kept.filter(({ isCut }) => isCut).length;
  kept = kept.map((column) => {
    if (!column.isCut) return column;
    const more = Math.min(column.width - column.least, Math.floor(spareRoom / shares));
    spareRoom -= more;
    shares -= 1;
    return { ...column, width: column.least + more };
  });
  const lines = ['', ...rows].map((_, line) =>
    kept
      .map(({ cells, align, width: most }) => {
        const cell = cutTo(most, cells[line] ?? '');
        const blanks = ' '.repeat(most - widthOf(cell));
        return align === 'right' ? blanks + cell : cell + blanks;
      })
      .join(GAP)
      .trimEnd(),
  );
  if (names.length > 0) lines.push(colors.dim(`(no room for: ${names.join(', ')})`));
  return lines.join('\n');
}

const isTimeColumn = (name: string): boolean => name.endsWith('_at') || name.startsWith('watermark');

/** A row of the control tables for `--json`: converts times from PostgreSQL's format to that of all JSON of the program. */
export function withIsoTimes<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]: [string, unknown]) => {
    const ms = isTimeColumn(name) && typeof value === 'string' ? Date.parse(value) : NaN;
    return [name, Number.isNaN(ms) ? value : new Date(ms).toISOString()];
  });
  return Object.fromEntries(entries) as Row;
}
