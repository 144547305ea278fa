/** The views against an independent computation from the service's answers. */
import { beforeAll, describe, expect, test } from 'vitest';
import { STREAMS } from '../../src/engine/streams/index.ts';
import { NAMING_LISTS } from '../../src/engine/streams/optional-methods.ts';
import { LABEL_KINDS } from '../../src/warehouse/labels.ts';
import { writeReportingTimezones } from '../../src/warehouse/view-settings.ts';
import { countStored } from '../support/count-days.ts';
import type { Equipment, Followup } from '../../src/sandbox/index.ts';
import { forAllTests } from '../support/lifetime.ts';
import { findKeysWithoutPerson, readPersonColumns } from '../support/people-keys.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { dayNumber, dayOf, expectedViews, toDay, type ViewRow } from '../support/expected-views.ts';
import { readSource, TABLES, type TableName } from '../support/source-oracle.ts';
import { readHistory } from '../support/state-replay.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker } from '../support/worker.ts';

const ZONES = ['UTC', 'Pacific/Kiritimati', 'Pacific/Niue'];

const worker = forAllTests(() => createTestWorker({ sandbox: { seed: 19 } }));
beforeAll(async () => {
  worker.sandbox.readings.notOffered = NAMING_LISTS;
  const sync = async () => {
    for (const { name } of STREAMS)
      if (name !== 'names') expectSucceeded(await worker.run(name, { kind: 'reconcile', force: true }));
  };
  await sync();
  const { store, live } = worker.sandbox;
  live.step(120);
  // A category was never observed.
  for (const key of store.resources.keys()) store.resources.update(key, { category_id: '11' });
  // Deleted parents with children that stay in the tables.
  for (const table of [store.resources, store.followups, store.employees, store.equipment]) {
    for (const key of [...table.keys()].slice(0, 5)) table.delete(key);
  }
  store.recalculateTraining();
  await sync();
});

/** Values as text, points in time in milliseconds. */
async function readView(view: string, columns: readonly string[]): Promise<ViewRow[]> {
  const typed = columns.map((column) =>
    column.endsWith('_at')
      ? `floor(extract(epoch from ${column}) * 1000)::text as ${column}`
      : `${column}::text`,
  );
  return await worker.query<ViewRow>(`select ${typed.join(', ')} from safety.${view}`);
}

const sorted = (rows: readonly ViewRow[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted();

describe.each(ZONES)('days in time zone %s', (timezone) => {
  beforeAll(async () => {
    await writeReportingTimezones(worker.connection.db, [{ accountId: 'default', timezone }]);
    await countStored(worker.connection);
  });

  test('every view of live rows equals an independent computation from the responses of the service', async () => {
    const tables = await readSource(worker, Object.keys(TABLES) as TableName[]);
    const today = dayOf(String(Date.now()), timezone) ?? '';
    for (const [view, expected] of Object.entries(expectedViews(tables, { timezone, today }))) {
      expect(expected.length, view).toBeGreaterThan(0);
      const found = await readView(view, Object.keys(expected[0] ?? {}));
      expect(sorted(found), view).toEqual(sorted(expected));
    }
  });

  test('every _at column of a view has an _on column with its local day', async () => {
    const columns = await readViewColumns();
    const times = columns.filter(({ type }) => type === 'timestamp with time zone');
    const days = times.filter(({ name }) => name.endsWith('_at'));
    expect(days.length).toBeGreaterThan(20);
    for (const { view, name } of days) {
      const day = name.replace(/_at$/, '_on');
      expect(
        columns.some((one) => one.view === view && one.name === day),
        `${view}.${day}`,
      ).toBe(true);
      const [wrong] = await worker.query<{ rows: number }>(
        `select count(*)::int as rows from safety.${view}
         where account_id = 'default' and ${day} is distinct from (${name} at time zone '${timezone}')::date`,
      );
      expect(wrong?.rows, `${view}.${day}`).toBe(0);
    }
  });

  test.each([
    [
      'training_status_daily',
      'training_employee_status_history',
      'employees',
      ['incomplete', 'expiring', 'active', 'unassigned'],
    ],
    ['equipment_status_daily', 'equipment_history', 'equipment', ['uptodate', 'expiring', 'expired']],
  ] as const)(
    '%s equals the number of states in %s at the end of each day',
    async (view, history, column, known) => {
      await spreadStates();
      await countStored(worker.connection);
      const today = dayOf(String(Date.now()), timezone) ?? '';
      const states = (await readHistory(worker, history)).map(({ row, from, to }) => ({
        status: String(row['status'] ?? 'unknown'),
        isInService: row['is_in_service'] === true,
        ...daysOf(from, to, timezone),
      }));
      const expected = countDays(states, known, today);
      expect(expected.length).toBeGreaterThan(10);
      const extra = view === 'equipment_status_daily';
      const found = await readView(view, ['date', 'status', column, ...(extra ? ['in_service'] : [])]);
      expect(sorted(found)).toEqual(
        sorted(
          expected.map(({ date, status, all, inService }) => ({
            date,
            status,
            [column]: String(all),
            ...(extra ? { in_service: String(inService) } : {}),
          })),
        ),
      );
    },
  );
});

const readViewColumns = () =>
  worker.query<{ view: string; name: string; type: string }>(
    `select c.relname as view, a.attname as name, format_type(a.atttypid, null) as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v' order by 1, a.attnum`,
  );

test('every id of a label kind in a view has a _label column with its label, or else the id', async () => {
  const KINDS: Readonly<Record<string, string>> = {
    ...Object.fromEntries(LABEL_KINDS.map((kind) => [`${kind}_id`, kind])),
    item_id: 'metafield_item',
  };
  const columns = await readViewColumns();
  const ids = columns.flatMap(({ view, name }) => (name in KINDS ? [{ view, id: name }] : []));
  // The items of a field are shown by their names only.
  expect(new Set(ids.map(({ id }) => id)).size).toBe(LABEL_KINDS.length - 1);
  const rowsOf = ({ view, id }: { view: string; id: string }) => {
    const label = id.replace(/_id$/, '_label');
    return worker.query<{ id: string | null; label: string | null }>(
      `select distinct ${id}::text as id, ${label} as label from safety.${view} where account_id = 'default'`,
    );
  };
  // Without a name the id as text; then some have one.
  const seen = new Map<string, Set<string>>(LABEL_KINDS.map((kind) => [kind, new Set()]));
  for (const one of ids) {
    for (const { id, label } of await rowsOf(one)) {
      expect(label, `${one.view}.${one.id}`).toBe(id);
      if (id !== null) seen.get(KINDS[one.id] ?? '')?.add(id);
    }
  }
  const named = [...seen].flatMap(([kind, found]) =>
    [...found].filter((_, index) => index % 2 === 0).map((id) => ({ kind, id, label: `${kind} of ${id}` })),
  );
  expect(new Set(named.map(({ kind }) => kind)).size).toBe(LABEL_KINDS.length - 1);
  const values = named.map(({ kind, id, label }) => `('default', '${kind}', '${id}', '${label}')`);
  await worker.query(`insert into safety.labels (account_id, kind, id, label) values ${values.join(', ')}`);
  const names = new Map(named.map(({ kind, id, label }) => [`${kind} ${id}`, label]));
  for (const one of ids) {
    for (const { id, label } of await rowsOf(one)) {
      expect(label, `${one.view}.${one.id}`).toBe(names.get(`${KINDS[one.id] ?? ''} ${id ?? ''}`) ?? id);
    }
  }
});

test('every user id in a view has a name and a key column, and each key has a row in people before its name is looked up', async () => {
  const { store } = worker.sandbox;
  store.followups.put({
    ...(SPECIMENS.followups.build('of newcomers') as unknown as Followup),
    m_observer_id: 'new observer',
    m_assigner_id: 'new assigner',
    m_assignee_id: 'new assignee',
    m_completer_id: '',
    messages: [{ id: 'm', m_user_id: 'new author', m_reassignee_id: 'new reassignee' }],
  });
  store.equipment.put({
    ...(SPECIMENS.equipments.build('of newcomers') as unknown as Equipment),
    equipmentType_id: worker.sandbox.equipmentTypes[0] ?? '',
    assignedUsers_id: ['new user', ''],
  });
  store.resources.put(SPECIMENS.resources.build('of newcomers'));
  store.employees.put(SPECIMENS['training-employee-status'].build('new employee'));
  store.recalculateTraining();
  for (const stream of ['resources', 'followups', 'training-employee-status', 'equipments'] as const)
    expectSucceeded(await worker.run(stream, { kind: 'reconcile', force: true }));

  const columns = await readPersonColumns(worker);
  expect(new Set(columns.map(({ person }) => person))).toEqual(
    new Set(['assigned_user', 'assignee', 'assigner', 'completer', 'creator', 'observer', 'user']),
  );
  for (const { view, person } of columns) {
    const wrong = await worker.query(
      `select v.${person}_id, v.${person}_name, v.${person}_key from safety.${view} v
       left join safety.users u on u.account_id = v.account_id and u.id = v.${person}_id
       where v.${person}_name is distinct from u.name
         or v.${person}_key is distinct from case when v.${person}_id <> '' then v.account_id || '/' || v.${person}_id end`,
    );
    expect(wrong, `${view}.${person}_id`).toEqual([]);
  }
  expect(await findKeysWithoutPerson(worker)).toEqual([]);

  const people = await worker.query<{ user_id: string; name: string; is_trained_here: boolean }>(
    `select user_id, name, is_trained_here from safety.people
     where account_id = 'default' and user_key = account_id || '/' || user_id and not is_forgotten`,
  );
  const ids = people.map(({ user_id: id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => id.startsWith('new')).toSorted()).toEqual(
    ['assignee', 'assigner', 'author', 'employee', 'observer', 'reassignee', 'user'].map(
      (who) => `new ${who}`,
    ),
  );
  const users = await worker.query<{ id: string; name: string }>('select id, name from safety.users');
  const names = new Map(users.map(({ id, name }) => [id, name]));
  expect(people.map(({ name }) => name)).toEqual(ids.map((id) => names.get(id) ?? id));
  const trained = people.flatMap((one) => (one.is_trained_here ? [one.user_id] : []));
  expect(trained.toSorted()).toEqual([...store.employees.keys()].toSorted());
});

test('a sync does not change labels', async () => {
  const labels = `select * from safety.labels order by kind, id`;
  const before = await worker.query(labels);
  for (const { name } of STREAMS)
    if (name !== 'names') expectSucceeded(await worker.run(name, { kind: 'reconcile', force: true }));
  expect(await worker.query(labels)).toEqual(before);
});

/** Gives some rows a past, as weeks of syncing would have: once for all zones. */
let isSpread = false;
async function spreadStates(): Promise<void> {
  if (isSpread) return;
  isSpread = true;
  const pasts: [string, string, string, string][] = [
    ['equipment', 'equipment_states', 'id', `'expiring'`],
    ['training_employee_status', 'training_employee_status_states', 'user_id', `'incomplete'`],
  ];
  for (const [table, states, key, status] of pasts) {
    await worker.query(
      `update safety.${states} set valid_from = (valid_from at time zone 'UTC' - interval '40 days') at time zone 'UTC'`,
    );
    await worker.query(
      `insert into safety.${states} (account_id, ${key}, status, valid_from, valid_to)
       select account_id, ${key}, ${status}, _valid_from - (1 + abs(hashtext(${key})) % 30) * interval '19 hours', _valid_from
       from safety.${table} t where not exists (select from safety.${states} s where s.account_id = t.account_id and s.${key} = t.${key})`,
    );
  }
}

function daysOf(from: number, to: number | null, timezone: string): { from: number; to: number } {
  const day = (micros: number) => dayNumber(dayOf(String(Math.floor(micros / 1000)), timezone) ?? '');
  return { from: day(from), to: to === null ? Infinity : day(to) };
}

interface Counted {
  readonly status: string;
  readonly isInService: boolean;
  readonly from: number;
  readonly to: number;
}

function countDays(states: readonly Counted[], known: readonly string[], today: string) {
  const first = Math.min(...states.map(({ from }) => from));
  const statuses = new Set([...known, ...states.map(({ status }) => status)]);
  const counts: { date: string; status: string; all: number; inService: number }[] = [];
  for (let day = first; day <= dayNumber(today); day += 1) {
    for (const status of statuses) {
      const held = states.filter((one) => one.status === status && one.from <= day && one.to > day);
      const inService = held.filter(({ isInService }) => isInService).length;
      const hasOccurred = states.some((one) => one.status === status && one.from <= day);
      if (hasOccurred || known.includes(status))
        counts.push({ date: toDay(day), status, all: held.length, inService });
    }
  }
  return counts;
}

test('a follow-up that was raised before the first day of the calendar is counted from that day on', async () => {
  // Raised in 1995: one still open, one closed in 1997, one due in 2000; and one with a broken time.
  await worker.query(
    `insert into safety.followups (account_id, id, is_open, created_at, due_on, resolved_at, _valid_from, _synced_at, _run_id)
     values ('past', '1', true, '1995-03-01', null, null, '1995-03-01', now(), 1),
       ('past', '2', false, '1995-03-01', null, '1997-05-01', '1997-05-01', now(), 1),
       ('past', '3', true, '1995-03-01', '2000-01-10', null, '1995-03-01', now(), 1),
       ('past', '4', true, '0001-01-01', null, null, '0001-01-01', now(), 1)`,
  );
  await countStored(worker.connection, ['past']);
  const of = (condition: string) =>
    worker.query<{ date: string; status: string; followups: number }>(
      `select date::text, status, followups::int from safety.followup_daily where account_id = 'past' and ${condition} order by 1, 2`,
    );
  expect(await of(`date <= '2000-01-01'`)).toEqual([
    { date: '2000-01-01', status: 'closed', followups: 1 },
    { date: '2000-01-01', status: 'open', followups: 3 },
    { date: '2000-01-01', status: 'overdue', followups: 0 },
  ]);
  expect(await of(`date = '2000-01-11'`)).toEqual([
    { date: '2000-01-11', status: 'closed', followups: 1 },
    { date: '2000-01-11', status: 'open', followups: 2 },
    { date: '2000-01-11', status: 'overdue', followups: 1 },
  ]);
  const [days] = await worker.query<{ rows: number; expected: number }>(
    `select count(*)::int as rows, 3 * ((now() at time zone 'UTC')::date - date '2000-01-01' + 1) as expected
     from safety.followup_daily where account_id = 'past'`,
  );
  expect(days?.rows).toBe(days?.expected);
});

test('the estimated cost of every view is below jit_above_cost, because its compilation would take longer than the query', async () => {
  await worker.query('analyze');
  const views = await worker.query<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'safety' order by 1`,
  );
  const [setting] = await worker.query<{ above: number }>(
    `select boot_val::float8 as above from pg_settings where name = 'jit_above_cost'`,
  );
  expect(setting?.above).toBe(100_000);
  for (const { name } of views) {
    for (const filter of ['true', `account_id = 'default'`]) {
      const [top] = await worker.query<{ 'QUERY PLAN': string }>(
        `explain select * from safety.${name} where ${filter}`,
      );
      const cost = /cost=[\d.]+\.\.([\d.]+)/.exec(top?.['QUERY PLAN'] ?? '')?.[1];
      expect(Number(cost), `${name} where ${filter}`).toBeLessThan(20_000);
    }
  }
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The plan of Citus for a statement. */
interface SentToNodes {
  readonly 'Distributed Query'?: { readonly Job: { readonly Tasks: readonly NodeTask[] } };
}

interface NodeTask {
  readonly 'Remote Plan': readonly (readonly Explained[])[];
}

interface Explained {
  readonly Plan: PlanNode & SentToNodes;
}

/** The node's plan of a statement that Citus sends to a node unchanged, with the names of tables for their shards. */
async function readPlan(statement: string): Promise<PlanNode> {
  const [row] = await worker.query<{ 'QUERY PLAN': string | Explained[] }>(
    `explain (format json) ${statement}`,
  );
  const answer = row?.['QUERY PLAN'] ?? '';
  const [explained] = typeof answer === 'string' ? (JSON.parse(answer) as Explained[]) : answer;
  const tasks = explained?.Plan['Distributed Query']?.Job.Tasks;
  if (explained === undefined || tasks === undefined) return explained?.Plan ?? {};
  expect(tasks).toHaveLength(1);
  const [[ofNode] = []] = tasks[0]?.['Remote Plan'] ?? [];
  const named = JSON.stringify(ofNode?.Plan).replace(/("Relation Name":"\w+?)_\d+"/g, '$1"');
  return JSON.parse(named) as PlanNode;
}

/** Tables that a plan reads without any condition on the account. */
function readsOfAllAccounts(node: PlanNode): string[] {
  const { Plans: below = [], ...own } = node;
  const table = own['Relation Name'];
  const conditions = Object.entries(own).filter(([name]) => /Cond|Filter/.test(name));
  const isBound = conditions.some(([, text]) => text.includes('account_id'));
  // The days are the same for all accounts.
  const isShared = table === undefined || table === 'calendar';
  return [...(isShared || isBound ? [] : [table]), ...below.flatMap(readsOfAllAccounts)];
}

test('a filter on account_id reaches the tables of every view', async () => {
  const views = await worker.query<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'safety' order by 1`,
  );
  expect(views.length).toBeGreaterThan(16);
  for (const { name } of views) {
    const plan = await readPlan(`select * from safety.${name} where account_id = 'nobody'`);
    expect(readsOfAllAccounts(plan), name).toEqual([]);
  }
});

test.each([
  ['followup_overview', 'id', `'x'`, ['followups']],
  ['followup_overview', 'assignee_id', `'x'`, ['followups']],
  ['followup_overview', 'created_at', 'now()', ['followups']],
  ['followup_overview', 'due_on', 'current_date', ['followups']],
  ['followup_history', 'id', `'x'`, ['followups', 'followup_states']],
  ['equipment_history', 'id', `'x'`, ['equipment', 'equipment_states']],
  ['training_completion_history', 'user_id', `'x'`, ['training_completions', 'training_completion_states']],
  ['training_completion_history', 'training_id', '1', ['training_completions', 'training_completion_states']],
  ['equipment_inspections', 'equipment_id', `'x'`, ['equipment', 'equipment_schedules']],
  ['equipment_inspections', 'expires_at', 'now()', ['equipment_schedules']],
  ['equipment_fields', 'equipment_id', `'x'`, ['equipment', 'equipment_metavalues']],
  ['training_compliance', 'user_id', `'x'`, ['training_employee_status', 'training_completions']],
  ['current_resource_versions', 'resource_id', `'x'`, ['resources', 'resource_versions']],
  ['resource_version_overview', 'resource_id', `'x'`, ['resources', 'resource_versions']],
] as const)('a filter of %s on %s reaches the tables of the view', async (view, column, value, tables) => {
  const plan = await readPlan(
    `select * from safety.${view} where account_id = 'default' and ${column} = ${value}`,
  );
  // The table's own name of it: a message has its follow-up's id as followup_id.
  const names = {
    id: /\b(followup_|equipment_)?id\b/,
    resource_id: /\b(resource_)?id\b/,
    equipment_id: /\b(equipment_)?id\b/,
  };
  const pattern = (names as Readonly<Record<string, RegExp>>)[column] ?? new RegExp(`\\b${column}\\b`);
  const conditions = conditionsOf(plan);
  for (const table of tables)
    expect(
      conditions.filter((one) => one.table === table && pattern.test(one.text)),
      table,
    ).not.toEqual([]);
});

/** The conditions of each scan of a table; a bitmap scan has them in a node below its own. */
function conditionsOf(node: PlanNode, above?: string): { table: string; text: string }[] {
  const { Plans: below = [], ...own } = node;
  const table = own['Relation Name'] ?? above;
  const text = Object.entries(own)
    .filter(([name]) => /Cond|Filter/.test(name))
    .map(([, condition]) => condition)
    .join(' ');
  const isScan = own['Relation Name'] !== undefined || above !== undefined;
  return [
    ...(isScan && table !== undefined ? [{ table, text }] : []),
    ...below.flatMap((one) => conditionsOf(one, isScan ? table : undefined)),
  ];
}
