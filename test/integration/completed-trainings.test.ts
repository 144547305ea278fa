/** Completions: a newest-first list without filters by time, which a service may lack. */
import { describe, expect, test } from 'vitest';
import { runFailure, type RunRequest, type RunResult } from '../../src/engine/sync/run.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import type { CompletedTraining, RequestLogEntry } from '../../src/sandbox/index.ts';
import { findText } from '../support/find-text.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { NOON } from '../support/test-clock.ts';
import {
  createTestWorker,
  expectSucceeded,
  issuesOf,
  rowVersions,
  type TestWorker,
  type TestWorkerOptions,
} from '../support/world.ts';

const STREAM = 'completed-trainings';
const METHOD = 'completedtrainings.v2.list';
const TODAY = 20_260_302;
const LONG_AGO = 20_200_131;

const completion = (id: string, fields: Partial<CompletedTraining>): object => ({
  ...SPECIMENS[STREAM].build(id),
  ...fields,
});

/** A source with five pages. */
async function open(options: TestWorkerOptions = {}): Promise<TestWorker> {
  const size = { followups: 2, employees: 40, equipment: 2, resources: 2, users: 2 };
  const sandbox = { clock: () => NOON, size, readings: { largestPage: 40 }, ...options.sandbox };
  const worker = untilTestEnds(await createTestWorker({ ...options, sandbox }));
  const { completedTrainings: all } = worker.sandbox.store;
  for (const key of [...all.keys()].slice(190)) all.delete(key);
  return worker;
}

const recordsOf = ({ sandbox }: TestWorker) => sandbox.store.completedTrainings;
const sync = async (worker: TestWorker, request: Partial<RunRequest> = {}): Promise<RunResult> =>
  await worker.run(STREAM, { trigger: 'schedule', ...request });
const isEqual = (worker: TestWorker) => expectWarehouseEqualsSource(worker, { tables: ['training_records'] });
const aWeekLater = (worker: TestWorker) =>
  worker.query(`update safety_sync.stream_state set complete_read_at = complete_read_at - interval '7 days'`);
const pageOf = ({ params }: Pick<RequestLogEntry, 'params'>) => params['page'] ?? 1;

async function liveIds(worker: TestWorker): Promise<string[]> {
  const rows = await worker.query<{ id: string }>(
    'select id from safety.training_records where _deleted_at is null order by id',
  );
  return rows.map(({ id }) => id);
}

/** After a first sync. */
async function synced(): Promise<TestWorker> {
  const worker = await open();
  expectSucceeded(await sync(worker));
  return worker;
}

describe('what a sync reads', () => {
  test('the first sync reads all pages, and once more to know that none moved; the next one reads one page and writes nothing', async () => {
    const worker = await open();
    const first = await sync(worker);
    expect(first).toMatchObject({
      outcome: 'succeeded',
      requests: 10,
      counts: { inserted: 190, unchanged: 190 },
    });
    await isEqual(worker);
    const before = await rowVersions(worker);
    const second = await sync(worker);
    expect(second).toMatchObject({ outcome: 'succeeded', requests: 1, counts: { read: 40, unchanged: 40 } });
    expect(await rowVersions(worker)).toEqual(before);
  });

  test('a deletion and a completion that is entered late for an old day are found a week after the last complete read', async () => {
    const worker = await synced();
    const [gone = ''] = recordsOf(worker).keys();
    recordsOf(worker).delete(gone);
    recordsOf(worker).put(completion('late', { date_number: LONG_AGO }));
    expect(await sync(worker)).toMatchObject({ requests: 1, counts: { inserted: 0, deleted: 0 } });
    await aWeekLater(worker);
    expect(await sync(worker)).toMatchObject({ requests: 10, counts: { inserted: 1, deleted: 1 } });
    await isEqual(worker);
    expect(await sync(worker)).toMatchObject({ requests: 1 });
    expect(await sync(worker, { force: true })).toMatchObject({ requests: 10 });
  });
});

describe('a list that changes while its pages are read', () => {
  test('a record that moves to a page that was read already is found by another pass', async () => {
    const worker = await open();
    const days = [...recordsOf(worker)].toSorted(([, one], [, other]) => one.date_number - other.date_number);
    const [oldest = ''] = days[0] ?? [];
    worker.sandbox.hooks.beforeResponse = (entry) => {
      if (pageOf(entry) === 3) recordsOf(worker).update(oldest, { date_number: TODAY });
    };
    // The first pass lacks it and asks for one more page, the second one has it, and the third one shows nothing new.
    expect(await sync(worker)).toMatchObject({ outcome: 'succeeded', requests: 16 });
    await isEqual(worker);
  });

  test('a list that shows other old records in each of six passes fails as read_incomplete, stores them and deletes nothing', async () => {
    const worker = await synced();
    const [gone = ''] = recordsOf(worker).keys();
    recordsOf(worker).delete(gone);
    let passes = 0;
    worker.sandbox.hooks.beforeResponse = (entry) => {
      if (pageOf(entry) !== 1) return;
      passes += 1;
      recordsOf(worker).put(completion(`other ${passes}`, { date_number: LONG_AGO }));
    };
    const result = await sync(worker, { kind: 'reconcile' });
    expect(runFailure(result)?.code).toBe('read_incomplete');
    expect(passes).toBe(6);
    expect(result.counts).toMatchObject({ inserted: 6, deleted: 0 });
    expect(await liveIds(worker)).toContain(gone);
    worker.sandbox.hooks.beforeResponse = undefined;
    expectSucceeded(await sync(worker, { kind: 'reconcile' }));
    await isEqual(worker);
  });
});

test.each(['api_method_not_found', 'token_permission'] as const)(
  '%s means that it is not offered: no failure, and no further request for a week',
  async (error) => {
    const worker = await open();
    worker.sandbox.faults.next(() => true, { kind: 'error', error }, 2);
    const reason = `the service does not offer ${METHOD}`;
    expect(await sync(worker)).toMatchObject({ outcome: 'skipped', reason, requests: 1 });
    expect(await sync(worker, { trigger: 'manual' })).toMatchObject({
      outcome: 'skipped',
      reason,
      requests: 0,
    });
    const { accounts } = await readAccounts(worker.connection, ['default']);
    const facts = accounts.get('default')?.streams.find(({ stream }) => stream === STREAM);
    expect(facts).toMatchObject({ isOffered: false });
    await worker.query(`update safety_sync.optional_methods set asked_at = asked_at - interval '7 days'`);
    expect(await sync(worker)).toMatchObject({ outcome: 'skipped', requests: 1 });
    await worker.query(`update safety_sync.optional_methods set asked_at = asked_at - interval '7 days'`);
    expectSucceeded(await sync(worker));
    await isEqual(worker);
  },
);

test('signatures and files are stored nowhere, also of a rejected record, and a new signature changes nothing', async () => {
  const worker = await open();
  const fields = { signature: { key: 'CANARY' }, files: [{ key: 'CANARY', caption: 'CANARY' }] };
  for (const key of recordsOf(worker).keys()) recordsOf(worker).update(key, fields);
  recordsOf(worker).put({ ...completion('keyless', fields), id: null }, 'keyless');
  expectSucceeded(await sync(worker));
  expect(await issuesOf(worker, STREAM)).toMatchObject([{ kind: 'record_rejected' }]);
  expect(await findText(worker, ['CANARY'])).toEqual([]);
  const before = await rowVersions(worker);
  for (const key of recordsOf(worker).keys()) recordsOf(worker).update(key, { signature: { key: 'other' } });
  expectSucceeded(await sync(worker, { kind: 'reconcile' }));
  expect(await rowVersions(worker)).toEqual(before);
});
