/** Protected values are stored nowhere: canaries, searched in every row of every table after each way that data can take. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Equipment, Resource } from '../../src/sandbox/index.ts';
import { applyPrivacy, type PrivacySettings } from '../../src/engine/privacy/settings.ts';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { withStreamSession } from '../../src/engine/control-tables/stream-session.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import { cleanAccount, forgetPerson, listForgotten, settleProtection } from '../../src/engine/sync/forget.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { putProtected } from '../support/canaries.ts';
import { findText } from '../support/find-text.ts';
import { findKeysWithoutPerson } from '../support/people-keys.ts';
import { casesOf, inProof } from '../support/proof.ts';
import { SPECIMENS } from '../support/specimens.ts';
import {
  createTimedWorker,
  expectSucceeded,
  issuesOf,
  rowVersions,
  type TimedWorker,
} from '../support/world.ts';

const KEY = 'a key that nobody else has, 32 or more';
const CANARY = 'CANARY';
const SETTINGS: PrivacySettings = {
  key: KEY,
  omit: [
    'followup_messages.note',
    'followup_messages.signature',
    'followup_attachments.caption',
    'equipment.notes',
    'resource_versions.description',
  ],
  pseudonymize: [
    'users.name',
    'equipment.serial_number',
    'equipment_metavalues.text_value',
    'resources.tags',
  ],
};
const EVERYTHING_MS = 10 * 365 * 24 * 60 * MINUTE_MS;
const STREAMS = ['resources', 'followups', 'training-employee-status', 'equipments', 'users'] as const;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(privacy?: PrivacySettings, followupsOverlapMs = EVERYTHING_MS): Promise<void> {
  worker = await createTimedWorker({
    ...(privacy === undefined ? {} : { privacy }),
    settings: { followupsOverlapMs },
    sandbox: { size: { followups: 6, employees: 6, equipment: 6, resources: 3, users: 5 } },
  });
  const [store] = [worker.sandbox.store];
  for (const key of [...store.equipment.keys()]) store.equipment.delete(key);
}

async function sync(
  kind: 'sync' | 'reconcile' | 'backfill' = 'sync',
  streams: readonly (typeof STREAMS)[number][] = STREAMS,
): Promise<void> {
  for (const stream of streams) {
    const result = await worker.run(stream, {
      kind,
      force: true,
      allowMassDelete: true,
      restart: kind === 'backfill',
    });
    if (result.outcome !== 'skipped') expectSucceeded(result);
  }
}

const putCanaries = (mark = CANARY) => putProtected(worker.sandbox, { mark, updatedOn: worker.serviceNow() });

const found = (relations?: 'tables' | 'all') => findText(worker, [CANARY], relations);

describe('PRIVACY_OMIT and PRIVACY_PSEUDONYMIZE', () => {
  test('protected values are in no table, _raw, state or data issue after a first load, updates, a backfill, deletions and a reconcile', async () => {
    await start(SETTINGS);
    putCanaries();
    await sync();
    expect(await found()).toEqual([]);
    expect((await issuesOf(worker, 'followups')).length).toBeGreaterThan(0);
    const stored = await rowVersions(worker);
    await sync();
    expect(await rowVersions(worker)).toEqual(stored);
    const kinds = ['sync', 'backfill', 'reconcile'] as const;
    for (const kind of casesOf({ few: kinds.slice(1, 2), all: [...kinds] })) {
      worker.time.now += 20 * MINUTE_MS;
      putCanaries(`${CANARY} ${kind}`);
      await sync(kind);
      expect(await found('tables')).toEqual([]);
    }
    worker.sandbox.store.followups.delete('one');
    worker.sandbox.store.equipment.delete('e');
    await sync('reconcile');
    expect(await found()).toEqual([]);
    const [user] = await worker.query<{ name: string }>(`select name from safety.users where id = '10001'`);
    expect(user?.name).toMatch(/^pseudonym:[0-9a-f]{32}$/);
  });

  test('a cleaning for later settings removes protected values from rows, states, tombstones and data issues, and the next read changes no row', async () => {
    await start();
    putCanaries('CANARY first');
    await sync();
    worker.time.now += 20 * MINUTE_MS;
    putCanaries('CANARY second');
    worker.sandbox.store.followups.delete('two');
    await sync('reconcile');
    expect((await found()).length).toBeGreaterThan(10);
    const history = await worker.query<{ n: number }>(
      'select count(*)::int as n from safety.equipment_history where valid_to is not null',
    );
    const deleted = `select id, _deleted_at::text as at from safety.followups where _deleted_at is not null`;
    const before = await worker.query(deleted);

    const cleaned = await cleanAccount(contextOf(SETTINGS));
    expect(await found()).toEqual([]);
    expect(cleaned.flatMap(({ stream, rowsChanged }) => ((rowsChanged ?? 0) > 0 ? [stream] : []))).toEqual([
      'resources',
      'followups',
      'equipments',
      'users',
    ]);
    expect(await worker.query(deleted)).toEqual(before);
    expect(
      await worker.query(
        'select count(*)::int as n from safety.equipment_history where valid_to is not null',
      ),
    ).toEqual(history);
    expect(await cleanAccount(contextOf(SETTINGS))).toEqual(
      cleaned.map(({ stream }) => ({ stream, rowsChanged: null })),
    );
    // A read of the same records finds the stored rows unchanged.
    const versions = await rowVersions(worker);
    for (const stream of ['resources', 'followups', 'equipments'] as const) {
      const result = await runWith(SETTINGS, stream);
      expect([stream, result.counts.updated, result.counts.inserted]).toEqual([stream, 0, 0]);
    }
    expect(await rowVersions(worker)).toEqual(versions);
  });
});

test('a cleaning removes values that were derived from an omitted column: times of messages, days by form, completions', async () => {
  await start();
  putCanaries();
  await sync('sync', ['followups', 'equipments']);
  await worker.query(
    `insert into safety.equipment_completions values ('default', 'e', 's', '2026-01-02', '2026-01-03')`,
  );
  const figures = `select count(*) filter (where _last_message_at is not null or _first_response_at is not null)::int as times,
    sum(_message_count)::int as messages, (select count(*)::int from safety.day_counts where counted_by = 'form') as days,
    (select count(*)::int from safety.equipment_completions) as completions from safety.followups`;
  const [before] = await worker.query<{ times: number; messages: number; days: number }>(figures);
  expect(Math.min(before?.times ?? 0, before?.days ?? 0)).toBeGreaterThan(0);
  const omit = ['followup_messages.sent_at', 'followups.form_id', 'equipment_schedules.last_completed_at'];
  await cleanAccount(contextOf({ omit, pseudonymize: [] }));
  expect(await worker.query(figures)).toEqual([
    { times: 0, messages: before?.messages, days: 0, completions: 0 },
  ]);
});

inProof(() => {
  test('a cleaning whose database session is killed five times leaves no protected value after the next attempt', async () => {
    await start();
    putCanaries('CANARY first');
    await sync();
    worker.time.now += 20 * MINUTE_MS;
    putCanaries('CANARY second');
    await sync('reconcile');
    await worker.query(`create function kill_writer() returns trigger language plpgsql as
      $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
    for (const table of [
      'safety.resources',
      'safety_sync.data_issues',
      'safety.followup_messages',
      'safety.equipment_states',
      'safety.users',
    ]) {
      await worker.query(
        `create trigger kill after insert or update or delete on ${table} execute function kill_writer()`,
      );
      await expect(cleanAccount(contextOf(SETTINGS)), table).rejects.toThrow();
      await worker.query(`drop trigger kill on ${table}`);
    }
    await cleanAccount(contextOf(SETTINGS));
    expect(await found()).toEqual([]);
  });
});

test('after an interrupted cleaning the settings of before are refused, and the next run with the stricter ones goes on', async () => {
  await start();
  putCanaries();
  await sync('sync', ['followups']);
  const strict = { key: KEY, omit: ['followup_messages.note'], pseudonymize: [] };
  const stop = AbortSignal.abort();
  await expect(
    withStreamSession(contextOf(strict), { stream: 'followups', whenBusy: 'wait' }, (session) =>
      applyPrivacy(session, { ...contextOf(strict), stream: streamNamed('followups'), signal: stop }),
    ),
  ).rejects.toThrow('stopped while cleaning');
  const run = { stream: 'followups', kind: 'sync', trigger: 'manual' } as const;
  const before = contextOf({ key: KEY, omit: [], pseudonymize: [] });
  expect(await runStream(before, run)).toMatchObject({ outcome: 'failed', error: { code: 'privacy_less' } });
  expect(await runStream(contextOf(strict), run)).toMatchObject({ outcome: 'succeeded' });
  expect(await worker.query(`select id from safety.followup_messages where note is not null`)).toEqual([]);
});

test('if a column is no longer protected, reading its values again adds no state and no due_moved event', async () => {
  await start(undefined, 0);
  const { store } = worker.sandbox;
  const put = (id: string, patch: object) =>
    store.followups.put({
      ...SPECIMENS.followups.build(id),
      due: 20_260_110,
      m_assignee_id: 'A',
      updated_on: worker.serviceNow(),
      ...patch,
    });
  put('one', {});
  put('two', {});
  await runWith({ key: KEY, omit: ['followups.due_on'], pseudonymize: ['followups.field_id'] }, 'followups');
  // Two runs: one that reads what changed, one that reads everything.
  worker.time.now += 20 * MINUTE_MS;
  put('two', { m_observer_id: 'somebody' });
  const shown = { omit: [], pseudonymize: [], key: KEY };
  await runWith(shown, 'followups');
  // No earlier run has missed these values.
  expect(await runWith(shown, 'followups', 'reconcile')).toMatchObject({ repaired: null });
  expect(await worker.query(`select from safety.followup_states`)).toEqual([]);
  const moved = `select followup_id from safety.followup_events where event = 'due_moved'`;
  expect(await worker.query(moved)).toEqual([]);
  expect(await worker.query(`select due_on::text from safety.followups where id in ('one', 'two')`)).toEqual(
    Array.from({ length: 2 }, () => ({ due_on: '2026-01-10' })),
  );
  // From then on the source moves it.
  worker.time.now += 20 * MINUTE_MS;
  put('one', { due: 20_260_210 });
  store.followups.delete('two');
  expect(await runWith(shown, 'followups', 'reconcile')).toMatchObject({ repaired: 0, note: null });
  expect(await worker.query(moved)).toEqual([{ followup_id: 'one' }]);
});

describe('a forgotten person', () => {
  const ID = 'EMP-7654321';
  const SHORT = '4242';
  const TEXTS = [
    ID,
    `"${SHORT}"`,
    `: ${SHORT}`,
    `[${SHORT}`,
    'Maria Lopez',
    'maria lopez',
    'Lopez, Maria',
    'maria.lopez',
    'Lopez'.normalize('NFD'),
    'Mari\u0301a',
    'Hedwig Anderson',
    'OWN-RECORD',
  ];
  const KEY_ONLY: PrivacySettings = { omit: [], pseudonymize: [], key: KEY };

  function putPeople(round: string): void {
    const { store } = worker.sandbox;
    const updated_on = worker.serviceNow();
    // All other data about a person in their own record, in every form.
    store.users.put({
      id: ID,
      name: 'María Lopez',
      email: 'OWN-RECORD',
      phones: ['OWN-RECORD 1', { home: 'OWN-RECORD 2' }],
      badge: { text: 'OWN-RECORD' },
    });
    store.users.put({ id: SHORT, name: 'Hedwig Anderson' });
    const followup = SPECIMENS.followups.build('one');
    store.followups.put({
      ...followup,
      updated_on,
      m_observer_id: ID,
      m_assignee_id: round === 'first' ? SHORT : ID,
      m_completer_id: SHORT,
      m_approver_id: ID,
      m_assigner_id: ` ${ID}`,
      approver: Number(SHORT),
      'checked by Maria Lopez': true,
      seen_by: [Number(SHORT), { [ID]: true, [`by Maria Lopez`]: 1 }],
      reviewers: [{ by: ID, says: `Maria Lopez ${round}` }],
      messages: [
        {
          id: 'm1',
          date: 5,
          m_user_id: SHORT,
          m_reassignee_id: ID,
          attachments: [{ key: `files/Maria Lopez/${ID}.jpg`, caption: 'Maria Lopez' }],
          note: `Ask Maria Lopez (${ID}) or Lopez, Maria; ${'María Lopez'.normalize('NFD')}.Or maria.lopez@example.org, ${ID}`,
          signature: { signer: Number(SHORT) },
        },
        { note: `without id, says maria lopez, ${ID}` },
      ],
    });
    store.followups.put({
      ...followup,
      id: 'two',
      m_observer_id: SHORT,
      updated_on,
      due: `until ${ID} is back`,
    });
    store.resources.put({
      ...SPECIMENS.resources.build('r'),
      title: `Procedure of Hedwig Anderson ${round}`,
      versions: [{ ...(SPECIMENS.resources.build('r') as unknown as Resource).versions[0], creator_id: ID }],
    });
    store.equipment.put({
      ...(SPECIMENS.equipments.build('e') as unknown as Equipment),
      assignedUsers_id: [SHORT, ID, '10002'],
      notes: `kept by Maria Lopez, ${round}`,
      metavalues: { m1: 'Maria Lopez' },
    });
    for (const id of [ID, SHORT]) {
      store.employees.put({
        ...(SPECIMENS['training-employee-status'].build(id) as object),
        m_user_id: id,
        nickname: 'kept as it comes',
        status: round === 'first' ? 'active' : 'incomplete',
      });
    }
    store.recalculateTraining();
  }

  const places = (relations?: 'tables' | 'all') => findText(worker, TEXTS, relations);

  test('a forgotten person is a pseudonym in every column, array, _raw, state, data issue and lookup, also after the source sends the person again', async () => {
    await start(KEY_ONLY);
    putPeople('first');
    await sync();
    worker.time.now += 20 * MINUTE_MS;
    putPeople('second');
    await sync('reconcile');
    await worker.query(
      `update safety_sync.runs set note = '2 ids failed: ${ID}, ${SHORT}' where stream = 'users'`,
    );
    await worker.query(`insert into safety.day_counts (account_id, stream, counted_by, id, status, days, records, in_service)
      select 'default', 'followups', 'assignee', id, 'gone', '{1999-02-03,1999-02-04}', '{2,0}', '{0,0}' from unnest('{${ID},x,${SHORT}}'::text[]) id`);
    await worker.query(
      `insert into safety_sync.user_lookups (account_id, user_id) values ('default', '${SHORT} '), ('default', 'x')`,
    );
    expect((await places('tables')).length).toBeGreaterThan(15);

    const forgotten = await forgetPerson(worker.context, ID);
    expect(forgotten.pseudonym).toMatch(/^pseudonym:[0-9a-f]{32}$/);
    const second = await forgetPerson(worker.context, SHORT);
    expect(second.isNameKnown).toBe(true);
    expect(second.runs).toBe(2);
    expect(await places()).toEqual([]);
    const joined = await worker.query(
      `select u.name, f.observer_id = u.id as observes, t.user_id = u.id as trains, u.id = any (e.assigned_user_ids) as has
       from safety.users u join safety.training_employee_status t on t.account_id = u.account_id and t.user_id = u.id
         join safety.followups f on f.account_id = u.account_id join safety.equipment e on e.account_id = u.account_id
       where u.account_id = 'default' and u.id = '${forgotten.pseudonym}' and f.id = 'one' and e.id = 'e'`,
    );
    expect(joined).toEqual([{ name: null, observes: true, trains: true, has: true }]);
    expect(await findKeysWithoutPerson(worker)).toEqual([]);
    const asked = worker.sandbox.requests.length;
    const rounds = [
      ['third', 'sync'],
      ['fourth', 'backfill'],
      ['fifth', 'reconcile'],
    ] as const;
    for (const [round, kind] of casesOf({ few: rounds.slice(1, 2), all: [...rounds] })) {
      worker.time.now += 20 * MINUTE_MS;
      putPeople(round);
      await sync(kind);
      expect(await places('tables')).toEqual([]);
    }
    const later = JSON.stringify(
      worker.sandbox.requests.slice(asked).filter(({ method }) => method === 'users.info'),
    );
    expect(later).not.toContain(ID);
    expect(
      await worker.query(`select user_id from safety_sync.user_lookups where user_id like 'pseudonym:%'`),
    ).toEqual([]);
    // As `verify --repair` stores one record.
    for (const stream of ['users', 'training-employee-status'] as const) {
      const onlyRecord = { key: ID, stored: null };
      expectSucceeded(await worker.run(stream, { onlyRecord }));
    }
    expect(await places()).toEqual([]);
    const live = await worker.query(
      `select count(*)::int as n from safety.training_employee_status where user_id like 'pseudonym:%' and _deleted_at is null`,
    );
    expect(live).toEqual([{ n: 2 }]);
    const versions = await rowVersions(worker);
    for (const stream of ['resources', 'followups', 'equipments', 'training-employee-status'] as const)
      await runWith(KEY_ONLY, stream);
    expect(await rowVersions(worker)).toEqual(versions);
  });

  test('runs and forget fail with an error about PRIVACY_KEY if it is missing or another one, so that no forgotten id is stored again', async () => {
    await start(KEY_ONLY);
    putPeople('first');
    await sync('sync', ['followups', 'users']);
    await forgetPerson(worker.context, ID);
    for (const key of ['another key, which is as long as it has to be', undefined]) {
      const settings = { ...KEY_ONLY, key };
      await expect(runWith(settings, 'followups')).rejects.toMatchObject({ code: 'privacy_key_wrong' });
      await expect(forgetPerson(contextOf(settings), SHORT)).rejects.toThrow(/PRIVACY_KEY/);
    }
    expect(await findText(worker, [ID])).toEqual([]);
  });
});

test('a worker whose settings protect less than the recorded ones stores nothing and sends no request, until they are lifted once', async () => {
  const hidden: PrivacySettings = { key: KEY, omit: ['equipment.notes'], pseudonymize: [] };
  await start(hidden);
  putCanaries();
  await sync('sync', ['equipments', 'users']);
  const requests = worker.sandbox.requests.length;
  const weak = contextOf({ ...hidden, omit: [] });
  const run = { stream: 'equipments', kind: 'sync', trigger: 'schedule' } as const;
  expect(await runStream(weak, run)).toMatchObject({ outcome: 'failed', error: { code: 'privacy_less' } });
  expect(worker.sandbox.requests).toHaveLength(requests);
  for (const [privacy, lost] of [
    [{ ...hidden, omit: [] }, 'PRIVACY_OMIT had equipment.notes'],
    [{ ...hidden, keep: ['email'] }, 'USERS_KEEP did not have email'],
  ] as const)
    await expect(settleProtection([contextOf(privacy)], false)).rejects.toMatchObject({
      message: expect.stringContaining(lost) as string,
    });
  await expect(forgetPerson(weak, '10001')).rejects.toMatchObject({ code: 'privacy_less' });
  expect(await listForgotten(weak)).toEqual([]);
  await settleProtection([weak], true);
  expectSucceeded(await runStream(weak, run));
});

/** The context of a worker with these settings. */
const contextOf = (privacy: PrivacySettings) => ({ ...worker.context, privacy });

async function runWith(
  privacy: PrivacySettings,
  stream: (typeof STREAMS)[number],
  kind: 'sync' | 'reconcile' = 'sync',
) {
  await settleProtection([contextOf(privacy)], true);
  const result = await runStream(contextOf(privacy), {
    stream,
    kind,
    trigger: 'manual',
    force: true,
    allowMassDelete: true,
  });
  if (result.outcome === 'failed') throw result.error;
  return result;
}
