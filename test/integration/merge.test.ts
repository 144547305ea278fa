/** One transaction with a record and its children. */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { NOON } from '../support/test-clock.ts';
import { createTimedWorker, expectSucceeded, rowVersions } from '../support/world.ts';

const EVERYTHING_MS = 10 * 365 * 24 * 60 * MINUTE_MS;
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

const worker = forEachTest(() =>
  createTimedWorker({
    settings: { followupsOverlapMs: EVERYTHING_MS },
    sandbox: { size: { followups: 30, employees: 4, equipment: 4, resources: 4, users: 6 } },
  }),
);
const sync = async () => expectSucceeded(await worker.run('followups'));
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });

const message = (id: string, minute: number, more: object = {}) => ({
  id,
  date: NOON + minute * MINUTE_MS,
  m_user_id: '10001',
  note: `note ${id}`,
  ...more,
});
const attachments = (...keys: string[]) => ({ attachments: keys.map((key) => ({ key, caption: '' })) });

test('after messages and attachments are added, removed, changed and reordered, the warehouse equals the source', async () => {
  const { followups } = worker.sandbox.store;
  const versions: object[][] = [
    [message('a', 1), message('b', 2, attachments('1', '2', '3')), message('c', 3)],
    [message('a', 1), message('b', 2, attachments('3', '1')), message('c', 3)],
    [message('c', 1), message('a', 2), message('b', 3, attachments('1'))],
    [message('b', 3, { ...attachments('1'), note: 'edited' })],
    [],
    [message('z', 1, attachments('1', '1')), message('a', 1), message('b', 1)],
    [message('a', 2), message('z', 2, { attachments: [] })],
  ];
  /** Each follow-up has one of the versions, and later the one that follows it. */
  const put = (later: number) => {
    for (const [number, messages] of versions.slice(later, versions.length - 1 + later).entries())
      followups.put({ ...SPECIMENS.followups.build(`parent ${number}`), updated_on: NOON + later, messages });
  };
  put(0);
  expect((await sync()).counts).toMatchObject({ inserted: 36 });
  await isEqual();
  put(1);
  expect((await sync()).counts).toMatchObject({ inserted: 0, updated: 6, unchanged: 30 });
  await isEqual();
});

test('if only a message changes, its follow-up counts as updated, and only the changed row is written', async () => {
  const { followups } = worker.sandbox.store;
  const messages = [message('a', 1), message('b', 2), message('c', 3)];
  followups.put({ ...SPECIMENS.followups.build('parent'), messages });
  await sync();
  const marks = () =>
    worker.query<{ id: string; mark: string }>(
      `select id, concat_ws(' ', ctid, xmin) as mark from safety.followup_messages where followup_id = 'parent' order by id`,
    );
  const before = await marks();
  followups.put({
    ...SPECIMENS.followups.build('parent'),
    messages: [message('a', 1), message('b', 2, { note: 'edited' }), message('c', 3)],
  });
  expect((await sync()).counts).toMatchObject({ updated: 1 });
  const after = await marks();
  expect(after.filter((row, index) => row.mark !== before[index]?.mark).map((row) => row.id)).toEqual(['b']);
});

test('if PostgreSQL refuses a row of a run, nothing of the run is stored, and the next run stores it', async () => {
  await sync();
  const before = await rowVersions(worker);
  await worker.query(
    `create function safety.refuse() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$`,
  );
  await worker.query(
    `create trigger refuse before insert or update on safety.followup_messages execute function safety.refuse()`,
  );
  worker.sandbox.store.followups.put(SPECIMENS.followups.build('new'));
  const result = await worker.run('followups');
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'database_error' } });
  expect(await rowVersions(worker)).toEqual(before);
  await worker.query('drop trigger refuse on safety.followup_messages');
  expect((await sync()).counts).toMatchObject({ inserted: 1, updated: 0 });
  await isEqual();
});
