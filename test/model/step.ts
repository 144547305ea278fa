/** The steps of a history as plain data, which can be shrunk, printed and replayed. */
import fc from 'fast-check';
import type { RunKind } from '../../src/engine/streams/state.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { Fault, Readings, TokenState } from '../../src/sandbox/index.ts';

/** Something of this kind with its fields, and how often it is drawn beside others. */
function weighed<Kind extends string, Fields = unknown>(
  weight: number,
  kind: Kind,
  fields?: { readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<{ readonly kind: Kind } & Readonly<Fields>> } {
  const arbitrary = fc.record({ kind: fc.constant(kind), ...fields });
  return { weight, arbitrary: arbitrary as unknown as fc.Arbitrary<{ readonly kind: Kind } & Fields> };
}

type Drawn<Source> = Source extends fc.Arbitrary<infer One> ? One : never;

/** Selects a record, modulo their number. */
const at = fc.nat({ max: 1_000 });
const stream = fc.constantFrom<StreamName[]>(
  ...(['followups', 'followups', 'followups', 'resources'] as const),
  ...(['equipments', 'training-employee-status', 'users'] as const),
);

/** Changes of the source. */
const change = fc.oneof(
  weighed(6, 'change', {
    of: fc.constantFrom(
      ...([
        'followups',
        'followups',
        'resources',
        'equipments',
        'training-employee-status',
        'users',
      ] as const),
    ),
    action: fc.constantFrom('add', 'update', 'delete', 'readd', 'spoil', 'repair'),
    at,
  }),
  weighed(5, 'followup', {
    action: fc.constantFrom('late', 'tie-updated', 'tie-created', 'future', 'reassign'),
    at,
  }),
  weighed(1, 'move-equipment', { at }),
  weighed(2, 'live', { changes: fc.integer({ min: 1, max: 25 }) }),
);
export type Change = Drawn<typeof change>;

const run = fc.constantFrom<RunKind[]>('sync', 'sync', 'sync', 'backfill', 'reconcile');
/** A bound of a backfill, as a share of the creation time of follow-ups; null: open. */
const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null });

const FAULTS: readonly Fault[] = [
  ...(['rateLimit', 'serverError', 'reset', 'hang', 'cut', 'nonJson'] as const).map((kind) => ({ kind })),
  { kind: 'slow', durationMs: 20 },
  { kind: 'error', error: 'token_inactive' },
  { kind: 'error', error: 'request_data_invalid' },
];

const trouble = fc.oneof(
  weighed(3, 'fault', {
    fault: fc.constantFrom(...FAULTS),
    skip: fc.nat({ max: 6 }),
    times: fc.integer({ min: 1, max: 5 }),
  }),
  // The source changes between two responses of the next run.
  weighed(3, 'between', { after: fc.nat({ max: 12 }), change }),
  weighed(2, 'sabotage', {
    write: fc.integer({ min: 1, max: 25 }),
    how: fc.constantFrom('terminate', 'refuse'),
  }),
  weighed(2, 'terminate', { request: fc.integer({ min: 1, max: 12 }) }),
);

/** Readings of the specification that an honest service may have, and change between two responses. */
const READINGS: readonly Partial<Readings>[] = [
  ...([null, 3, 7, 20] as const).map((largestPage) => ({ largestPage })),
  ...([null, 2] as const).map((unaskedPageSize) => ({ unaskedPageSize })),
  ...(['present', 'absent'] as const).map((trainingPaging) => ({ trainingPaging })),
  ...(['empty', 'refused'] as const).map((pastLastPage) => ({ pastLastPage })),
  ...(['plain', 'other-each-time'] as const).map((bytes) => ({ bytes })),
  ...[true, false].map((extraFields) => ({ extraFields })),
  ...[[], ['equipmentType_id'], ['equipmentType_id', 'metavalues']].map((leftOut) => ({ leftOut })),
];

const departure = fc.oneof(
  weighed(4, 'reading', { reading: fc.constantFrom(...READINGS) }),
  weighed(3, 'type-fails', {
    at,
    // Includes an identifier that the specification lacks.
    error: fc.constantFrom('content_not_found', 'server_error', 'parameter_invalid', 'retired'),
    times: fc.constantFrom(1, 4, Infinity),
  }),
  // Every response that contains this follow-up fails.
  weighed(2, 'followup-fails', { at }),
  // Without permission, the list of people would not be asked again for a week.
  weighed(1, 'access', { state: fc.constantFrom<TokenState[]>('inactive', 'account-inactive') }),
  weighed(3, 'put-right'),
);

const step = (kills: boolean) =>
  fc.oneof(
    { weight: 8, arbitrary: change },
    weighed(11, 'run', { stream, run, force: fc.boolean(), from: share, to: share, restart: fc.boolean() }),
    { weight: 5, arbitrary: trouble },
    { weight: 8, arbitrary: departure },
    weighed(3, 'pass', { minutes: fc.constantFrom<number[]>(0, 1, 5, 16, 90, 1_500) }),
    // Stored records of data issues are loaded again.
    weighed(1, 'retry', { stream }),
    weighed(kills ? 2 : 0, 'kill', {
      ...{ stream, run, request: fc.integer({ min: 1, max: 8 }), delayMs: fc.nat({ max: 40 }) },
    }),
  );
export type Step = Drawn<ReturnType<typeof step>>;

export const history = ({ kills, longest }: { readonly kills: boolean; readonly longest: number }) =>
  fc.record({
    seed: fc.integer({ min: 1, max: 5 }),
    serviceClockOffHours: fc.constantFrom(0, -3, 3),
    overlapMs: fc.constantFrom(0, 600_000),
    readers: fc.constantFrom(1, 4),
    followups: fc.constantFrom<Readings['followups'][]>('observed', 'observed', 'specified'),
    largestPage: fc.constantFrom(7, 7, null),
    steps: fc.array(step(kills), { minLength: 3, maxLength: longest, size: 'max' }),
  });
export type History = Drawn<ReturnType<typeof history>>;
