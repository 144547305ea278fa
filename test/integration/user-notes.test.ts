/** Streams that record the same user ids in parallel. */
import { expect, test } from 'vitest';
import type { StreamSession } from '../../src/engine/control-tables/stream-session.ts';
import { recordUsers } from '../../src/engine/control-tables/user-lookups.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { createGate } from '../support/gate.ts';
import { forEachTest } from '../support/lifetime.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { openTestDatabase } from '../support/test-database.ts';

const reader = forEachTest(() => openTestDatabase());
const open = (stream: StreamName) => openFreeStream(reader.url, stream, 'north');

async function record(session: StreamSession, ids: readonly string[], beforeCommit?: () => Promise<void>) {
  await session.begin();
  await recordUsers(session.connection.db, ids, 'north');
  await beforeCommit?.();
  await session.commit();
}
const waitingForLocks = async () => {
  const [row] = await reader.query<{ waiting: number }>(
    // Tests of other databases run on the same server.
    `select count(*)::int as waiting from pg_locks l join pg_stat_activity a using (pid)
     where not l.granted and a.datname = current_database()`,
  );
  return row?.waiting;
};

test('streams that record the same new user ids in different order wait for each other, and all store; a known id lets nobody wait', async () => {
  const [resources, followups, equipments] = [
    await open('resources'),
    await open('followups'),
    await open('equipments'),
  ];
  await record(equipments, ['known']);
  const isNoted = createGate();
  const mayGoOn = createGate();
  const first = record(resources, ['ben', 'known', 'ann'], async () => {
    await resources.connection.query(
      `update safety_sync.user_lookups set asked_at = now() where user_id = 'known'`,
    );
    isNoted.open();
    await mayGoOn.opened;
  });
  await isNoted.opened;
  await record(equipments, ['known', 'dan']);
  const second = record(followups, ['cid', 'ann', 'ben']);
  await expect.poll(waitingForLocks).toBe(1);
  mayGoOn.open();
  await Promise.all([first, second]);
  expect(
    await reader.query(`select account_id, user_id from safety_sync.user_lookups order by user_id`),
  ).toEqual(['ann', 'ben', 'cid', 'dan', 'known'].map((user_id) => ({ account_id: 'north', user_id })));
});
