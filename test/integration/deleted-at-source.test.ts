/** Follow-ups that the service still sends, as deleted. */
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { NOON } from '../support/test-clock.ts';
import { createTimedWorker, expectSucceeded, rowVersions } from '../support/world.ts';

const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;
const LIVE = 40;

const worker = forEachTest(() =>
  createTimedWorker({
    settings: { followupsOverlapMs: 3650 * DAY_MS },
    retention: { deletedDays: 1 },
    sandbox: { size: { followups: LIVE, employees: 4, equipment: 4, resources: 2, users: 8 } },
  }),
);
const store = () => worker.sandbox.store.followups;
const keys = (from: number, to: number): string[] => [...store().keys()].slice(from, to);
const sync = async (kind: 'sync' | 'reconcile' = 'sync') =>
  expectSucceeded(await worker.run('followups', { kind })).counts;
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });
/** The source changes the records at its present time. */
function change(ids: readonly string[], fields: object): void {
  worker.time.now += MINUTE_MS;
  for (const id of ids) store().update(id, { ...fields, updated_on: worker.time.now });
}
const markOf = async (id: string) =>
  (
    await worker.query<{ deleted_ms: number | null; is_sent: boolean | null }>(
      `select (extract(epoch from _deleted_at) * 1000)::float8 as deleted_ms, is_deleted_at_source as is_sent
       from safety.followups where id = '${id}'`,
    )
  )[0];
const statesOf = (id: string) =>
  worker.query(
    `select assignee_id, (extract(epoch from valid_to) * 1000)::float8 as until
     from safety.followup_history where id = '${id}' order by valid_from`,
  );

test('a follow-up that the service sends as deleted is in no view, ends in the history at its last change, and comes back', async () => {
  await sync();
  const [id = ''] = keys(5, 6);
  change([id], { m_assignee_id: '70001' });
  await sync();
  change([id], { deleted: true });
  const deletedMs = worker.time.now;
  expect(await sync()).toMatchObject({ read: LIVE, updated: 0, deleted: 1, unchanged: LIVE - 1 });
  expect(await markOf(id)).toEqual({ deleted_ms: deletedMs, is_sent: true });
  await isEqual();
  for (const view of ['followup_overview', 'followup_events']) {
    const column = view === 'followup_events' ? 'followup_id' : 'id';
    expect(await worker.query(`select from safety.${view} where ${column} = '${id}'`), view).toEqual([]);
  }
  const today = `select sum(followups)::int as followups from safety.followup_daily where days_ago = 0`;
  expect(await worker.query(today)).toEqual([{ followups: LIVE - 1 }]);
  expect((await statesOf(id)).at(-1)).toEqual({ assignee_id: '70001', until: deletedMs });

  // Nothing is written again, by a sync or by a complete read.
  const before = await rowVersions(worker);
  expect(await sync()).toMatchObject({ deleted: 0, unchanged: LIVE });
  expect(await sync('reconcile')).toMatchObject({ deleted: 0, updated: 0, inserted: 0 });
  expect(await rowVersions(worker)).toEqual(before);
  // A change of the deleted record leaves the states before it as they were seen.
  const states = await statesOf(id);
  change([id], { m_assignee_id: '70002' });
  expect(await sync()).toMatchObject({ deleted: 0, updated: 1 });
  states.push({ assignee_id: '70002', until: worker.time.now + 0.001 });
  expect(await statesOf(id)).toEqual(states);
  // So does one that the history does not show.
  change([id], {});
  expect(await sync()).toMatchObject({ deleted: 0, updated: 1 });
  states.push({ assignee_id: '70002', until: worker.time.now + 0.001 });
  expect(await statesOf(id)).toEqual(states);

  change([id], { deleted: false });
  expect(await sync()).toMatchObject({ deleted: 0, updated: 1 });
  expect(await markOf(id)).toEqual({ deleted_ms: null, is_sent: false });
  expect(await statesOf(id)).toHaveLength(states.length + 1);
  await isEqual();
});

test('a record that is already deleted when it first arrives is stored as deleted, and is none of those that a run deletes', async () => {
  for (const id of keys(0, 30)) store().update(id, { deleted: true });
  expect(await sync()).toMatchObject({ inserted: LIVE, deleted: 0 });
  await isEqual();
  store().put({ ...SPECIMENS.followups.build('late'), updated_on: NOON, deleted: true });
  expect(await sync()).toMatchObject({ inserted: 1, deleted: 0 });
  expect(await markOf('late')).toEqual({ deleted_ms: NOON, is_sent: true });
});

test('a run in which more than half of the live follow-ups turn deleted fails, unless mass deletion is allowed', async () => {
  await sync();
  for (let extra = 0; extra < 40; extra += 1) store().put(SPECIMENS.followups.build(`new-${extra}`));
  change(keys(0, LIVE / 2 + 1), { deleted: true });
  const before = await rowVersions(worker);
  expect(await worker.run('followups')).toMatchObject({
    outcome: 'failed',
    error: {
      code: 'delete_guard',
      message: '21 of 40 live rows turn deleted in this run, more than MAX_DELETE_RATIO (0.5) allows',
    },
  });
  expect(await rowVersions(worker)).toEqual(before);
  const { counts } = expectSucceeded(await worker.run('followups', { allowMassDelete: true }));
  expect(counts).toMatchObject({ deleted: 21, inserted: 40 });
  await isEqual();
});

test('those that the changes of a run delete and those that its complete read lacks are guarded together', async () => {
  await sync();
  change(keys(0, 15), { deleted: true });
  for (const id of keys(15, 25)) store().delete(id);
  expect(await worker.run('followups', { kind: 'reconcile' })).toMatchObject({
    outcome: 'failed',
    error: {
      code: 'delete_guard',
      message: '25 of 40 live rows turn deleted in this run, more than MAX_DELETE_RATIO (0.5) allows',
    },
  });
  expectSucceeded(await worker.run('followups', { kind: 'reconcile', allowMassDelete: true }));
  await isEqual();
});

test('a complete read without the record says that it is sent no more, and only then retention removes its row', async () => {
  await sync();
  const [id = '', other = ''] = keys(3, 5);
  store().update(id, { deleted: true });
  store().update(other, { deleted: true });
  await sync();
  const deleted = await markOf(id);
  const record = { ...store().get(id) };
  store().delete(id);
  expect(await sync('reconcile')).toMatchObject({ deleted: 0, updated: 0 });
  expect(await markOf(id)).toEqual({ ...deleted, is_sent: false });
  store().put({ ...SPECIMENS.followups.build(id), ...record });
  expect(await sync()).toMatchObject({ deleted: 0, updated: 1 });
  expect(await markOf(id)).toEqual(deleted);
  store().delete(id);
  await worker.query(`update safety_sync.stream_state set retained_at = null`);
  await sync('reconcile');
  expect(await markOf(id)).toBeUndefined();
  expect(await markOf(other)).toMatchObject({ is_sent: true });
});
