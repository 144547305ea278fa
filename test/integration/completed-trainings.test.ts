/** Completions: a newest-first list without filters by time, which a service may lack. */
import { describe, expect, test } from 'vitest';
import { forgetPerson } from '../../src/engine/sync/forget.ts';
import { runFailure, type RunRequest, type RunResult } from '../../src/engine/sync/run.ts';
import { verifyRecord } from '../../src/engine/sync/verify-record.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import type { CompletedTraining, RequestLogEntry } from '../../src/sandbox/index.ts';
import { DAY_MS } from '../../src/shared/time.ts';
import { findText } from '../support/find-text.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { NOON } from '../support/test-clock.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { issuesOf, rowVersions } from '../support/warehouse-marks.ts';
import { createTestWorker, type TestWorker, type TestWorkerOptions } from '../support/worker.ts';

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
  const sandbox = { clock: () => NOON, readings: { largestPage: 40 }, ...options.sandbox };
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
async function synced(options?: TestWorkerOptions): Promise<TestWorker> {
  const worker = await open(options);
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

  test('new completions are read to the first page of known ones', async () => {
    const worker = await synced();
    for (let number = 1; number <= 50; number += 1)
      recordsOf(worker).put(completion(`new ${number}`, { date_number: TODAY }));
    expect(await sync(worker)).toMatchObject({ requests: 3, counts: { inserted: 50, unchanged: 70 } });
    await isEqual(worker);
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
  });

  test.each([{ kind: 'reconcile' }, { kind: 'backfill' }, { force: true }] as const)(
    'everything is read at once by %j',
    async (request) => {
      const worker = await synced();
      const [gone = ''] = recordsOf(worker).keys();
      recordsOf(worker).delete(gone);
      expect(await sync(worker, request)).toMatchObject({ requests: 10, counts: { deleted: 1 } });
      await isEqual(worker);
    },
  );

  test('a list of one response is read whole each time', async () => {
    const worker = await synced({ sandbox: { readings: {} } });
    const [gone = ''] = recordsOf(worker).keys();
    recordsOf(worker).delete(gone);
    expect(await sync(worker)).toMatchObject({ requests: 1, counts: { deleted: 1 } });
    await isEqual(worker);
  });

  test('a complete read that fails is repeated by the next sync', async () => {
    const worker = await open();
    worker.sandbox.faults.next((entry) => pageOf(entry) === 5, {
      kind: 'error',
      error: 'request_data_invalid',
    });
    expect(runFailure(await sync(worker))?.code).toBe('request_data_invalid');
    expect(await sync(worker)).toMatchObject({ outcome: 'succeeded', requests: 10 });
    await isEqual(worker);
  });
});

describe('deletions', () => {
  test('a list that lacks more than the guard allows deletes nothing, unless it is allowed', async () => {
    const worker = await synced();
    for (const key of [...recordsOf(worker).keys()].slice(0, 130)) recordsOf(worker).delete(key);
    const ids = await liveIds(worker);
    expect(runFailure(await sync(worker, { kind: 'reconcile' }))?.code).toBe('delete_guard');
    expect(await liveIds(worker)).toEqual(ids);
    expectSucceeded(await sync(worker, { kind: 'reconcile', allowMassDelete: true }));
    await isEqual(worker);
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

  test('completions that are entered meanwhile do not prolong the read', async () => {
    const worker = await open();
    let passes = 0;
    worker.sandbox.hooks.beforeResponse = (entry) => {
      if (pageOf(entry) === 1) passes += 1;
      const id = `new ${worker.sandbox.requests.length}`;
      recordsOf(worker).put(completion(id, { date_number: TODAY, created: NOON + DAY_MS }));
    };
    expect(await sync(worker)).toMatchObject({ outcome: 'succeeded', counts: { deleted: 0 } });
    expect(passes).toBe(2);
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

describe('a service without the list', () => {
  test.each(['api_method_not_found', 'token_permission', 'parameter_unexpected'] as const)(
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
      const facts = accounts.get('default')?.find(({ stream }) => stream === STREAM);
      expect(facts).toMatchObject({ isOffered: false, failingWith: undefined });
      await worker.query(`update safety_sync.optional_methods set asked_at = asked_at - interval '7 days'`);
      expect(await sync(worker)).toMatchObject({ outcome: 'skipped', requests: 1 });
      await worker.query(`update safety_sync.optional_methods set asked_at = asked_at - interval '7 days'`);
      expectSucceeded(await sync(worker));
      await isEqual(worker);
    },
  );

  test('rows stay when the service offers the list no more', async () => {
    const worker = await synced();
    worker.sandbox.readings.notOffered = [METHOD];
    expect(await sync(worker)).toMatchObject({ outcome: 'skipped', requests: 1 });
    expect(await liveIds(worker)).toHaveLength(190);
  });
});

describe('what is stored of a completion', () => {
  test('signatures and files are stored nowhere, also of a rejected record, and a new signature changes nothing', async () => {
    const worker = await open();
    const fields = { signature: { key: 'CANARY' }, files: [{ key: 'CANARY', caption: 'CANARY' }] };
    for (const key of recordsOf(worker).keys()) recordsOf(worker).update(key, fields);
    recordsOf(worker).put({ ...completion('keyless', fields), id: null }, 'keyless');
    expectSucceeded(await sync(worker));
    expect(await issuesOf(worker, STREAM)).toMatchObject([{ kind: 'record_rejected' }]);
    expect(await findText(worker, ['CANARY'])).toEqual([]);
    const before = await rowVersions(worker);
    for (const key of recordsOf(worker).keys())
      recordsOf(worker).update(key, { signature: { key: 'other' } });
    expectSucceeded(await sync(worker, { kind: 'reconcile' }));
    expect(await rowVersions(worker)).toEqual(before);
  });

  test('notes can be left out, and a forgotten person is one as who was trained and as instructor', async () => {
    const privacy = { omit: ['training_records.notes'], pseudonymize: [], key: 'a key of sixteen or more' };
    const worker = await open({ privacy });
    recordsOf(worker).put(completion('trained', { m_user_id: 'AD-77', notes: 'CANARY' }));
    recordsOf(worker).put(completion('trainer', { m_instructor_id: 'AD-77' }));
    expectSucceeded(await sync(worker));
    expect(await findText(worker, ['CANARY'])).toEqual([]);
    const { pseudonym } = await forgetPerson(worker.context, 'AD-77');
    expectSucceeded(await sync(worker, { force: true }));
    expect(
      await worker.query(`select id, user_id, instructor_id from safety.training_records
        where '${pseudonym}' in (user_id, instructor_id) order by id`),
    ).toEqual([
      { id: 'trained', user_id: pseudonym, instructor_id: null },
      { id: 'trainer', user_id: '10001', instructor_id: pseudonym },
    ]);
    expect(await findText(worker, ['AD-77'])).toEqual([]);
    const found = await verifyRecord(worker.context, STREAM, 'trained');
    expect(found).toMatchObject({ isEqual: true, source: 'present' });
  });

  test('one completion is verified by one request, for its person and training', async () => {
    const worker = await synced();
    const [key = ''] = recordsOf(worker).keys();
    expect(await verifyRecord(worker.context, STREAM, key)).toMatchObject({
      isEqual: true,
      requests: 1,
    });
    recordsOf(worker).update(key, { notes: 'changed', training_id: 399 });
    const { isEqual: isSame, fields } = await verifyRecord(worker.context, STREAM, key);
    expect(isSame).toBe(false);
    expect(fields.find(({ field }) => field === 'training_id')).toMatchObject({
      isEqual: false,
      source: 399,
    });
    recordsOf(worker).delete(key);
    expect(await verifyRecord(worker.context, STREAM, key)).toMatchObject({ source: 'absent' });
  });
});
