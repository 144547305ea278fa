/** Departures of the service from the usual, as plain data. */
import fc from 'fast-check';
import type { ResponseOddity, Readings, RecordOddity, TokenState } from '../../src/sandbox/index.ts';

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

const LISTS = [
  'followups.list',
  'resources.list',
  'equipments.list',
  'training-employee-status.list',
] as const;
export const METHODS = [...LISTS, 'users.info'] as const;

/** Readings that can change between two responses without changing the meaning of records. */
const CHANGES_OF_READING: { readonly [Name in keyof Readings]?: readonly Readings[Name][] } = {
  identifiers: ['numbers', 'text'],
  numbers: ['text', 'numbers'],
  absent: ['null', 'left-out'],
  followupsPaging: ['absent', 'present'],
  trainingPaging: ['absent', 'present'],
  pagingFields: ['total-only', 'last-page-only', 'none', 'both'],
  pagingTotal: ['counts-deleted', 'exact', 'capped'],
  bytes: ['other-each-time', 'plain'],
  repeatedRows: [true, false],
  undatedFollowups: ['unfiltered'],
  followupTimes: ['seconds'],
  pastLastPage: ['empty', 'refused'],
  largestPage: [3, 20, null],
  followupOrder: ['oldest-first', 'unordered'],
  followupTies: ['changing', 'settled'],
  lastPageWhenEmpty: [1],
  resourcesPaging: ['pages', 'none'],
  equipmentsPaging: ['pages', 'one-page', 'none'],
  unknownParameters: ['ignored'],
  extraFields: ['dotted', false],
  dateHeader: ['asctime', 'unreadable', 'present'],
  leftOut: [['equipment.equipmentType_id'], ['equipment.equipmentType_id', 'equipment.metavalues'], []],
};
const readings = Object.entries(CHANGES_OF_READING).flatMap(([name, values]) =>
  values.map((value): Partial<Readings> => ({ [name]: value })),
);

const at = fc.nat({ max: 1_000 });
const skip = fc.nat({ max: 4 });
const times = fc.integer({ min: 1, max: 4 });
const aheadMinutes = fc.constantFrom(0, 0, -60, 30, 60, 300, 2 * 1_440);

const oddRecord = (weight: number, ...oddities: readonly RecordOddity[]) =>
  weighed(weight, 'odd-record', {
    how: fc.constantFrom(...oddities),
    method: fc.constantFrom(...LISTS),
    at,
    skip,
    times,
  });

export const departure = fc.oneof(
  weighed(3, 'service-clock', { aheadMinutes }),
  weighed(2, 'last-updated', { aheadMinutes }),
  weighed(1, 'date-header', { aheadMinutes }),
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
  weighed(2, 'user-fails', {
    at,
    error: fc.constantFrom('server_error', 'user_deleted', 'content_not_found'),
  }),
  // Every response that contains this follow-up fails.
  weighed(2, 'followup-fails', { at }),
  weighed(2, 'access', {
    state: fc.constantFrom<TokenState[]>('inactive', 'without-permission', 'account-inactive', 'active'),
    method: fc.option(fc.constantFrom(...METHODS), { nil: null }),
  }),
  // Single deviations of a record. `left-out` only if a total shows that a record is missing.
  oddRecord(
    4,
    'key-absent',
    'key-null',
    'key-object',
    'key-empty',
    'nested',
    'null',
    'text',
    'repeated',
    'left-out',
  ),
  weighed(2, 'odd-response', {
    how: fc.constantFrom<ResponseOddity[]>(
      'ok-absent',
      'ok-text',
      'list-absent',
      'list-null',
      'list-object',
      'total-text',
      'total-negative',
      'total-too-small',
      'total-too-large',
      'last-page-too-small',
      'last-page-too-large',
      'paging-null',
      'paging-list',
      'last-updated-text',
      'last-updated-absent',
    ),
    skip,
    times,
  }),
  weighed(1, 'odd-http', { httpStatus: fc.constantFrom(206, 500, 503, 429, 403, null), times }),
  weighed(2, 'put-right'),
);
export type Departure = Drawn<typeof departure>;

/** A record of 17 MiB is slow, so it is for long soaks only. */
export const rareDeparture = oddRecord(1, 'too-large').arbitrary;
