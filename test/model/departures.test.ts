/**
 * The shortest histories where a single departure of the service once made the warehouse wrong. Cases of the proof only
 * repeat departures that the tests of their stream cover, too.
 */
import { describe, expect, test } from 'vitest';
import type { Readings } from '../../src/sandbox/index.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunKind } from '../../src/engine/streams/state.ts';
import { casesOf, inProof } from '../support/proof.ts';
import type { Departure } from './departure.ts';
import { noTally, play } from './play.ts';
import type { History, Step } from './step.ts';

const PLAIN: Omit<History, 'steps'> = {
  seed: 1,
  serviceClockOffHours: 0,
  overlapMs: 600_000,
  readers: 1,
  largestPage: null,
  bounds: 'exclusive',
  readings: {},
};

async function holds(steps: readonly Step[], readings: Partial<Readings> = {}): Promise<void> {
  const tally = noTally();
  // Streams without a step in the history have no departures.
  const touched = new Set(steps.flatMap((step) => ('stream' in step ? [step.stream] : [])));
  const streams = STREAM_NAMES.filter((name) => touched.has(name));
  await play(
    { ...PLAIN, largestPage: readings.largestPage ?? null, readings, steps },
    tally,
    casesOf({ few: { streams }, all: {} }),
  );
  expect(tally.histories).toBe(1);
}

const run = (stream: StreamName, kind: RunKind = 'sync'): Step => ({
  kind: 'run',
  stream,
  run: kind,
  force: true,
  from: null,
  to: null,
  restart: false,
});
const pass = (minutes: number): Step => ({ kind: 'pass', minutes });
const reassign = (at: number): Step => ({ kind: 'followup', action: 'reassign', at });
const update = (table: 'employees' | 'equipment' | 'resources', at: number): Step => ({
  kind: 'change',
  table,
  action: 'update',
  at,
});
const oddRecord = (
  method: Extract<Departure, { kind: 'odd-record' }>['method'],
  how: Extract<Departure, { kind: 'odd-record' }>['how'],
): Extract<Departure, { kind: 'odd-record' }> => ({
  kind: 'odd-record',
  method,
  how,
  at: 1,
  skip: 0,
  times: 20,
});
const typeFails = (at: number, error: string): Step => ({ kind: 'type-fails', at, error, times: null });
const userFails = (at: number, error: string): Step => ({ kind: 'user-fails', at, error });
const serviceClock = (aheadMinutes: number): Step => ({ kind: 'service-clock', aheadMinutes });
const lastUpdated = (aheadMinutes: number): Step => ({ kind: 'last-updated', aheadMinutes });
const reading = (change: Partial<Readings>): Step => ({ kind: 'reading', reading: change });
const PUT_RIGHT: Step = { kind: 'put-right' };

inProof(() => {
  describe('a paged list without a paging object is read to its end', () => {
    test('of employees, when the service begins to give fewer than requested', async () => {
      const training = run('training-employee-status');
      await holds([training, pass(16), reading({ largestPage: 3 }), training], { trainingPaging: 'absent' });
    });

    test('of follow-ups, when the service begins to give fewer than requested', async () => {
      await holds([run('followups'), reading({ largestPage: 3 }), run('followups', 'reconcile')], {
        followupsPaging: 'absent',
      });
    });
  });
});

describe('a list that is paged without a request for pages is read to its end', () => {
  const PAGES = { resourcesPaging: 'pages', equipmentsPaging: 'pages', unaskedPageSize: 2 } as const;
  test.each(casesOf<('last-page-only' | 'none')[]>({ few: ['none'], all: ['last-page-only', 'none'] }))(
    'its paging object has %s of its two fields',
    async (pagingFields) => {
      await holds([run('resources'), run('equipments')], { ...PAGES, pagingFields });
    },
  );

  const WRONG = ['total-too-small', 'total-negative', 'last-page-too-small', 'paging-list'] as const;
  test.each(casesOf<readonly (typeof WRONG)[number][]>({ few: ['total-too-small'], all: WRONG }))(
    'or is wrong: %s',
    async (how) => {
      const odd: Step = { kind: 'odd-response', how, skip: 0, times: 1 };
      await holds([run('resources'), odd, run('resources'), odd, run('equipments')], PAGES);
    },
  );
});

describe('a record that comes once in a form that cannot be stored', () => {
  const KINDS: [StreamName, Extract<Departure, { kind: 'odd-record' }>['method'], RunKind][] = [
    ['resources', 'resources.list', 'sync'],
    ['equipments', 'equipments.list', 'sync'],
    ['training-employee-status', 'training-employee-status.list', 'sync'],
    ['followups', 'followups.list', 'reconcile'],
  ];
  const HOW = ['key-null', 'key-absent', 'key-object', 'nested', 'null'] as const;
  test.each(casesOf({ few: KINDS.slice(0, 1), all: KINDS }))(
    'of %s stays live',
    async (stream, method, kind) => {
      await holds([
        run(stream),
        ...HOW.flatMap((how) => [pass(16), oddRecord(method, how), run(stream, kind), PUT_RIGHT]),
      ]);
    },
  );

  test.each(casesOf({ few: KINDS.slice(2, 3), all: KINDS }))(
    'of %s stays live, also when its numbers come as text',
    async (stream, method, kind) => {
      await holds([
        run(stream),
        pass(16),
        reading({ numbers: 'text', identifiers: 'numbers' }),
        oddRecord(method, 'key-null'),
        run(stream, kind),
      ]);
    },
  );
});

inProof(() => {
  test('a record that is too large to be held costs itself, not the run', async () => {
    const tooLarge: Step = { ...oddRecord('resources.list', 'too-large'), times: 2 };
    await holds([run('resources'), tooLarge, run('resources')]);
  });

  test('an unknown field is an open issue while it is sent, also with dots in its name', async () => {
    await holds([run('resources'), reading({ extraFields: false }), run('resources')], {
      extraFields: 'dotted',
    });
    await holds([run('resources')], { extraFields: 'dotted' });
  });
});

inProof(() => {
  describe('equipment types', () => {
    /** Moves several records to the last of the four types. */
    const moves = [3, 7, 11, 15, 19].map((at): Step => ({ kind: 'move-equipment', at }));

    test('what moved into a type that fails for good is not deleted', async () => {
      await holds([run('equipments'), typeFails(3, 'content_not_found'), ...moves, run('equipments')]);
    });

    test('the requested type is stored for records without a type, and follows a move', async () => {
      await holds([run('equipments'), ...moves, run('equipments')], {
        leftOut: ['equipment.equipmentType_id', 'equipment.metavalues'],
      });
    });

    test('equipment of another type than the requested one is deleted when the source deletes it', async () => {
      const gone = Array.from({ length: 6 }, (_, at): Step => ({
        kind: 'change',
        table: 'equipment',
        action: 'delete',
        at,
      }));
      await holds([run('equipments'), ...gone, run('equipments')], { equipmentOwnType: 'sub-type' });
    });
  });
});

inProof(() => {
  describe('clocks', () => {
    test('follow-ups that change after the clock of the service was put right are not passed by', async () => {
      await holds([
        run('followups'),
        serviceClock(60),
        reassign(3),
        run('followups'),
        serviceClock(0),
        pass(1),
        reassign(5),
        run('followups'),
      ]);
    });

    test('nor when no run saw the clock while it was behind what had been read', async () => {
      await holds([
        run('followups'),
        serviceClock(60),
        reassign(3),
        run('followups'),
        serviceClock(0),
        pass(16),
        reassign(5),
        pass(90),
        reassign(7),
        run('followups'),
      ]);
    });

    test('nor when the clock was behind for a while', async () => {
      await holds([
        run('followups'),
        reassign(3),
        run('followups'),
        serviceClock(-60),
        pass(1),
        reassign(5),
        run('followups'),
        serviceClock(0),
        reassign(7),
        run('followups'),
      ]);
    });

    test.each([30, 2 * 1_440])(
      'a last_updated that was %i minutes ahead does not freeze trainings',
      async (ahead) => {
        const training = run('training-employee-status');
        await holds([
          training,
          pass(16),
          lastUpdated(ahead),
          training,
          lastUpdated(0),
          update('employees', 1),
          pass(16),
          training,
          pass(16),
          training,
        ]);
      },
    );
  });
});

test('what the service cached for a run that failed is stored until the cache is over, and the change after it then', async () => {
  const training = run('training-employee-status');
  const secondPageFails: Step = { kind: 'fault', fault: 'serverError', skip: 1, times: 4 };
  await holds([secondPageFails, training, update('employees', 0), training, pass(16), training], {
    trainingPaging: 'absent',
    trainingCache: 'per-request',
    largestPage: 7,
  });
});

inProof(() => {
  describe('failing lookups of some users do not affect the names of others', () => {
    const training = run('training-employee-status');
    test.each(casesOf({ few: ['user_deleted'], all: ['server_error', 'user_deleted'] }))(
      '%s',
      async (error) => {
        await holds([training, ...[0, 1, 2].map((at) => userFails(at, error)), run('users')]);
      },
    );
  });
});

inProof(() => {
  test('one id twice in one response is one row, which does not change', async () => {
    await holds([run('resources'), run('resources'), run('resources')], { doubles: 'far-apart' });
  });
});

inProof(() => {
  test('issues that are put through again make no stream look fresh', async () => {
    await holds([
      { kind: 'retry', stream: 'followups' },
      run('followups'),
      { kind: 'retry', stream: 'followups' },
    ]);
  });
});
