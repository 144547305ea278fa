/** What a verb prints with: answers to stdout, everything else to stderr. */
import { stripVTControlCharacters } from 'node:util';
import CliTable from 'cli-table3';
import pc from 'picocolors';
import type { Environment } from '../config/read-variables.ts';

export type Colors = ReturnType<typeof pc.createColors>;

export interface Terminal {
  /** stdout: the answer of the command. */
  print(text: string): void;
  /** stderr: notes, progress, errors. */
  note(text: string): void;
  /** For what goes to stdout. */
  readonly colors: Colors;
  /** For what goes to stderr. */
  readonly noteColors: Colors;
  /** stderr is a terminal. */
  readonly isInteractive: boolean;
  /** Characters in a line of stdout; undefined when it is no terminal. */
  readonly width: number | undefined;
}

/** Node leaves `isTTY` out where it is false, and picocolors takes undefined for a question that it answers itself. */
const isTerminal = (stream: { readonly isTTY?: boolean }): boolean => stream.isTTY === true;

export function createTerminal(env: Environment): Terminal {
  const plain = (env['NO_COLOR'] ?? '') !== '';
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    colors: pc.createColors(isTerminal(process.stdout) && !plain),
    noteColors: pc.createColors(isTerminal(process.stderr) && !plain),
    isInteractive: isTerminal(process.stderr),
    get width() {
      return isTerminal(process.stdout) ? process.stdout.columns : undefined;
    },
  };
}

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Can be left out where a line is too short for the whole table; the highest goes first. */
  readonly spare?: number | undefined;
}

const GAP = 2;

/** The columns that a line has room for. */
function fitColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((row) => stripVTControlCharacters(row[at] ?? '').length)),
  );
  let kept = columns.map((_, at) => at);
  const needed = () => kept.reduce((sum, at) => sum + (widths[at] ?? 0) + GAP, -GAP);
  const spares = kept
    .filter((at) => columns[at]?.spare !== undefined)
    .sort((a, b) => (columns[b]?.spare ?? 0) - (columns[a]?.spare ?? 0));
  for (const spare of spares) {
    if (needed() <= width) break;
    kept = kept.filter((at) => at !== spare);
  }
  return kept;
}

/** An aligned table without ruling. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { colors, width = Infinity }: Pick<Terminal, 'colors'> & { readonly width?: number | undefined },
): string {
  const kept = fitColumns(columns, rows, width);
  const table = new CliTable({
    head: kept.map((at) => colors.dim(columns[at]?.title ?? '')),
    colAligns: kept.map((at) => columns[at]?.align ?? 'left'),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP, compact: true },
    chars: {
      top: '',
      'top-mid': '',
      'top-left': '',
      'top-right': '',
      bottom: '',
      'bottom-mid': '',
      'bottom-left': '',
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: '',
    },
  });
  table.push(...rows.map((row) => kept.map((at) => row[at] ?? '')));
  const lines = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  const left = columns.filter((_, at) => !kept.includes(at)).map(({ title }) => title);
  if (left.length > 0) lines.push(colors.dim(`(no room for: ${left.join(', ')})`));
  return lines.join('\n');
}
