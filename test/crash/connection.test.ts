/** A database that goes away: every statement is answered, and nothing is stored unawares over a second connection. */
import { getEventListeners, once } from 'node:events';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { connectSocket } from '../../src/engine/database/connect-socket.ts';
import type { Connection } from '../../src/engine/database/connection.ts';
import { parseDatabaseUrl } from '../../src/engine/database/database-url.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { startListeningProxy } from '../support/listening-proxy.ts';
import { terminateSession } from '../support/saboteur.ts';
import { createTimedWorker } from '../support/world.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { casesOf } from '../support/proof.ts';
import { connectForTest, openTestDatabase } from '../support/test-database.ts';

const ANSWER_MS = 5_000;

const admin = forEachTest(() => openTestDatabase());

async function openSession(): Promise<{ session: Connection; pid: number }> {
  const session = connectForTest(admin.url, { isSession: true });
  const [row] = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { session, pid: row?.pid ?? 0 };
}

/** `answered` or `refused`; throws when neither comes. */
async function outcome(work: Promise<unknown>): Promise<'answered' | 'refused'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), ANSWER_MS);
  });
  const settled = work.then(
    () => 'answered' as const,
    () => 'refused' as const,
  );
  return await Promise.race([settled, late]).finally(() => clearTimeout(timer));
}

test('a session whose backend is terminated at any moment completes or rejects every statement and never reconnects', async () => {
  for (let turns = 0; turns < 40; turns += casesOf({ few: 4, all: 1 })) {
    const { session, pid } = await openSession();
    await session.query('create temporary table rows (a text)');
    const ended = admin.query('select pg_terminate_backend($1::int)', [pid]);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const transaction = async () => {
      await session.query('begin');
      await session.db.execute(sql`select 1`);
      await session.db.execute(sql`select 2 where ${'x'} = 'x'`);
      await session.query('commit');
    };
    await outcome(transaction());
    await outcome(session.copy('copy rows from stdin', ['1\n2\n']));
    await outcome(session.query('select 1'));
    await ended;
    await expect.poll(() => session.lost.aborted).toBe(true);
    expect(await outcome(session.query('select 1'))).toBe('refused');
    expect(await outcome(session.query('begin'))).toBe('refused');
    expect(await outcome(session.db.execute(sql`select 1`))).toBe('refused');
    expect(await outcome(session.close())).toBe('answered');
  }
});

test('a socket that has ended is kept by nothing, although the signal that could have ended it lives on', async () => {
  const { signal } = new AbortController();
  const socket = await connectSocket(parseDatabaseUrl(admin.url), signal);
  expect(getEventListeners(signal, 'abort')).not.toEqual([]);
  const closed = once(
    socket.on('error', () => undefined),
    'close',
  ).catch(() => undefined);
  socket.destroy();
  await closed;
  await expect.poll(() => getEventListeners(signal, 'abort')).toEqual([]);
});

test('a session that broke sends nothing over a second connection', async () => {
  const { session, pid } = await openSession();
  await admin.query('select pg_terminate_backend($1::int)', [pid]);
  await expect.poll(() => session.lost.aborted).toBe(true);
  expect(await outcome(session.query('create table public.unawares ()'))).toBe('refused');
  // Longer than the driver would take to connect.
  await admin.query('select pg_sleep(0.5)');
  expect(await admin.query(`select to_regclass('public.unawares')::text as made`)).toEqual([{ made: null }]);
});

test('a run whose session ends while the service stalls ends, too', async () => {
  const worker = await createTimedWorker({ sandbox: { size: { followups: 5 } } });
  worker.sandbox.hooks.beforeResponse = async () => {
    expect(await terminateSession(worker, 'followups')).toBe(true);
    await new Promise(() => undefined);
  };
  const result = await worker.run('followups');
  const cause = { code: 'interrupted' };
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'lock_lost', cause } });
  await worker.close();
});

test('a run whose session was terminated stores nothing and fails with lock_lost', async () => {
  const session = await openFreeStream(admin.url, 'followups');
  const isFree = async () => {
    const other = await openFreeStream(admin.url, 'followups').catch(() => undefined);
    await other?.close();
    return other !== undefined;
  };
  expect(await isFree()).toBe(false);
  await admin.query('select pg_terminate_backend($1::int)', [session.backendPid]);
  await expect.poll(isFree).toBe(true);
  const failure = await session.begin().catch((error: unknown) => error);
  await session.rollback();
  expect(session.explain(failure as never)).toMatchObject({ code: 'lock_lost' });
  expect(await admin.query('select id from safety.users')).toEqual([]);
});

test('a pool without a reachable server rejects each query at once, and works when the server is back', async () => {
  let url = admin.url.replace(/:\d+(?=\/)/, ':1');
  const pool = connectForTest(url, { url: () => url, max: 2 });
  for (let attempt = 0; attempt < 5; attempt += 1)
    expect(await outcome(pool.query('select 1'))).toBe('refused');
  ({ url } = admin);
  await expect.poll(() => outcome(pool.query('select 1')), { timeout: 20_000 }).toBe('answered');
});

test('after a stop a long statement is cancelled, also one in a transaction of the pool', async () => {
  const stop = new AbortController();
  const pool = connectForTest(admin.url, { signal: stop.signal });
  const sleeping = [
    pool.query('select pg_sleep(60)'),
    pool.db.transaction((tx) => tx.execute(sql`select pg_sleep(60)`)),
  ].map((work) => outcome(work));
  setTimeout(() => stop.abort(), 200);
  expect(await Promise.all(sleeping)).toEqual(['refused', 'refused']);
});

describe('a connection that has gone silent', () => {
  /** A session whose bytes are held after `hold`; new connections reach the server. */
  async function openThroughProxy() {
    const proxy = untilTestEnds(await startListeningProxy(admin.url));
    let { url } = proxy;
    const session = connectForTest(url, { url: () => url, isSession: true, silentMs: 200 });
    await session.query('select pg_advisory_lock(1)');
    const hold = () => {
      url = admin.url;
      proxy.hold();
    };
    return { session, hold };
  }
  const lockers = () => admin.query(`select pid from pg_locks where locktype = 'advisory' and objid = 1`);
  const GIVEN_UP = {
    code: 'database_unreachable',
    message: expect.stringContaining('silent for 0.2 s') as string,
  };

  test('is given up when PostgreSQL is not at work on its statement, and its locks are free', async () => {
    const { session, hold } = await openThroughProxy();
    hold();
    await expect(session.query('select 1')).rejects.toMatchObject(GIVEN_UP);
    expect(session.lost.aborted).toBe(true);
    await expect.poll(lockers).toEqual([]);
  });

  test('is kept while PostgreSQL works on its statement or lets it wait for a lock', async () => {
    const { session } = await openThroughProxy();
    await session.query('select pg_sleep(0.7)');
    await admin.query('select pg_advisory_lock(2)');
    const waiting = session.query('select pg_advisory_lock(2)');
    await admin.query('select pg_sleep(0.7), pg_advisory_unlock(2)');
    await waiting;
  });
});
