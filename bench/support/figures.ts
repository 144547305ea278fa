/** A measured figure: as one JSON line for machines, as a row of a table for people. */
import pc from 'picocolors';
import { renderRows } from '../../src/cli/table.ts';
import { type Floor, median } from './floor.ts';
import type { Work } from './processes.ts';

export type Figure = ReturnType<typeof toFigure>;

const MEGA = 1e6;

interface Measured {
  readonly figure: string;
  /** Rows of all tables that the records fill. */
  readonly rows: number;
  readonly work: Work;
  /** null: a comparison has no meaning. */
  readonly floor: Floor | null;
  readonly walBytes: number;
  readonly rowsWritten: number;
  /** Processor time of the service's process; null where it cannot be measured. */
  readonly serviceCpuSeconds: number | null;
  /** Processor time of PostgreSQL with all its processes; null where it cannot be measured. */
  readonly databaseCpuSeconds: number | null;
}

export function toFigure({ figure, rows, work, floor, walBytes, rowsWritten, ...others }: Measured) {
  const rowsPerSecond = rows / work.seconds;
  return {
    figure,
    records: work.runs.reduce((sum, run) => sum + run.records_read, 0),
    rows,
    seconds: work.seconds,
    runSeconds: work.runSeconds,
    rowsPerSecond,
    /** Of one COPY of the same rows in the same run. */
    floorRowsPerSecond: floor?.rowsPerSecond ?? null,
    ratio: floor === null ? null : rowsPerSecond / floor.rowsPerSecond,
    requests: work.runs.reduce((sum, run) => sum + run.requests, 0),
    megabytesRead: work.bytes / MEGA,
    cpuSeconds: work.cpuSeconds,
    peakMegabytes: work.peakMemoryBytes / MEGA,
    walMegabytes: walBytes / MEGA,
    rowsWritten,
    ...others,
  };
}

/** One figure for several measurements of it: the median of each number, and the largest memory. */
export function medianOf(figures: readonly [Figure, ...Figure[]]): Figure {
  const middle = (name: keyof Figure): Partial<Figure> => {
    const values = figures.map((figure) => figure[name]).filter((value) => typeof value === 'number');
    if (values.length === 0) return {};
    return { [name]: name === 'peakMegabytes' ? Math.max(...values) : median(values) };
  };
  const names = Object.keys(figures[0]) as (keyof Figure)[];
  return Object.assign({}, figures[0], ...names.map(middle)) as Figure;
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const short = (value: number, digits: number): string => value.toFixed(digits);

const COLUMNS: Readonly<Record<string, (figure: Figure) => string>> = {
  figure: (one) => one.figure,
  records: (one) => whole(one.records),
  rows: (one) => whole(one.rows),
  s: (one) => short(one.seconds, 2),
  'run s': (one) => short(one.runSeconds, 2),
  'rows/s': (one) => whole(one.rowsPerSecond),
  floor: (one) => (one.floorRowsPerSecond === null ? '–' : whole(one.floorRowsPerSecond)),
  ratio: (one) => (one.ratio === null ? '–' : short(one.ratio, 2)),
  requests: (one) => whole(one.requests),
  'MB read': (one) => short(one.megabytesRead, 1),
  'CPU s': (one) => short(one.cpuSeconds, 1),
  service: (one) => (one.serviceCpuSeconds === null ? '–' : short(one.serviceCpuSeconds, 1)),
  database: (one) => (one.databaseCpuSeconds === null ? '–' : short(one.databaseCpuSeconds, 1)),
  'peak MB': (one) => whole(one.peakMegabytes),
  'WAL MB': (one) => short(one.walMegabytes, 1),
  written: (one) => whole(one.rowsWritten),
};

export function renderFigures(figures: readonly Figure[]): string {
  return renderRows({ colors: pc.createColors(false) }, figures, COLUMNS);
}
