/** The promises of docs/performance.md that are measured at each run, and whether they are kept. */
import pc from 'picocolors';
import { renderRows } from '../../src/cli/table.ts';
import type { Figure } from './figures.ts';

export const BENCH_STREAMS = ['followups', 'equipments', 'resources', 'training-employee-status'] as const;
export type BenchStream = (typeof BENCH_STREAMS)[number];
export type Phase = 'first' | 'unchanged';

/** How many times as fast as the peer, as whole processes. */
const TIMES_THE_PEER: Readonly<Record<Phase, number>> = { first: 1.15, unchanged: 2 };
/** For 100,000 records. */
const MOST_MEGABYTES = 256;

/** The measurements of a stream and a phase. */
export interface StreamFigure {
  readonly stream: BenchStream;
  readonly phase: Phase;
  readonly worker: Figure;
  /** undefined: the peer is not there. */
  readonly peer: Figure | undefined;
}

interface Promised {
  readonly name: string;
  readonly promise: string;
  readonly measured: string;
  readonly isKept: boolean;
}

export function judge(measured: readonly StreamFigure[]): Promised[] {
  const speeds = measured.map(({ phase, worker, peer }): Promised => {
    const times = peer === undefined ? NaN : peer.seconds / worker.seconds;
    return {
      name: worker.figure,
      promise: `${TIMES_THE_PEER[phase]} × DuckDB`,
      measured: Number.isNaN(times) ? 'not measured' : `${times.toFixed(2)} ×`,
      isKept: times >= TIMES_THE_PEER[phase],
    };
  });
  // A few pieces of equipment expire between two reads: their change is written.
  const unchanged = measured.filter(({ phase, stream }) => phase === 'unchanged' && stream !== 'equipments');
  const rows = Math.max(0, ...unchanged.map(({ worker }) => worker.rowsWritten));
  const megabytes = Math.max(0, ...measured.map(({ worker }) => worker.peakMegabytes));
  return [
    ...speeds,
    { name: 'written by an unchanged read', promise: '0 rows', measured: `${rows} rows`, isKept: rows === 0 },
    {
      name: 'memory of any figure',
      promise: `${MOST_MEGABYTES} MB`,
      measured: `${Math.round(megabytes)} MB`,
      isKept: megabytes <= MOST_MEGABYTES,
    },
  ];
}

/** A table, and the verdict in its last line. */
export function renderPromises(promised: readonly Promised[]): string {
  const table = renderRows({ colors: pc.createColors(false) }, promised, {
    promise: ({ name }) => name,
    measured: ({ measured }) => measured,
    promised: ({ promise }) => promise,
  });
  const broken = promised.filter(({ isKept }) => !isKept);
  const verdict =
    broken.length === 0
      ? 'Promises of docs/performance.md kept'
      : `Promises of docs/performance.md not kept: ${broken.map(({ name }) => name).join('; ')}`;
  return `${table}\n\n${verdict}`;
}
