/** Settings of an administrator for people and other programs have no effect on the loader. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { checkDatabase } from '../../src/cli/check/check-database.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { openWarehouse } from '../../src/warehouse/open-warehouse.ts';
import { openConnection } from '../../src/engine/database/connection.ts';
import { readServerNumber } from '../../src/engine/database/session-settings.ts';
import { HOUR_MS, toMs } from '../../src/shared/time.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { runInProcess } from '../support/in-process.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { connectForTest, createEmptyTestDatabase, openTestDatabase } from '../support/test-database.ts';
import { createTimedWorker, expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, serviceEnv } from '../support/worker.ts';

const OF_DATABASE = {
  datestyle: 'German',
  default_transaction_isolation: 'serializable',
  extra_float_digits: '-10',
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
  const runAll = async (kind: 'sync' | 'reconcile') => {
    // Side by side, because a stricter isolation is noticed only where two runs write at a time; `users` last, because it
    // looks up the ids that the others have met.
    const others = STREAM_NAMES.filter((stream) => stream !== 'users');
    const results = await Promise.all(others.map((stream) => worker.run(stream, { kind, force: true })));
    results.push(await worker.run('users', { kind, force: true }));
    for (const result of results) expectSucceeded(result);
    await expectWarehouseEqualsSource(worker);
  };

  worker.time.now = TWELFTH_OF_MAY;
  followups.update(first, { open: false, updated_on: TWELFTH_OF_MAY });
  await runAll('sync');
  expect(
    await worker.query(`select watermark::text from safety_sync.stream_state where watermark is not null`),
  ).toEqual([{ watermark: '2026-05-12 09:00:00+00' }]);

  worker.time.now += HOUR_MS;
  followups.update(second, { open: false, updated_on: worker.time.now });
  resources.update([...resources.keys()][0] ?? '', { title: 'x' });
  worker.time.now += HOUR_MS;
  await runAll('sync');

  const read = await readAccounts(worker.connection, ['default']);
  expect(read.accounts.get('default')).toContainEqual(
    expect.objectContaining({ stream: 'followups', watermarkMs: TWELFTH_OF_MAY + HOUR_MS }),
  );

  followups.delete(third);
  await runAll('reconcile');
  await worker.close();
});

test('migrate and check refuse a database in another encoding, with the command that creates one in UTF8', async () => {
  const empty = await createEmptyTestDatabase();
  const url = new URL(empty.url);
  url.pathname = `${url.pathname}_latin`;
  const name = url.pathname.slice(1);
  const admin = connectForTest(empty.url);
  const provider = (await readServerNumber(admin)) >= 150000 ? 'locale_provider libc' : '';
  await admin.query(
    `create database "${name}" encoding latin1 lc_collate 'C' lc_ctype 'C' ${provider} template template0`,
  );
  try {
    await expect(migrateDatabase(url.href)).rejects.toMatchObject({
      message: 'the encoding of this database is LATIN1, not UTF8',
      advice: expect.stringContaining('createdb --encoding=UTF8') as string,
    });
    const connection = openConnection({ url: url.href, applicationName: 'test', max: 1 });
    const checks = await checkDatabase(connection, 'the tables').finally(() => connection.close());
    expect(checks).toMatchObject([
      { what: 'database', finding: expect.stringContaining('LATIN1') as string },
    ]);
  } finally {
    await admin.query(`drop database "${name}" with (force)`);
  }
});

test('check reports that a server is read-only', async () => {
  const connection = untilTestEnds(await openTestDatabase());
  await connection.query('set default_transaction_read_only = on');
  expect(await checkDatabase(connection, 'the tables')).toMatchObject([
    { result: 'failed', finding: expect.stringContaining('it is read-only') as string },
  ]);
});

/** Messages of PostgreSQL: AuthenticationOk, and the end of ReadyForQuery. */
const [SIGNED_IN, READY] = [
  Buffer.from('R\0\0\0\x08\0\0\0\0', 'latin1'),
  Buffer.from('Z\0\0\0\x05I', 'latin1'),
];

/** A pooler in transaction mode, for clients that send one after the other: all of them use one session of the server. */
async function startPooler(databaseUrl: string): Promise<string> {
  const { hostname, port } = new URL(databaseUrl);
  const session = connect({ host: hostname, port: Number(port) });
  /** From AuthenticationOk to ReadyForQuery: the reply to each later client. */
  let greeting: Buffer | undefined;
  let received = Buffer.alloc(0);
  let sender: Socket | undefined;
  session.on('data', (piece) => {
    sender?.write(piece);
    if (greeting !== undefined) return;
    received = Buffer.concat([received, piece]);
    if (received.includes(SIGNED_IN) && received.includes(READY))
      greeting = received.subarray(received.indexOf(SIGNED_IN));
  });
  const server = createServer((client) => {
    let isNew = true;
    client.on('error', () => undefined);
    client.on('data', (piece) => {
      if (isNew && greeting !== undefined) client.write(greeting);
      // A client that ends sends one message: X.
      else if (piece[0] !== 'X'.charCodeAt(0)) {
        sender = client;
        session.write(piece);
      }
      isNew = false;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  untilTestEnds({
    close: () => {
      session.destroy();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return url.href;
}

test('check reports a pooler in transaction mode, behind which a run would lose its lock', async () => {
  const worker = untilTestEnds(await createTestWorker());
  const check = (databaseUrl: string) =>
    runInProcess(['check'], { ...serviceEnv(worker), DATABASE_URL: databaseUrl });
  const direct = await check(worker.databaseUrl);
  expect([direct.code, direct.stdout.includes('sessions')]).toEqual([0, false]);
  const pooled = await check(await startPooler(worker.databaseUrl));
  expect([pooled.code, pooled.stdout]).toEqual([
    1,
    expect.stringContaining('connections share sessions of the server: a pooler is in transaction mode'),
  ]);
});

test('a read-only server does not end an outage, because no run can store there', async () => {
  const { url } = await createEmptyTestDatabase();
  const admin = openConnection({ url, applicationName: 'test', max: 1 });
  await admin.query(
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  );
  await admin.close();
  const warehouse = openWarehouse(url);
  await expect(warehouse.tryConnecting().finally(() => warehouse.close())).rejects.toMatchObject({
    code: 'database_unreachable',
    advice: expect.stringContaining('Point DATABASE_URL at the primary server') as string,
  });
});

test('a time that PostgreSQL returned in another format than ISO is refused', () => {
  expect(toMs('2026-05-12 09:00:00.123+00')).toBe(TWELFTH_OF_MAY + 123);
  expect(() => toMs('12.05.2026 09:00:00 UTC')).toThrow(
    'PostgreSQL returned "12.05.2026 09:00:00 UTC" for a time',
  );
  expect(() => toMs('infinity')).toThrow('PostgreSQL returned "infinity" for a time');
});
