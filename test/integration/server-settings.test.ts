import { expect, test } from 'vitest';
import type { Say } from '../../src/cli/check/check-service.ts';
import { checkDatabase } from '../../src/cli/check/check-database.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { openConnection } from '../../src/engine/database/connection.ts';
import { HOUR_MS } from '../../src/shared/time.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { connectForTest, createEmptyTestDatabase } from '../support/test-database.ts';
import { createTimedWorker, expectSucceeded } from '../support/world.ts';

const OF_DATABASE = {
  datestyle: 'German',
  default_transaction_isolation: 'serializable',
  extra_float_digits: '0',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
};
const OF_ROLE = {
  timezone: 'America/St_Johns',
  search_path: 'nowhere',
  array_nulls: 'off',
  client_encoding: 'LATIN1',
  client_min_messages: 'debug1',
  lock_timeout: '200ms',
  statement_timeout: '10s',
  idle_in_transaction_session_timeout: '200ms',
};
/** PostgreSQL writes it as 12.05.2026 where DateStyle is German: for JavaScript the 5th of December. */
const TWELFTH_OF_MAY = Date.UTC(2026, 4, 12, 9);

test('settings of the database and the role have no effect on stored data', async () => {
  const database = await createEmptyTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const admin = connectForTest(database.url);
  for (const [of, settings] of [
    [`database "${name}"`, OF_DATABASE],
    [`role current_user in database "${name}"`, OF_ROLE],
  ] as const) {
    for (const [setting, value] of Object.entries(settings)) {
      await admin.query(`alter ${of} set ${setting} = '${value}'`);
    }
  }
  await migrateDatabase(database.url);
  const worker = await createTimedWorker({
    database,
    sandbox: { size: { followups: 60, employees: 4, equipment: 6, resources: 4, users: 6 } },
  });
  const { followups, resources } = worker.sandbox.store;
  const [first = '', second = '', third = ''] = followups.keys();
  const runAll = async (kind: 'sync' | 'reconcile', streams: readonly StreamName[]) => {
    // Side by side, because a stricter isolation is noticed only where two runs write at a time; `users` last, because it
    // looks up the ids that the others have met.
    const others = streams.filter((stream) => stream !== 'users');
    const results = await Promise.all(others.map((stream) => worker.run(stream, { kind, force: true })));
    if (streams.includes('users')) results.push(await worker.run('users', { kind, force: true }));
    for (const result of results) expectSucceeded(result);
    await expectWarehouseEqualsSource(worker);
  };

  worker.time.now = TWELFTH_OF_MAY;
  followups.update(first, { open: false, updated_on: TWELFTH_OF_MAY });
  await runAll('sync', STREAM_NAMES);
  expect(
    await worker.query(`select watermark::text from safety_sync.stream_state where watermark is not null`),
  ).toEqual([{ watermark: '2026-05-12 09:00:00+00' }]);

  worker.time.now += HOUR_MS;
  followups.update(second, { open: false, updated_on: worker.time.now });
  resources.update([...resources.keys()][0] ?? '', { title: 'x' });
  worker.time.now += HOUR_MS;
  await runAll('sync', ['followups', 'resources']);

  const read = await readAccounts(worker.connection, ['default']);
  expect(read.accounts.get('default')?.streams).toContainEqual(
    expect.objectContaining({ stream: 'followups', watermarkMs: TWELFTH_OF_MAY + HOUR_MS }),
  );

  followups.delete(third);
  await runAll('reconcile', ['followups']);
  await worker.close();
});

test('migrate and check refuse a database in another encoding, with the command that creates one in UTF8', async () => {
  const empty = await createEmptyTestDatabase();
  const url = new URL(empty.url);
  url.pathname = `${url.pathname}_latin`;
  const name = url.pathname.slice(1);
  const admin = connectForTest(empty.url);
  const [server] = await admin.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const provider = (server?.version ?? 0) >= 150000 ? 'locale_provider libc' : '';
  await admin.query(
    `create database "${name}" encoding latin1 lc_collate 'C' lc_ctype 'C' ${provider} template template0`,
  );
  try {
    await expect(migrateDatabase(url.href)).rejects.toMatchObject({
      message: 'the encoding of this database is LATIN1, not UTF8',
      advice: expect.stringContaining('createdb --encoding=UTF8') as string,
    });
    const connection = openConnection({ url: url.href, applicationName: 'test', max: 1 });
    const said: string[] = [];
    const say = (...[, what, finding]: Parameters<Say>) => void said.push(`${what}: ${finding}`);
    await checkDatabase(connection, say).finally(() => connection.close());
    expect(said).toEqual([expect.stringMatching(/^database: .*LATIN1/)]);
  } finally {
    await admin.query(`drop database "${name}" with (force)`);
  }
});
