/** The steps of a history as plain data, which can be shrunk, printed and replayed. */
import fc from 'fast-check';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { Fault, Readings, UnaskedPaging } from '../../src/sandbox/index.ts';
import type { RunKind } from '../../src/engine/streams/state.ts';
import { departure, type Drawn, weighed } from './departure.ts';

const FAULTS = [
  'rateLimit',
  'serverError',
  'reset',
  'hang',
  'cut',
  'nonJson',
  'slow',
  'token_inactive',
  'parameter_invalid',
] as const;

export function toFault(name: (typeof FAULTS)[number]): Fault {
  switch (name) {
    case 'token_inactive':
    case 'parameter_invalid':
      return { kind: 'error', error: name };
    case 'slow':
      return { kind: 'slow', durationMs: 20, pieces: 3 };
    default:
      return { kind: name };
  }
}

export interface History {
  readonly seed: number;
  readonly serviceClockOffHours: number;
  readonly overlapMs: number;
  readonly readers: number;
  /** Most records per page; null: as many as requested. */
  readonly largestPage: number | null;
  readonly bounds: 'exclusive' | 'inclusive';
  /** The service's reading of the specification where it is silent. */
  readonly readings: Partial<Readings>;
  readonly steps: readonly Step[];
}

/** Selects a record, modulo their number. */
const at = fc.nat({ max: 1_000 });
const change = fc.oneof(
  weighed(6, 'change', {
    of: fc.constantFrom(
      'followups',
      'followups',
      'resources',
      'equipments',
      'training-employee-status',
      'users',
    ),
    action: fc.constantFrom('add', 'update', 'delete', 'readd', 'spoil', 'repair'),
    at,
  }),
  weighed(5, 'followup', {
    action: fc.constantFrom('late', 'tie-updated', 'tie-created', 'future', 'reassign'),
    at,
  }),
  weighed(1, 'move-equipment', { at }),
  weighed(1, 'recalculate', { backMinutes: fc.constantFrom(0, 0, 20) }),
  weighed(2, 'live', { changes: fc.integer({ min: 1, max: 25 }) }),
);
export type Change = Drawn<typeof change>;

const runKind = fc.constantFrom<RunKind[]>('sync', 'sync', 'sync', 'backfill', 'reconcile');
const stream = fc.constantFrom<StreamName[]>(
  'followups',
  'followups',
  'followups',
  'resources',
  'equipments',
  'training-employee-status',
  'users',
);
/** A bound of a backfill, as a share of the creation time of follow-ups; null: open. */
const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null });

const trouble = fc.oneof(
  weighed(3, 'fault', {
    fault: fc.constantFrom(...FAULTS),
    skip: fc.nat({ max: 6 }),
    times: fc.integer({ min: 1, max: 5 }),
  }),
  weighed(3, 'between', { after: fc.nat({ max: 12 }), change }),
  weighed(2, 'sabotage', {
    write: fc.integer({ min: 1, max: 25 }),
    how: fc.constantFrom('terminate', 'refuse'),
  }),
  weighed(2, 'terminate', { request: fc.integer({ min: 1, max: 12 }) }),
);

interface HistoryOptions {
  readonly kills: boolean;
  readonly longest: number;
}

const step = ({ kills }: HistoryOptions) =>
  fc.oneof(
    { weight: 8, arbitrary: change },
    weighed(11, 'run', {
      stream,
      run: runKind,
      force: fc.boolean(),
      from: share,
      to: share,
      restart: fc.boolean(),
    }),
    { weight: 5, arbitrary: trouble },
    { weight: 8, arbitrary: departure },
    weighed(3, 'pass', { minutes: fc.constantFrom<number[]>(0, 1, 5, 16, 90, 1_500) }),
    weighed(1, 'restart'),
    // Stored records of data issues are loaded again.
    weighed(1, 'retry', { stream }),
    weighed(kills ? 2 : 0, 'kill', {
      stream,
      run: runKind,
      request: fc.integer({ min: 1, max: 8 }),
      delayMs: fc.nat({ max: 40 }),
    }),
  );
export type Step = Drawn<ReturnType<typeof step>>;

/** Mostly the simplest service, with one or two deviations. */
const usually = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const readings: fc.Arbitrary<Partial<Readings>> = fc.record({
  followups: usually<Readings['followups']>('observed', 'specified'),
  trainingPaging: usually<Readings['trainingPaging']>('present', 'absent'),
  resourcesPaging: usually<UnaskedPaging>('none', 'one-page', 'pages'),
  equipmentsPaging: usually<UnaskedPaging>('none', 'one-page', 'pages'),
  unaskedPageSize: fc.constant(2),
  pastLastPage: usually<Readings['pastLastPage']>('empty', 'refused'),
  bytes: usually<Readings['bytes']>('plain', 'other-each-time'),
  followupTimes: usually<Readings['followupTimes']>('milliseconds', 'seconds'),
  leftOut: usually<readonly string[]>(
    [],
    ['equipment.equipmentType_id'],
    ['equipment.equipmentType_id', 'equipment.metavalues'],
  ),
});

export function history(options: HistoryOptions): fc.Arbitrary<History> {
  return fc.record({
    seed: fc.integer({ min: 1, max: 5 }),
    serviceClockOffHours: fc.constantFrom(0, -3, 3),
    overlapMs: fc.constantFrom(0, 600_000),
    readers: fc.constantFrom(1, 4),
    largestPage: fc.constantFrom(7, 7, null),
    bounds: fc.constantFrom('exclusive' as const, 'inclusive' as const),
    readings,
    steps: fc.array(step(options), { minLength: 3, maxLength: options.longest, size: 'max' }),
  });
}
