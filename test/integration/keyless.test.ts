/** Records that come without a usable key are not taken for deleted ones, and keep no others from being deleted (contract, 5.4 and 5.5). */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { forEachTest } from '../support/lifetime.ts';
import { casesOf, inProof } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded } from '../support/timed-worker.ts';
import { issuesOf, runsOf } from '../support/warehouse-marks.ts';

const STREAMS = ['resources', 'equipments', 'training-employee-status', 'followups'] as const;
type Stream = (typeof STREAMS)[number];
const TRAINING = 'training-employee-status';

const worker = forEachTest(() =>
  createTimedWorker({
    sandbox: { size: { followups: 30, employees: 30, equipment: 30, resources: 30, users: 6 } },
  }),
);

/** A complete read; for follow-ups a reconcile. */
async function read(stream: Stream) {
  worker.time.now += 20 * MINUTE_MS;
  if (stream === TRAINING) worker.sandbox.store.recalculateTraining(worker.time.now - MINUTE_MS);
  return expectSucceeded(await worker.run(stream, stream === 'followups' ? { kind: 'reconcile' } : {}))
    .counts;
}
const records = (stream: Stream) => SPECIMENS[stream].records(worker);
const keysOf = (stream: Stream) => [...records(stream).keys()].slice(0, 9);
const openIssues = async (stream: Stream) =>
  (await issuesOf(worker, stream)).filter((issue) => issue.is_open);
async function deletedOf(stream: Stream): Promise<string[]> {
  const { table, keyColumn } = SPECIMENS[stream];
  const rows = await worker.query<{ key: string }>(
    `select ${keyColumn} as key from safety.${table} where _deleted_at is not null order by 1`,
  );
  return rows.map(({ key }) => key);
}
/** Removes the key of a record; returns a function that restores it. */
function loseKey(stream: Stream, key: string): () => void {
  const whole = { ...(records(stream).get(key) as object) };
  records(stream).put({ ...whole, [SPECIMENS[stream].keyField]: null }, key);
  return () => {
    records(stream).put(whole, key);
  };
}
const nested = (levels: number): unknown => (levels === 0 ? 'bottom' : [nested(levels - 1)]);

test.each(casesOf<readonly Stream[]>({ few: STREAMS.slice(0, 1), all: STREAMS }))(
  '%s: a stored record that is received without its key is not deleted',
  async (stream) => {
    await read(stream);
    const [first = ''] = keysOf(stream);
    const giveBack = loseKey(stream, first);
    expect(await read(stream)).toMatchObject({ deleted: 0, rejected: 1 });
    expect((await runsOf(worker, stream))[0]?.['note']).toContain(
      '1 row that the source did not show: not marked deleted, because 1 record',
    );
    expect(await openIssues(stream)).toMatchObject([{ kind: 'record_rejected', record_id: null }]);
    expect(await read(stream)).toMatchObject({ deleted: 0, rejected: 1 });
    expect(await deletedOf(stream)).toEqual([]);
    giveBack();
    expect(await read(stream)).toMatchObject({ inserted: 0, updated: 0, deleted: 0, rejected: 0 });
    expect(await openIssues(stream)).toEqual([]);
    records(stream).delete(first);
    expect(await read(stream)).toMatchObject({ deleted: 1 });
  },
);

test.each(casesOf<readonly Stream[]>({ few: STREAMS.slice(3), all: STREAMS }))(
  '%s: a stored record that is received with too many levels is not deleted, and an issue with its key holds it',
  async (stream) => {
    await read(stream);
    const [first = '', second = ''] = keysOf(stream);
    const whole = [first, second].map((key) => ({ ...(records(stream).get(key) as object) }));
    for (const [at, key] of [first, second].entries()) {
      records(stream).put({ ...whole[at], extra: { shallow: key, deep: nested(300) } }, key);
    }
    expect(await read(stream)).toMatchObject({ deleted: 0, rejected: 2 });
    expect(await deletedOf(stream)).toEqual([]);
    const issues = await openIssues(stream);
    expect(issues.map(({ record_id }) => record_id).toSorted()).toEqual([first, second].toSorted());
    expect(
      await worker.query(
        `select distinct problem from safety_sync.data_issues where kind = 'record_rejected'`,
      ),
    ).toEqual([{ problem: 'the record is nested deeper than 200 levels' }]);
    for (const { value, record_id } of issues) {
      expect(value).toMatchObject({ [SPECIMENS[stream].keyField]: record_id });
    }
    // A record that never was a row does not become one from the part that its issue holds.
    records(stream).put({ ...SPECIMENS[stream].build('never'), extra: nested(300) });
    expect(await read(stream)).toMatchObject({ inserted: 0, updated: 0 });
    expect(await openIssues(stream)).toHaveLength(3);
    const before = await worker.query(`select * from safety.${SPECIMENS[stream].table} order by 1, 2`);
    const retried = await worker.run(stream, { retryIssues: true });
    expect(retried).toMatchObject({ outcome: 'succeeded', counts: { inserted: 0, updated: 0 } });
    expect(await worker.query(`select * from safety.${SPECIMENS[stream].table} order by 1, 2`)).toEqual(
      before,
    );
    for (const [at, key] of [first, second].entries()) records(stream).put(whole[at] ?? {}, key);
    records(stream).delete('never');
    expect(await read(stream)).toMatchObject({ deleted: 0, rejected: 0 });
    expect(await openIssues(stream)).toEqual([]);
  },
);

inProof(() => {
  test('a stored record that grows beyond the size limit is rejected alone, and is not deleted', async () => {
    await read('resources');
    const [first = '', second = ''] = keysOf('resources');
    const whole = { ...(records('resources').get(first) as object) };
    worker.sandbox.store.resources.put({ ...whole, title: 'x'.repeat(17 * 1024 * 1024) }, first);
    worker.sandbox.store.resources.update(second, { title: 'changed' });
    expect(await read('resources')).toMatchObject({ read: 30, updated: 1, deleted: 0, rejected: 1 });
    const [issue] = await openIssues('resources');
    expect(issue).toMatchObject({ kind: 'record_rejected', record_id: first, value: { id: first } });
    expect(await worker.query(`select problem from safety_sync.data_issues`)).toEqual([
      { problem: 'the record is larger than 16777216 bytes (number 1 of its response)' },
    ]);
    worker.sandbox.store.resources.put(whole, first);
    expect(await read('resources')).toMatchObject({ updated: 0, deleted: 0, rejected: 0 });
    expect(await openIssues('resources')).toEqual([]);
  });
});

test('a record that never has a key does not prevent the deletion of other records, even if its content changes', async () => {
  const employee = { ...(SPECIMENS[TRAINING].build('x') as object), m_user_id: null };
  worker.sandbox.store.employees.put(employee, 'keyless');
  await read(TRAINING);
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = keysOf(TRAINING);
  // The new row does not count as this record with a key.
  worker.sandbox.store.employees.put(SPECIMENS[TRAINING].build('new'));
  worker.sandbox.store.employees.delete(first);
  expect(await read(TRAINING)).toMatchObject({ inserted: 1, deleted: 1 });
  worker.sandbox.store.employees.update('keyless', { percent_complete: 37 });
  worker.sandbox.store.employees.delete(second);
  expect(await read(TRAINING)).toMatchObject({ deleted: 1 });
  // Another one loses its key while a third one is deleted: they cannot be distinguished until the key is back.
  const giveBack = loseKey(TRAINING, third);
  worker.sandbox.store.employees.delete(fourth);
  expect(await read(TRAINING)).toMatchObject({ deleted: 0, rejected: 2 });
  worker.sandbox.store.employees.delete(fifth);
  expect(await read(TRAINING)).toMatchObject({ deleted: 1, rejected: 2 });
  expect(await deletedOf(TRAINING)).toEqual([first, second, fifth].toSorted());
  giveBack();
  worker.sandbox.store.employees.delete('keyless');
  expect(await read(TRAINING)).toMatchObject({ deleted: 1, rejected: 0 });
  expect(await deletedOf(TRAINING)).toEqual([first, second, fourth, fifth].toSorted());
});

test('records with equal content that lose their keys one after the other are not deleted', async () => {
  const [first = '', second = ''] = keysOf(TRAINING);
  const alike = SPECIMENS[TRAINING].build('x') as object;
  for (const key of [first, second]) worker.sandbox.store.employees.put({ ...alike, m_user_id: key }, key);
  await read(TRAINING);
  for (let round = 0; round < 2; round += 1) {
    for (const key of [first, second]) {
      const giveBack = loseKey(TRAINING, key);
      expect(await read(TRAINING)).toMatchObject({ deleted: 0, rejected: 1 });
      giveBack();
    }
  }
  await read(TRAINING);
  expect(await deletedOf(TRAINING)).toEqual([]);
  await expectWarehouseEqualsSource(worker, { tables: ['training_employee_status'] });
});

test('if a deleted record returns with its key, another stored record that loses its key is not deleted', async () => {
  await read(TRAINING);
  const [first = '', second = ''] = keysOf(TRAINING);
  const whole = { ...(records(TRAINING).get(first) as object) };
  worker.sandbox.store.employees.delete(first);
  expect(await read(TRAINING)).toMatchObject({ deleted: 1 });
  records(TRAINING).put({ ...whole, m_user_id: null }, first);
  expect(await read(TRAINING)).toMatchObject({ deleted: 0, rejected: 1 });
  records(TRAINING).put(whole, first);
  loseKey(TRAINING, second);
  expect(await read(TRAINING)).toMatchObject({ updated: 1, deleted: 0, rejected: 1 });
  expect(await deletedOf(TRAINING)).toEqual([]);
});

test('if a record without a key has identity fields, only the row with equal fields is kept', async () => {
  await read('resources');
  const [first = '', second = ''] = keysOf('resources');
  loseKey('resources', first);
  worker.sandbox.store.resources.delete(second);
  expect(await read('resources')).toMatchObject({ deleted: 1, rejected: 1 });
  expect(await deletedOf('resources')).toEqual([second]);
});

test('a response is refused if more of its records lack their keys than the delete guard allows', async () => {
  await read('resources');
  for (const key of [...worker.sandbox.store.resources.keys()].slice(0, 20)) loseKey('resources', key);
  expect(await worker.run('resources')).toMatchObject({ outcome: 'failed', error: { code: 'delete_guard' } });
  expect(await deletedOf('resources')).toEqual([]);
});
