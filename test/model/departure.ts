/** Departures of the service from the usual, as plain data. */
import fc from 'fast-check';
import type { ResponseOddity, Readings, RecordOddity, TokenState } from '../../src/sandbox/index.ts';

const LISTS = [
  'followups.list',
  'resources.list',
  'equipments.list',
  'training-employee-status.list',
] as const;
export const METHODS = [...LISTS, 'users.info'] as const;
type Method = (typeof METHODS)[number];

/** Single deviations of a record or response. `left-out` only if a total shows that a record is missing. */
const RECORD_ODDITIES = [
  'key-absent',
  'key-null',
  'key-object',
  'key-empty',
  'nested',
  'null',
  'text',
  'repeated',
  'left-out',
] as const satisfies readonly RecordOddity[];

const RESPONSE_ODDITIES = [
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
] as const satisfies readonly ResponseOddity[];

/** Includes an identifier that the specification lacks. */
const ERRORS = [
  'content_not_found',
  'server_error',
  'parameter_invalid',
  'token_permission',
  'retired',
] as const;
const USER_ERRORS = ['server_error', 'user_deleted', 'content_not_found'] as const;

/** Readings that can change between two responses without changing the meaning of records. */
const CHANGES_OF_READING = [
  { identifiers: 'numbers' },
  { identifiers: 'text' },
  { numbers: 'text' },
  { numbers: 'numbers' },
  { absent: 'null' },
  { absent: 'left-out' },
  { followupsPaging: 'absent' },
  { followupsPaging: 'present' },
  { trainingPaging: 'absent' },
  { trainingPaging: 'present' },
  { pagingFields: 'total-only' },
  { pagingFields: 'last-page-only' },
  { pagingFields: 'none' },
  { pagingFields: 'both' },
  { pagingTotal: 'counts-deleted' },
  { pagingTotal: 'exact' },
  { pagingTotal: 'capped' },
  { bytes: 'other-each-time' },
  { bytes: 'plain' },
  { repeatedRows: true },
  { repeatedRows: false },
  { undatedFollowups: 'unfiltered' },
  { followupTimes: 'seconds' },
  { pastLastPage: 'empty' },
  { pastLastPage: 'refused' },
  { largestPage: 3 },
  { largestPage: 20 },
  { largestPage: null },
  { followupOrder: 'oldest-first' },
  { followupOrder: 'unordered' },
  { followupTies: 'changing' },
  { followupTies: 'settled' },
  { lastPageWhenEmpty: 1 },
  { resourcesPaging: 'pages' },
  { resourcesPaging: 'none' },
  { equipmentsPaging: 'pages' },
  { equipmentsPaging: 'one-page' },
  { equipmentsPaging: 'none' },
  { unknownParameters: 'ignored' },
  { extraFields: 'dotted' },
  { extraFields: false },
  { dateHeader: 'asctime' },
  { dateHeader: 'unreadable' },
  { dateHeader: 'present' },
  { leftOut: ['equipment.equipmentType_id'] },
  { leftOut: ['equipment.equipmentType_id', 'equipment.metavalues'] },
  { leftOut: [] },
] as const satisfies readonly Partial<Readings>[];

export type Departure =
  | { readonly kind: 'service-clock'; readonly aheadMinutes: number }
  | { readonly kind: 'last-updated'; readonly aheadMinutes: number }
  | { readonly kind: 'date-header'; readonly aheadMinutes: number }
  | { readonly kind: 'reading'; readonly reading: Partial<Readings> }
  | {
      readonly kind: 'type-fails';
      readonly at: number;
      readonly error: string;
      /** null: until it is reverted. */
      readonly times: number | null;
    }
  | { readonly kind: 'user-fails'; readonly at: number; readonly error: string }
  /** Every response that contains this follow-up fails. */
  | { readonly kind: 'followup-fails'; readonly at: number }
  | { readonly kind: 'access'; readonly state: TokenState; readonly method: Method | null }
  | {
      readonly kind: 'odd-record';
      readonly how: RecordOddity;
      readonly method: Method;
      readonly at: number;
      readonly skip: number;
      readonly times: number;
    }
  | {
      readonly kind: 'odd-response';
      readonly how: ResponseOddity;
      readonly skip: number;
      readonly times: number;
    }
  | { readonly kind: 'odd-http'; readonly httpStatus: number | null; readonly times: number }
  | { readonly kind: 'put-right' };

const at = fc.nat({ max: 1_000 });
const skip = fc.nat({ max: 4 });
const times = fc.integer({ min: 1, max: 4 });
const aheadMinutes = fc.constantFrom(0, 0, -60, 30, 60, 300, 2 * 1_440);

const oddRecord = (how: fc.Arbitrary<RecordOddity>): fc.Arbitrary<Departure> =>
  fc.record({
    kind: fc.constant('odd-record' as const),
    how,
    method: fc.constantFrom(...LISTS),
    at,
    skip,
    times,
  });

export const departure: fc.Arbitrary<Departure> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('service-clock' as const), aheadMinutes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('last-updated' as const), aheadMinutes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('date-header' as const), aheadMinutes }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('reading' as const),
      reading: fc.constantFrom(...CHANGES_OF_READING),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('type-fails' as const),
      at,
      error: fc.constantFrom(...ERRORS),
      times: fc.option(times, { nil: null }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('user-fails' as const),
      at,
      error: fc.constantFrom(...USER_ERRORS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('followup-fails' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('access' as const),
      state: fc.constantFrom<TokenState>('inactive', 'without-permission', 'account-inactive', 'active'),
      method: fc.option(fc.constantFrom(...METHODS), { nil: null }),
    }),
  },
  { weight: 4, arbitrary: oddRecord(fc.constantFrom(...RECORD_ODDITIES)) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('odd-response' as const),
      how: fc.constantFrom(...RESPONSE_ODDITIES),
      skip,
      times,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('odd-http' as const),
      httpStatus: fc.constantFrom(206, 500, 503, 429, 403, null),
      times,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('put-right' as const) }) },
);

/** A record of 17 MiB is slow, so it is for long soaks only. */
export const rareDeparture: fc.Arbitrary<Departure> = oddRecord(fc.constant('too-large' as const));
