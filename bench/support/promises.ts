/** The promises of docs/performance.md that are measured at each run, and whether they are kept. */
import pc from 'picocolors';
import { type ColumnOf, renderRows } from '../../src/cli/table.ts';
import type { Figure } from './figures.ts';

interface Promised {
  readonly name: string;
  readonly unit: string;
  readonly promise: number;
  readonly aim: number;
  /** Undefined where it was not measured. */
  readonly value: number | undefined;
  readonly isKept: boolean;
}

/** Shares of the floor, as whole processes. */
const RATIOS = {
  followups: { first: [0.45, 0.5], unchanged: [1.5, 1.6] },
  equipments: { first: [0.42, 0.5], unchanged: [1.3, 1.6] },
  resources: { first: [0.45, 0.5], unchanged: [1.4, 1.6] },
  'training-employee-status': { first: [0.45, 0.5], unchanged: [1.4, 1.6] },
} as const satisfies Record<string, Record<Phase, readonly [promise: number, aim: number]>>;
const MEMORY_MEGABYTES = [170, 150] as const;

export type BenchStream = keyof typeof RATIOS;
export type Phase = 'first' | 'unchanged';
export const BENCH_STREAMS = Object.keys(RATIOS) as readonly BenchStream[];

/** A figure of a stream and a phase, by the worker. */
export interface StreamFigure {
  readonly stream: BenchStream;
  readonly phase: Phase;
  readonly figure: Figure;
}

/** `all`: any figure of the worker; their memory counts. */
export function judge(measured: readonly StreamFigure[], all: readonly Figure[]): Promised[] {
  const ratios = measured.map(({ stream, phase, figure: { figure: name, ratio } }) => {
    const [promise, aim] = RATIOS[stream][phase];
    const value = ratio ?? undefined;
    const isKept = value !== undefined && value >= promise;
    return { name, unit: 'of the floor', promise, aim, value, isKept };
  });
  // A few pieces of equipment expire between two reads: their change is written.
  const written = measured.filter(({ phase, stream }) => phase === 'unchanged' && stream !== 'equipments');
  const rows = Math.max(0, ...written.map(({ figure }) => figure.rowsWritten));
  const megabytes = Math.max(0, ...all.map(({ peakMegabytes }) => peakMegabytes));
  const [promise, aim] = MEMORY_MEGABYTES;
  return [
    ...ratios,
    {
      name: 'written by an unchanged read',
      unit: 'rows',
      promise: 0,
      aim: 0,
      value: rows,
      isKept: rows === 0,
    },
    {
      name: 'memory of any figure',
      unit: 'MB',
      promise,
      aim,
      value: megabytes,
      isKept: megabytes <= promise,
    },
  ];
}

const number = (value: number | undefined, unit: string): string =>
  value === undefined ? '–' : `${unit === 'of the floor' ? value.toFixed(2) : Math.round(value)} ${unit}`;

/** A table, and the verdict in its last line. */
export function renderPromises(promised: readonly Promised[]): string {
  const right = (title: string, of: (one: Promised) => number | undefined): ColumnOf<Promised> => ({
    title,
    align: 'right',
    cellOf: (one) => number(of(one), one.unit),
  });
  const columns = [
    { title: 'promise', cellOf: ({ name }: Promised) => name },
    right('measured', ({ value }) => value),
    right('promise', ({ promise }) => promise),
    right('aim', ({ aim }) => aim),
  ];
  const table = renderRows(promised, columns, { colors: pc.createColors(false) });
  const isWhole = promised.filter(({ unit }) => unit === 'of the floor').length === 2 * BENCH_STREAMS.length;
  const broken = promised.filter(({ isKept }) => !isKept);
  const verdict =
    broken.length === 0
      ? `Promises of docs/performance.md kept${isWhole ? '' : ', as far as they were measured'}`
      : `Promises of docs/performance.md not kept: ${broken.map(({ name }) => name).join('; ')}`;
  return `${table}\n\n${verdict}`;
}
