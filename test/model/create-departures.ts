/** Applies departures to the sandbox, and reverts them. */
import {
  defaultReadings,
  type Fault,
  type Readings,
  type RecordOddity,
  type RequestLogEntry,
  type Sandbox,
} from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { type Departure, METHODS } from './departure.ts';

export interface Departures {
  take(departure: Departure): void;
  /** Users with failing lookups, and their error identifiers. */
  readonly failingUsers: ReadonlyMap<string, string>;
  /** Ends faults, corrects clocks and totals, and permits the token everything. */
  putRight(options?: { readonly exceptUsers: boolean }): void;
}

/** Whether every page of this list has the total of all pages. */
export function isTotalSent(readings: Readings, method: string): boolean {
  return (
    (readings.pagingFields === 'both' || readings.pagingFields === 'total-only') &&
    ((method === 'followups.list' && readings.followupsPaging === 'present') ||
      (method === 'training-employee-status.list' && readings.trainingPaging === 'present'))
  );
}

/** There may be follow-ups that no filter on creation time shows. */
export const isAnyUnfiltered = ({ followupTimes, undatedFollowups }: Readings): boolean =>
  followupTimes === 'seconds' || undatedFollowups === 'unfiltered';

/** `isQuiet`: requests come from the comparison and get correct answers. */
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
    // Without totals, a list with a missing record looks complete.
    const isSent = (): boolean => isTotalSent(readings, method);
    next(
      (entry) => entry.method === method && (how !== 'left-out' || isSent()) && isDue(),
      { kind: 'oddRecord', how, at },
      times,
    );
  }

  function oddResponse({ how, skip, times }: Extract<Departure, { kind: 'odd-response' }>): void {
    const isDue = behind(skip);
    // Paging is not specified for the other lists: a response without it is the whole list.
    const isMeant = ({ method }: RequestLogEntry): boolean =>
      how !== 'paging-null' || method === 'followups.list' || method === 'training-employee-status.list';
    next((entry) => isMeant(entry) && isDue(), { kind: 'oddResponse', how }, times);
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
        case 'followup-fails': {
          const ids = [...sandbox.store.followups.keys()];
          readings.unrenderable = [ids[step.at % Math.max(1, ids.length)] ?? ''];
          return;
        }
        case 'access':
          if (step.method === null) sandbox.access.set(step.state);
          else sandbox.access.setMethod(step.method, step.state);
          return;
        case 'odd-record':
          oddRecord(step);
          return;
        case 'odd-response':
          oddResponse(step);
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
      const { dateHeaderAheadMs, lastUpdatedAheadMs, pagingTotal, repeatedRows, unrenderable } =
        defaultReadings;
      const right = { dateHeaderAheadMs, lastUpdatedAheadMs, pagingTotal, repeatedRows, unrenderable };
      const { followupTimes, undatedFollowups } = defaultReadings;
      // They are read by pages of a list that may grow: one attempt must show all ties, which is luck if they change.
      if (isAnyUnfiltered(readings)) readings.followupTies = defaultReadings.followupTies;
      Object.assign(readings, right, { followupTimes, undatedFollowups });
      sandbox.access.set('active');
      for (const method of METHODS) sandbox.access.setMethod(method, 'active');
    },
  };
}

/** Oddities that do not prevent storing the records. */
const LOSES_NOTHING: ReadonlySet<string | null> = new Set<RecordOddity>(['repeated', 'left-out']);

/** A record had a form that cannot be stored, so its row kept its old values. */
export function isAnyRecordLost(requests: readonly RequestLogEntry[]): boolean {
  return requests.some(({ fault, oddity }) => fault === 'oddRecord' && !LOSES_NOTHING.has(oddity));
}
