/** The steps of a history as plain data, which can be shrunk, printed and replayed. */
import fc from 'fast-check';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { Fault, Readings, UnaskedPaging } from '../../src/sandbox/index.ts';
import type { RunKind } from '../../src/engine/streams/state.ts';
import { type Departure, departure, rareDeparture } from './departure.ts';

const STREAMS = [
  'followups',
  'resources',
  'equipments',
  'training-employee-status',
  'users',
] as const satisfies readonly StreamName[];

const RECORD_ACTIONS = ['add', 'update', 'delete', 'readd', 'spoil', 'repair'] as const;
const FOLLOWUP_ACTIONS = ['late', 'tie-updated', 'tie-created', 'future', 'reassign', 'undate'] as const;

/** `at` selects a record, modulo their number. */
export type Change =
  | {
      readonly kind: 'change';
      readonly table: 'followups' | 'resources' | 'equipment' | 'employees' | 'users';
      readonly action: (typeof RECORD_ACTIONS)[number];
      readonly at: number;
    }
  | { readonly kind: 'followup'; readonly action: (typeof FOLLOWUP_ACTIONS)[number]; readonly at: number }
  | { readonly kind: 'move-equipment'; readonly at: number }
  | { readonly kind: 'recalculate'; readonly backMinutes: number }
  | { readonly kind: 'live'; readonly changes: number };

export type Step =
  | Change
  | Departure
  | { readonly kind: 'pass'; readonly minutes: number }
  | { readonly kind: 'our-clock'; readonly hours: number }
  | { readonly kind: 'fault'; readonly fault: FaultName; readonly skip: number; readonly times: number }
  | { readonly kind: 'between'; readonly after: number; readonly change: Change }
  | { readonly kind: 'sabotage'; readonly write: number; readonly how: 'terminate' | 'refuse' }
  | { readonly kind: 'terminate'; readonly request: number }
  | { readonly kind: 'restart' }
  /** Stored records of data issues are loaded again. */
  | { readonly kind: 'retry'; readonly stream: StreamName }
  | {
      readonly kind: 'run';
      readonly stream: StreamName;
      readonly run: RunKind;
      readonly force: boolean;
      /** A backfill of follow-ups: shares of the creation time; null: open. */
      readonly from: number | null;
      readonly to: number | null;
      readonly restart: boolean;
    }
  | {
      readonly kind: 'kill';
      readonly stream: StreamName;
      readonly run: RunKind;
      readonly request: number;
      readonly delayMs: number;
    };

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
type FaultName = (typeof FAULTS)[number];

export function toFault(name: FaultName): Fault {
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

const at = fc.nat({ max: 1_000 });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      table: fc.constantFrom(
        'followups' as const,
        'followups' as const,
        'resources' as const,
        'equipment' as const,
        'employees' as const,
        'users' as const,
      ),
      action: fc.constantFrom(...RECORD_ACTIONS),
      at,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('followup' as const),
      action: fc.constantFrom(...FOLLOWUP_ACTIONS),
      at,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move-equipment' as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('recalculate' as const),
      backMinutes: fc.constantFrom(0, 0, 20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('live' as const), changes: fc.integer({ min: 1, max: 25 }) }),
  },
);

const runKind = fc.constantFrom<RunKind>('sync', 'sync', 'sync', 'backfill', 'reconcile');
const stream = fc.constantFrom<StreamName>('followups', 'followups', ...STREAMS);
const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null });

const run: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('run' as const),
  stream,
  run: runKind,
  force: fc.boolean(),
  from: share,
  to: share,
  restart: fc.boolean(),
});

const trouble: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fault' as const),
      fault: fc.constantFrom(...FAULTS),
      skip: fc.nat({ max: 6 }),
      times: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('between' as const), after: fc.nat({ max: 12 }), change }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('sabotage' as const),
      write: fc.integer({ min: 1, max: 25 }),
      how: fc.constantFrom('terminate' as const, 'refuse' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('terminate' as const),
      request: fc.integer({ min: 1, max: 12 }),
    }),
  },
);

interface HistoryOptions {
  readonly kills: boolean;
  readonly longest: number;
  /** Includes departures that are slow. */
  readonly isLong?: boolean;
}

const step = ({ kills, isLong }: HistoryOptions): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 8, arbitrary: change },
    { weight: 11, arbitrary: run },
    { weight: 5, arbitrary: trouble },
    { weight: 8, arbitrary: departure },
    { weight: isLong === true ? 1 : 0, arbitrary: rareDeparture },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        minutes: fc.constantFrom(0, 1, 5, 16, 90, 1_500),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('our-clock' as const),
        hours: fc.integer({ min: -5, max: 5 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('retry' as const), stream }) },
    {
      weight: kills ? 2 : 0,
      arbitrary: fc.record({
        kind: fc.constant('kill' as const),
        stream,
        run: runKind,
        request: fc.integer({ min: 1, max: 8 }),
        delayMs: fc.nat({ max: 40 }),
      }),
    },
  );

/** Mostly the simplest service, with one or two deviations. */
const usually = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const readings: fc.Arbitrary<Partial<Readings>> = fc.record({
  followupsPaging: usually<Readings['followupsPaging']>('present', 'absent'),
  trainingPaging: usually<Readings['trainingPaging']>('present', 'absent'),
  trainingCache: usually<Readings['trainingCache']>('one-calculation', 'per-request'),
  resourcesPaging: usually<UnaskedPaging>('none', 'one-page', 'pages'),
  equipmentsPaging: usually<UnaskedPaging>('none', 'one-page', 'pages'),
  unaskedPageSize: fc.constant(2),
  pagingFields: usually<Readings['pagingFields']>('both', 'total-only', 'last-page-only', 'none'),
  pastLastPage: usually<Readings['pastLastPage']>('refused', 'empty'),
  repeatedRows: usually<boolean>(false, true),
  bytes: usually<Readings['bytes']>('plain', 'other-each-time'),
  undatedFollowups: usually<Readings['undatedFollowups']>('as-before', 'unfiltered'),
  followupTimes: usually<Readings['followupTimes']>('milliseconds', 'seconds'),
  pagesOverlap: usually<Readings['pagesOverlap']>('none', 'by-one'),
  dateHeader: usually<Readings['dateHeader']>('present', 'absent', 'asctime', 'iso'),
  equipmentOwnType: usually<Readings['equipmentOwnType']>('asked', 'sub-type'),
  leftOut: usually<readonly string[]>(
    [],
    ['equipment.equipmentType_id'],
    ['equipment.equipmentType_id', 'equipment.metavalues'],
  ),
  doubles: fc.oneof(
    { weight: 12, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constant('far-apart' as const) },
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
