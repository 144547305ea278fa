/** Departures of the service from the usual, as plain data. */
import fc from 'fast-check';
import type { Readings, TokenState } from '../../src/sandbox/index.ts';

/** Something of this kind with its fields, and how often it is drawn beside others. */
export function weighed<Kind extends string, Fields = unknown>(
  weight: number,
  kind: Kind,
  fields?: { readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<{ readonly kind: Kind } & Readonly<Fields>> } {
  const arbitrary = fc.record({ kind: fc.constant(kind), ...fields });
  return { weight, arbitrary: arbitrary as unknown as fc.Arbitrary<{ readonly kind: Kind } & Fields> };
}

export type Drawn<Source> = Source extends fc.Arbitrary<infer One> ? One : never;

export const LISTS = [
  'followups.list',
  'resources.list',
  'equipments.list',
  'training-employee-status.list',
] as const;

/** Readings that can change between two responses without changing the meaning of records. */
const CHANGES_OF_READING: { readonly [Name in keyof Readings]?: readonly Readings[Name][] } = {
  trainingPaging: ['absent', 'present'],
  bytes: ['other-each-time', 'plain'],
  followupTimes: ['seconds'],
  pastLastPage: ['empty', 'refused'],
  largestPage: [3, 20, null],
  followupOrder: ['oldest-first', 'unordered'],
  lastPageWhenEmpty: [1],
  resourcesPaging: ['pages', 'none'],
  equipmentsPaging: ['pages', 'one-page', 'none'],
  unknownParameters: ['ignored'],
  extraFields: [true, false],
  leftOut: [['equipment.equipmentType_id'], ['equipment.equipmentType_id', 'equipment.metavalues'], []],
};
const readings = Object.entries(CHANGES_OF_READING).flatMap(([name, values]) =>
  values.map((value): Partial<Readings> => ({ [name]: value })),
);

const at = fc.nat({ max: 1_000 });
const times = fc.integer({ min: 1, max: 4 });

export const departure = fc.oneof(
  weighed(4, 'reading', { reading: fc.constantFrom(...readings) }),
  weighed(3, 'type-fails', {
    at,
    // Includes an identifier that the specification lacks.
    error: fc.constantFrom(
      'content_not_found',
      'server_error',
      'parameter_invalid',
      'token_permission',
      'retired',
    ),
    /** null: until it is reverted. */
    times: fc.option(times, { nil: null }),
  }),
  // Every response that contains this follow-up fails.
  weighed(2, 'followup-fails', { at }),
  weighed(2, 'access', {
    // Without permission, the list of people would not be asked again for a week.
    state: fc.constantFrom<TokenState[]>('inactive', 'account-inactive', 'active'),
    method: fc.option(fc.constantFrom(...LISTS), { nil: null }),
  }),
  weighed(2, 'put-right'),
);
export type Departure = Drawn<typeof departure>;
