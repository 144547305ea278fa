/**
 * Data issues: a value that cannot be stored as received becomes an issue that holds it; the issue closes when the value is right
 * (contract, 5.5).
 */
import { describe, expect, test } from 'vitest';
import { RawNumber } from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, issuesOf, rowVersions } from '../support/world.ts';

const EVERYTHING_MS = 10 * 365 * 24 * 60 * MINUTE_MS;

const worker = forEachTest(() =>
  createTimedWorker({
    settings: { followupsOverlapMs: EVERYTHING_MS },
    sandbox: { size: { followups: 20, employees: 12, equipment: 12, resources: 10, users: 6 } },
  }),
);
const sync = async (stream: 'resources' | 'followups' | 'equipments' | 'training-employee-status') =>
  expectSucceeded(await worker.run(stream, { force: true }));
const openIssues = async (stream: string) =>
  (await issuesOf(worker, stream)).filter((issue) => issue.is_open);

test('a stream lists 1,000 issues, counts the others in one more, and lists them when there is room', async () => {
  const odd = (id: string, names: number) => ({
    ...SPECIMENS.resources.build(id),
    ...Object.fromEntries(Array.from({ length: names }, (_, at) => [`${id}-${at}`, at])),
  });
  for (const id of ['a', 'b', 'c']) worker.sandbox.store.resources.put(odd(id, 400));
  await sync('resources');
  const issues = await openIssues('resources');
  expect(issues.filter(({ field }) => field !== null)).toHaveLength(1000);
  expect(issues.filter(({ field }) => field === null)).toMatchObject([{ record_id: null, occurrences: 200 }]);
  worker.sandbox.store.resources.put(odd('a', 0));
  worker.sandbox.store.resources.put({ ...odd('c', 400), title: 'changed' });
  await sync('resources');
  expect(await openIssues('resources')).toHaveLength(601);
  expectSucceeded(await worker.run('resources', { kind: 'reconcile' }));
  const left = await openIssues('resources');
  expect(left).toHaveLength(800);
  expect(left.every(({ field }) => field !== null)).toBe(true);
});

test('a record with thousands of values that cannot be stored has 100 issues, and one issue for the others', async () => {
  const build = (date: unknown) => ({
    ...SPECIMENS.followups.build('odd'),
    messages: Array.from({ length: 3000 }, (_, at) => ({ id: `m${at}`, date, note: 'kept' })),
  });
  worker.sandbox.store.followups.put(build('noon'));
  await sync('followups');
  expect(await openIssues('followups')).toHaveLength(101);
  expect(
    await worker.query(
      `select kind, record_id, problem like 'more than 100 values%' as is_others from safety_sync.data_issues where field is null`,
    ),
  ).toEqual([{ kind: 'field_nulled', record_id: 'odd', is_others: true }]);
  await expectWarehouseEqualsSource(worker, { tables: ['followups', 'followup_messages'] });
  worker.sandbox.store.followups.put(build(1));
  await sync('followups');
  expect(await openIssues('followups')).toEqual([]);
});

test('the issue of a record that the source no longer has is closed', async () => {
  worker.sandbox.store.equipment.put({ ...SPECIMENS.equipments.build('e'), created: 'never' });
  worker.sandbox.store.equipment.put({ ...SPECIMENS.equipments.build('x'), id: null }, 'keyless');
  await sync('equipments');
  expect(await openIssues('equipments')).toHaveLength(2);
  worker.sandbox.store.equipment.delete('e');
  worker.sandbox.store.equipment.delete('keyless');
  await sync('equipments');
  expect(await openIssues('equipments')).toEqual([]);
});

test('a record that is no object, or has no usable key, is rejected as a whole, and its issue is closed when the record is gone', async () => {
  const odd = [7, 'text', null, [[]], 'x\u0000', { ...SPECIMENS.resources.build('x'), id: 7.5 }];
  worker.sandbox.hooks.rewriteResponse = (entry, response) =>
    entry.method === 'resources.list'
      ? { ...response, resources: [...odd, ...(response['resources'] as unknown[])] }
      : response;
  const { counts } = await sync('resources');
  expect(counts).toMatchObject({ read: 10 + odd.length, inserted: 10, rejected: odd.length });
  const issues = await issuesOf(worker, 'resources');
  expect(issues).toMatchObject(odd.map(() => ({ kind: 'record_rejected', record_id: null, is_open: true })));
  expect(issues.map(({ value }) => value)).toEqual(expect.arrayContaining([7, 'text', odd.at(-1)]));
  worker.sandbox.hooks.rewriteResponse = undefined;
  await sync('resources');
  expect(await openIssues('resources')).toEqual([]);
});

describe('the retry of stored records', () => {
  test('a retry sends no request, closes the issues of corrected values, and keeps the other issues open', async () => {
    worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('bad-due'), due: 20_260_230 });
    worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('x'), id: null }, 'keyless');
    await sync('followups');
    // An earlier version of the program, without this check, leaves such a row.
    await worker.query(
      `update safety.followups set _raw = jsonb_set(_raw, '{due}', '20260228'), _hash = null where id = 'bad-due'`,
    );
    worker.sandbox.requests.length = 0;
    const result = expectSucceeded(await worker.run('followups', { retryIssues: true }));
    expect(worker.sandbox.requests).toEqual([]);
    expect(result).toMatchObject({ requests: 0, counts: { updated: 1, rejected: 1, deleted: 0 } });
    expect(await openIssues('followups')).toMatchObject([{ kind: 'record_rejected', record_id: null }]);
    const rows = await worker.query(`select due_on::text from safety.followups where id = 'bad-due'`);
    expect(rows).toEqual([{ due_on: '2026-02-28' }]);
  });

  test('digits that no JavaScript number has are in the issue of a rejected record, and stay in _raw when a retry reads it', async () => {
    const beyond = new RawNumber('9007199254740993') as unknown as number;
    worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('far'), form_id: beyond });
    worker.sandbox.store.followups.put(
      { ...SPECIMENS.followups.build('x'), id: beyond as unknown as string },
      'keyless',
    );
    await sync('followups');
    const before = await rowVersions(worker);
    const result = expectSucceeded(await worker.run('followups', { retryIssues: true }));
    expect(result.counts).toMatchObject({ updated: 0, unchanged: 1, rejected: 1 });
    expect(await rowVersions(worker)).toEqual(before);
    const digits = await worker.query(`select _raw->>'form_id' as one from safety.followups where id = 'far'
      union all select value->>'id' from safety_sync.data_issues where record_id is null`);
    expect(digits).toEqual([{ one: '9007199254740993' }, { one: '9007199254740993' }]);
  });

  test('in a retry, equipment in records that contain no type keeps the type under which it is listed', async () => {
    worker.sandbox.readings.leftOut = ['equipment.equipmentType_id'];
    const { equipment } = worker.sandbox.store;
    for (const key of [...equipment.keys()]) equipment.update(key, { created: 'never' as unknown as number });
    await sync('equipments');
    // An issue can have gone over to this record from one of another type.
    await worker.query(
      `update safety_sync.data_issues set context = '{"equipmentTypeId":"another"}' where stream = 'equipments'`,
    );
    const before = await rowVersions(worker);
    const result = expectSucceeded(await worker.run('equipments', { retryIssues: true }));
    expect(result.counts).toMatchObject({ read: 12, unchanged: 12 });
    expect(await rowVersions(worker)).toEqual(before);
    await expectWarehouseEqualsSource(worker, { tables: ['equipment', 'equipment_asked_types'] });
  });
});

test('a record that an index of somebody else cannot hold costs itself, new or changed, and comes by itself when the index is gone', async () => {
  // The next request for changes does not show them again.
  Object.assign(worker.settings, { followupsOverlapMs: 0 });
  const { followups } = worker.sandbox.store;
  const [known = ''] = followups.keys();
  await sync('followups');
  worker.time.now += MINUTE_MS;
  await worker.query('create index of_bi on safety.followup_messages (note)');
  const long = Array.from({ length: 4000 }, (_, at) => ((at * 7919 + at ** 3) % 1_679_616).toString(36)).join(
    '',
  );
  const messages = [{ id: 'm', date: worker.serviceNow(), m_user_id: '1', note: long }];
  followups.put({ ...SPECIMENS.followups.build('new'), updated_on: worker.serviceNow(), messages });
  followups.put({ ...SPECIMENS.followups.build('other'), updated_on: worker.serviceNow() });
  followups.update(known, { messages, updated_on: worker.serviceNow() });
  await sync('followups');
  const rejected = () =>
    worker.query(`select distinct left(problem, 38) as problem, count(*)::int as records from safety_sync.data_issues
      where kind = 'record_rejected' and resolved_at is null group by 1`);
  expect(await rejected()).toEqual([{ problem: 'PostgreSQL cannot store it: index row ', records: 2 }]);
  const stored = () =>
    worker.query(`select id from safety.followups f where id in ('new', 'other') or exists (
      select from safety.followup_messages m where m.followup_id = f.id and m.id = 'm') order by id`);
  expect(await stored()).toEqual([{ id: 'other' }]);
  worker.time.now += MINUTE_MS;
  // The issues of other records stay, also where every record is compared.
  followups.update('other', { due: 20_260_230, updated_on: worker.serviceNow() });
  await sync('followups');
  expectSucceeded(await worker.run('followups', { kind: 'reconcile' }));
  expect(await rejected()).toEqual([{ problem: 'PostgreSQL cannot store it: index row ', records: 2 }]);
  expect((await openIssues('followups')).map(({ field }) => field).toSorted()).toEqual(['due', null, null]);
  worker.time.now += MINUTE_MS;
  await worker.query('drop index safety.of_bi');
  await sync('followups');
  expect(await stored()).toEqual(
    [{ id: known }, { id: 'new' }, { id: 'other' }].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  expect(await rejected()).toEqual([]);
  await expectWarehouseEqualsSource(worker, { tables: ['followups', 'followup_messages'] });
});

test('a constraint of somebody else costs the records that break it, and a complete read deletes none of them', async () => {
  const { resources } = worker.sandbox.store;
  const [known = ''] = resources.keys();
  await sync('resources');
  await worker.query(`alter table safety.resources add constraint of_bi check (title <> 'bad')`);
  await worker.query(`create unique index of_bi on safety.resources (title) where title = 'same'`);
  for (const id of ['one', 'two']) resources.put({ ...SPECIMENS.resources.build(id), title: 'same' });
  resources.update(known, { title: 'bad' });
  for (const inserted of [1, 0])
    expect((await sync('resources')).counts).toMatchObject({ inserted, updated: 0, deleted: 0, rejected: 2 });
  expect((await openIssues('resources')).map(({ record_id }) => record_id)).toEqual(
    [known, 'two'].toSorted(),
  );
  await worker.query('alter table safety.resources drop constraint of_bi');
  await worker.query('drop index safety.of_bi');
  expect((await sync('resources')).counts).toMatchObject({ inserted: 1, updated: 1, rejected: 0 });
  expect(await openIssues('resources')).toEqual([]);
  await expectWarehouseEqualsSource(worker, { tables: ['resources'] });
});
