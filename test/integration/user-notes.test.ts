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
const open = (stream: StreamName, accountId = 'north') => openFreeStream(reader.url, stream, accountId);

async function inTransaction(session: StreamSession, work: () => Promise<void>): Promise<void> {
  await session.begin();
  await work();
  await session.commit({ isDurable: false });
}
const waitingForLocks = async () => {
  const [row] = await reader.query<{ waiting: number }>(
    // Tests of other databases run on the same server.
    `select count(*)::int as waiting from pg_locks
     where not granted and database = (select oid from pg_database where datname = current_database())`,
  );
  return row?.waiting;
};

test('two streams that record the same user ids in different order wait for each other, and both store', async () => {
  const [resources, followups] = [await open('resources'), await open('followups')];
  const isNoted = createGate();
  const mayGoOn = createGate();
  const first = inTransaction(resources, async () => {
    await recordUsers(resources.connection.db, ['ann', 'ben'], 'north');
    isNoted.open();
    await mayGoOn.opened;
    await recordUsers(resources.connection.db, ['cid'], 'north');
  });
  await isNoted.opened;
  const second = inTransaction(followups, async () => {
    await recordUsers(followups.connection.db, ['cid'], 'north');
    await recordUsers(followups.connection.db, ['ben', 'ann'], 'north');
  });
  await expect.poll(waitingForLocks).toBe(1);
  mayGoOn.open();
  await Promise.all([first, second]);
  expect(
    await reader.query(`select account_id, user_id from safety_sync.user_lookups order by user_id`),
  ).toEqual(['ann', 'ben', 'cid'].map((user_id) => ({ account_id: 'north', user_id })));
});
