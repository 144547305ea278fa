/** Records that are prepared while others are stored, and new ones that turn out not to be new. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StreamDefinition } from '../../src/streams/stream.ts';
import { streamNamed } from '../../src/streams/index.ts';
import { createLoader, type Loader } from '../../src/loading/load.ts';
import { type Connection, openConnection } from '../../src/database/connection.ts';
import { createStaging, streamShape } from '../../src/loading/staging.ts';
import { openStreamSession, type StreamSession } from '../../src/database/stream-session.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let session: StreamSession;
let reader: Connection;
let loader: Loader;

async function openLoader(stream: StreamDefinition): Promise<Loader> {
  const shape = streamShape(stream);
  const staging = createStaging(session, { shape, accountId: 'default', tracksSeen: false });
  await staging.open();
  return createLoader({
    session,
    staging,
    shape,
    accountId: 'default',
    runId: 1,
    guard: { maxRatio: 1, allowMassDelete: false },
    distrustsHashes: false,
    openRejections: { identities: new Set(), keys: new Set() },
    keyless: null,
  });
}

beforeEach(async () => {
  database = await createTestDatabase();
  reader = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  const opened = await openStreamSession({
    databaseUrl: database.url,
    accountId: 'default',
    stream: 'followups',
    whenBusy: 'skip',
  });
  if (opened === undefined) throw new Error('the stream is busy');
  session = opened;
  loader = await openLoader(streamNamed('followups'));
});
afterEach(async () => {
  await session.close();
  await reader.close();
  await database.drop();
});

const message = (id: string, m_user_id = '7') => ({ id, date: 1_700_000_000_000, m_user_id, note: id });
const followup = (id: string, updated_on: number, messages: readonly unknown[]) => ({
  id,
  form_id: 1,
  response_id: 2,
  open: true,
  created_on: 1_700_000_000_000,
  updated_on: 1_700_000_000_000 + updated_on,
  m_observer_id: '1',
  m_assigner_id: '2',
  m_assignee_id: '3',
  messages,
});
const commit = () => loader.commit({ covered: null, isCheckpoint: true, finish: () => Promise.resolve() });
const stored = async (): Promise<Record<string, string>> => {
  const rows = await reader.query<{ id: string; messages: string }>(
    `select f.id, coalesce(string_agg(m.id, ',' order by m.id), '') as messages from safety.followups f
     left join safety.followup_messages m on m.account_id = f.account_id and m.followup_id = f.id group by 1`,
  );
  return Object.fromEntries(rows.map(({ id, messages }) => [id, messages]));
};

test('a version that was prepared before another one was stored is compared again', async () => {
  const one = loader.prepare([followup('a', 1, [message('x'), message('y')]), followup('b', 1, [])], {});
  const other = loader.prepare([followup('a', 2, [message('y')]), followup('c', 1, [])], {});
  await loader.take(one);
  await commit();
  expect(await stored()).toEqual({ a: 'x,y', b: '' });
  await loader.take(other);
  expect(await commit()).toMatchObject({ read: 4, inserted: 3, updated: 1, unchanged: 0 });
  expect(await stored()).toEqual({ a: 'y', b: '', c: '' });
});

test('a record that was stored while it was being prepared and is still the same is not written again', async () => {
  const same = followup('a', 1, [message('x')]);
  const [one, other] = [loader.prepare([same], {}), loader.prepare([same], {})];
  await loader.take(one);
  await commit();
  await loader.take(other);
  expect(await commit()).toMatchObject({ read: 2, inserted: 1, updated: 0, unchanged: 1 });
});

test('of two versions in one commit the newer one stays, whichever was read first, and the others are stored too', async () => {
  const newer = followup('a', 5, [message('new')]);
  const older = followup('a', 4, [message('old')]);
  for (const batch of [
    [followup('b', 1, []), newer],
    [older, followup('c', 1, [])],
  ]) {
    await loader.take(loader.prepare(batch, {}));
  }
  expect(await commit()).toMatchObject({ read: 4, inserted: 3, updated: 0, unchanged: 1, rejected: 0 });
  expect(await stored()).toEqual({ a: 'new', b: '', c: '' });
});

test('more new records than are held at once, with one of them twice, are all stored', async () => {
  const ids = Array.from({ length: 4_500 }, (_, index) => `id-${index}`);
  const records = ids.map((id) => followup(id, 1, [message(`m-${id}`)]));
  await loader.add(records, {});
  await loader.add([followup('id-7', 2, [])], {});
  expect(await commit()).toMatchObject({ read: 4_501, inserted: 4_500, unchanged: 1 });
  const all = await stored();
  expect(Object.keys(all)).toHaveLength(4_500);
  expect(all).toMatchObject({ 'id-7': '', 'id-8': 'm-id-8' });
  // What comes after goes straight to its table again.
  await loader.add([followup('last', 1, [])], {});
  expect(await commit()).toMatchObject({ inserted: 4_501 });
});

test('new records bring their users, and settle what kept them out before', async () => {
  await reader.query(
    `insert into safety_sync.data_issues (account_id, stream, fingerprint, record_id, kind, problem, value, occurrences)
     values ('default', 'followups', 'f', 'a', 'record_rejected', 'was no good', '{}', 1)`,
  );
  await loader.add([followup('a', 1, [message('x', 'user-9')])], {});
  await commit();
  const users = await reader.query<{ user_id: string }>(
    'select user_id from safety_sync.user_lookups order by 1',
  );
  expect(users.map(({ user_id }) => user_id)).toEqual(['1', '2', '3', 'user-9']);
  const open = await reader.query('select 1 from safety_sync.data_issues where resolved_at is null');
  expect(open).toEqual([]);
});

test('a state begins when the source says, and every bookkeeping column is there', async () => {
  const { updated_on, ...undated } = followup('b', 1, []);
  await loader.add([followup('a', updated_on - 1_700_000_000_000, []), undated], {});
  await commit();
  const rows = await reader.query(
    `select id, account_id, _valid_from = updated_at as by_source, _valid_from = _synced_at as when_seen,
       _deleted_at, _run_id::int as run, _raw->>'id' as raw from safety.followups order by id`,
  );
  const common = { account_id: 'default', _deleted_at: null, run: 1 };
  expect(rows).toEqual([
    { id: 'a', ...common, by_source: true, when_seen: false, raw: 'a' },
    { id: 'b', ...common, by_source: null, when_seen: true, raw: 'b' },
  ]);
});

test('a new record that PostgreSQL itself cannot store is an issue, and all others are stored', async () => {
  // These triggers stand for whatever our own checks let through.
  await session.connection.query(`create function pg_temp.refuse() returns trigger language plpgsql as
    'begin if new.id = ''bad'' then raise data_exception; end if; return new; end'`);
  for (const table of ['safety.followups', 'pg_temp.stage_followups']) {
    await session.connection.query(
      `create trigger refuse before insert on ${table} for each row execute function pg_temp.refuse()`,
    );
  }
  await loader.add([followup('a', 1, [message('x')]), followup('bad', 1, []), followup('b', 1, [])], {});
  expect(await commit()).toMatchObject({ read: 3, inserted: 2, rejected: 1 });
  expect(await stored()).toEqual({ a: 'x', b: '' });
  const issues = await reader.query('select record_id, kind, problem from safety_sync.data_issues');
  expect(issues).toEqual([
    {
      record_id: 'bad',
      kind: 'record_rejected',
      problem: expect.stringContaining('PostgreSQL cannot store it') as unknown,
    },
  ]);
});

test('rows that refer to what is not there are refused, also where PostgreSQL would not look', async () => {
  const stream = streamNamed('followups');
  loader = await openLoader({
    ...stream,
    toRows(record, context, report) {
      const rows = stream.toRows(record, context, report);
      const [messages = [], attachments = []] = rows.children;
      return {
        ...rows,
        children: [messages.map((row) => ({ ...row, followup_id: 'nobody' })), attachments],
      };
    },
  });
  await loader.add([followup('a', 1, []), followup('b', 1, [message('x')])], {});
  await expect(commit()).rejects.toThrow(/followup_messages_followup_fk/);
  expect(await stored()).toEqual({});
});
