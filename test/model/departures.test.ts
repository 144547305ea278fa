/**
 * The shortest histories where a single departure of the service once made the warehouse wrong. Departures that the tests of
 * their stream cover are not repeated here.
 */
import { describe, expect, test } from 'vitest';
import type { Readings } from '../../src/sandbox/index.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunKind } from '../../src/engine/streams/state.ts';
import { casesOf } from '../support/proof.ts';
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
const reading = (change: Partial<Readings>): Step => ({ kind: 'reading', reading: change });
const PUT_RIGHT: Step = { kind: 'put-right' };

describe('a list in pages that were not requested', () => {
  const PAGES = { resourcesPaging: 'pages', equipmentsPaging: 'pages', unaskedPageSize: 2 } as const;
  test.each(casesOf<('last-page-only' | 'none')[]>({ few: ['none'], all: ['last-page-only', 'none'] }))(
    'a list in pages that were not requested is read to its end if its paging object has %s of its two fields',
    async (pagingFields) => {
      await holds([run('resources'), run('equipments')], { ...PAGES, pagingFields });
    },
  );

  const WRONG = ['total-too-small', 'total-negative', 'last-page-too-small', 'paging-list'] as const;
  test.each(casesOf<readonly (typeof WRONG)[number][]>({ few: [], all: WRONG }))(
    'a list in pages that were not requested is read to its end if its paging object is wrong: %s',
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
    'a record of %s that comes once in a form that cannot be stored stays live',
    async (stream, method, kind) => {
      await holds([
        run(stream),
        ...HOW.flatMap((how) => [pass(16), oddRecord(method, how), run(stream, kind), PUT_RIGHT]),
      ]);
    },
  );

  test.each(casesOf({ few: KINDS.slice(2, 3), all: KINDS }))(
    'a record of %s that comes once without a key stays live, also if its numbers come as text',
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

test('a response that the service cached for a failed run is stored while the cache lasts, and a later change afterwards', async () => {
  const training = run('training-employee-status');
  const secondPageFails: Step = { kind: 'fault', fault: 'serverError', skip: 1, times: 4 };
  const change: Step = { kind: 'change', of: 'training-employee-status', action: 'update', at: 0 };
  await holds([secondPageFails, training, change, training, pass(16), training], {
    trainingPaging: 'absent',
    trainingCache: 'per-request',
    largestPage: 7,
  });
});
