/** What a verb prints with: answers to stdout, everything else to stderr. */
import CliTable from 'cli-table3';
import pc from 'picocolors';

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
  readonly isInteractive: boolean;
}

export function createTerminal(): Terminal {
  const plain = process.env['NO_COLOR'] !== undefined && process.env['NO_COLOR'] !== '';
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    colors: pc.createColors(process.stdout.isTTY && !plain),
    noteColors: pc.createColors(process.stderr.isTTY && !plain),
    isInteractive: process.stderr.isTTY,
  };
}

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** An aligned table without ruling, one space more between columns. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  colors: Colors,
): string {
  const table = new CliTable({
    head: columns.map(({ title }) => colors.dim(title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2, compact: true },
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
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
