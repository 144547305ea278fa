/** How the service departs from the usual, as plain data, and how it comes back. */
import fc from 'fast-check';
import {
  type AnswerOddity,
  defaultReadings,
  type Fault,
  type Readings,
  type RecordOddity,
  type RequestLogEntry,
  type Sandbox,
  type TokenState,
} from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';

const LISTS = [
  'followups.list',
  'resources.list',
  'equipments.list',
  'training-employee-status.list',
] as const;
const METHODS = [...LISTS, 'users.info'] as const;
type Method = (typeof METHODS)[number];

/** What one record, or one answer, does not have for once. `left-out` only where a total tells that something is missing. */
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

const ANSWER_ODDITIES = [
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
] as const satisfies readonly AnswerOddity[];

/** Also one that the specification does not name. */
const ERRORS = [
  'content_not_found',
  'server_error',
  'parameter_invalid',
  'token_permission',
  'retired',
] as const;
const USER_ERRORS = ['server_error', 'user_deleted', 'content_not_found'] as const;

/** Readings that can change from one answer to the next without a change of what the records say. */
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
  { pagingFields: 'last-page-only' },
  { pagingFields: 'none' },
  { pagingFields: 'both' },
  { pagingTotal: 'counts-deleted' },
  { pagingTotal: 'exact' },
  { pastLastPage: 'empty' },
  { pastLastPage: 'refused' },
  { largestPage: 3 },
  { largestPage: 20 },
  { largestPage: null },
  { followupOrder: 'oldest-first' },
  { followupOrder: 'unordered' },
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
      /** null: until it is put right. */
      readonly times: number | null;
    }
  | { readonly kind: 'user-fails'; readonly at: number; readonly error: string }
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
      readonly kind: 'odd-answer';
      readonly how: AnswerOddity;
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
      kind: fc.constant('odd-answer' as const),
      how: fc.constantFrom(...ANSWER_ODDITIES),
      skip,
      times,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('odd-http' as const),
      httpStatus: fc.constantFrom(500, 503, 429, 403, null),
      times,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('put-right' as const) }) },
);

/** A record of 17 MiB is slow: for long soaks only. */
export const rareDeparture: fc.Arbitrary<Departure> = oddRecord(fc.constant('too-large' as const));

export interface Departures {
  take(departure: Departure): void;
  /** Users for whom every look-up fails. */
  /** With their error identifiers. */
  readonly failingUsers: ReadonlyMap<string, string>;
  /** Faults end, clocks and totals are right, the token may read everything. */
  putRight(options?: { readonly exceptUsers: boolean }): void;
}

/** `isQuiet`: what is asked now is asked by the comparison and is answered as it should be. */
export function createDepartures(sandbox: Sandbox, isQuiet: () => boolean): Departures {
  const failingUsers = new Map<string, string>();
  const next = (isMeant: (entry: RequestLogEntry) => boolean, fault: Fault, count: number): void => {
    sandbox.faults.next((entry) => !isQuiet() && isMeant(entry), fault, count);
  };
  const behind = (skipped: number): (() => boolean) => {
    let left = skipped;
    return () => (left -= 1) < 0;
  };
  const { readings } = sandbox;

  function oddRecord({ how, method, at, skip, times }: Extract<Departure, { kind: 'odd-record' }>): void {
    const isDue = behind(skip);
    // Where no total tells how many there are, a list that lacks one is a list without it.
    const isTold = (): boolean =>
      readings.pagingFields === 'both' &&
      ((method === 'followups.list' && readings.followupsPaging === 'present') ||
        (method === 'training-employee-status.list' && readings.trainingPaging === 'present'));
    next(
      (entry) => entry.method === method && (how !== 'left-out' || isTold()) && isDue(),
      { kind: 'oddRecord', how, at },
      times,
    );
  }

  function oddAnswer({ how, skip, times }: Extract<Departure, { kind: 'odd-answer' }>): void {
    const isDue = behind(skip);
    // No paging is specified for the other lists: an answer without it is the whole list.
    const isMeant = ({ method }: RequestLogEntry): boolean =>
      how !== 'paging-null' || method === 'followups.list' || method === 'training-employee-status.list';
    next((entry) => isMeant(entry) && isDue(), { kind: 'oddAnswer', how }, times);
  }

  function failUser(user: string, error: string): void {
    failingUsers.set(user, error);
    const isAsked = ({ method, params }: RequestLogEntry) =>
      method === 'users.info' && String(params['user']) === user;
    next(isAsked, { kind: 'error', error }, Infinity);
  }

  return {
    failingUsers,
    take(step) {
      switch (step.kind) {
        case 'service-clock':
          sandbox.serviceClock.aheadMs = step.aheadMinutes * MINUTE_MS;
          return;
        case 'last-updated':
          readings.lastUpdatedAheadMs = step.aheadMinutes * MINUTE_MS;
          return;
        case 'date-header':
          readings.dateHeaderAheadMs = step.aheadMinutes * MINUTE_MS;
          return;
        case 'reading':
          Object.assign(readings, step.reading);
          return;
        case 'type-fails': {
          const type = sandbox.equipmentTypes[step.at % sandbox.equipmentTypes.length];
          const isAsked = ({ params }: RequestLogEntry) => params['equipmentType_id'] === type;
          next(isAsked, { kind: 'error', error: step.error }, step.times ?? Infinity);
          return;
        }
        case 'user-fails': {
          const users = [...sandbox.store.users.keys()];
          const user = users[step.at % Math.max(1, users.length)];
          if (user === undefined) return;
          if (!failingUsers.has(user)) failUser(user, step.error);
          return;
        }
        case 'access':
          if (step.method === null) sandbox.access.set(step.state);
          else sandbox.access.setMethod(step.method, step.state);
          return;
        case 'odd-record':
          oddRecord(step);
          return;
        case 'odd-answer':
          oddAnswer(step);
          return;
        case 'odd-http':
          next(
            () => true,
            step.httpStatus === null
              ? { kind: 'oddHttp', encoding: 'gzip' }
              : { kind: 'oddHttp', httpStatus: step.httpStatus },
            step.times,
          );
          return;
        case 'put-right':
          this.putRight();
      }
    },
    putRight({ exceptUsers } = { exceptUsers: false }) {
      sandbox.faults.clear();
      if (exceptUsers) for (const [user, error] of failingUsers) failUser(user, error);
      else failingUsers.clear();
      sandbox.serviceClock.aheadMs = 0;
      const { dateHeaderAheadMs, lastUpdatedAheadMs, pagingTotal } = defaultReadings;
      Object.assign(readings, { dateHeaderAheadMs, lastUpdatedAheadMs, pagingTotal });
      sandbox.access.set('active');
      for (const method of METHODS) sandbox.access.setMethod(method, 'active');
    },
  };
}

/** Oddities under which everything can be stored all the same. */
const LOSES_NOTHING: ReadonlySet<string | null> = new Set<RecordOddity>(['repeated', 'left-out']);

/** Some record came in a form that cannot be stored: its row stays as it was. */
export function isAnyRecordLost(requests: readonly RequestLogEntry[]): boolean {
  return requests.some(({ fault, oddity }) => fault === 'oddRecord' && !LOSES_NOTHING.has(oddity));
}
