/** The dbt package of docs/dbt without dbt: its models and tests as the statements that dbt makes of them. */
import { beforeAll, describe, expect, test } from 'vitest';
import { buildModels, modelPaths, nameOf, readYaml, relationOf, TARGET } from '../support/dbt-package.ts';
import { forAllTests } from '../support/lifetime.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, syncSecondAccount } from '../support/worker.ts';

interface DbtTest {
  readonly name?: string;
  readonly column_name?: string;
  readonly arguments?: {
    readonly to?: string;
    readonly field?: string;
    readonly values?: readonly string[];
  };
}
type Tests = readonly (string | Readonly<Record<string, DbtTest>>)[];
interface Node {
  readonly name: string;
  readonly config?: { readonly loaded_at_field?: string; readonly freshness?: object };
  readonly data_tests?: Tests;
  readonly columns?: readonly { readonly name: string; readonly data_tests?: Tests }[];
}

const sources = (readYaml('models/sources.yml') as { sources: [{ tables: Node[] }] }).sources[0].tables;
const models = (readYaml('models/models.yml') as { models: Node[] }).models;
/** The selections of dbt's own generic tests: rows that should not exist. */
function toStatement(
  kind: string,
  relation: string,
  { column_name: column = '', arguments: given = {} }: DbtTest,
) {
  const { to = '', field = '', values = [] } = given;
  switch (kind) {
    case 'not_null':
      return `select ${column} from ${relation} where ${column} is null`;
    case 'unique':
      return `select ${column} as unique_field, count(*) as n_records from ${relation} where ${column} is not null group by ${column} having count(*) > 1`;
    case 'relationships':
      return `with child as (select ${column} as from_field from ${relation} where ${column} is not null),
        parent as (select ${field} as to_field from ${relationOf(to)})
        select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null`;
    case 'accepted_values':
      return `with all_values as (select ${column} as value_field, count(*) as n_records from ${relation} group by ${column})
        select * from all_values where value_field not in (${values.map((one) => `'${one}'`).join(', ')})`;
    default:
      throw new Error(`dbt has no test ${kind}`);
  }
}

function testsOf(node: Node, relation: string): [name: string, statement: string][] {
  const toTests = (tests: Tests = [], column?: string) =>
    tests.flatMap((one) =>
      Object.entries(typeof one === 'string' ? { [one]: {} } : one).map(([kind, about]): [string, string] => [
        `${kind} of ${node.name}: ${about.name ?? column ?? ''}`,
        toStatement(kind, relation, column === undefined ? about : { ...about, column_name: column }),
      ]),
    );
  return [
    ...toTests(node.data_tests),
    ...(node.columns ?? []).flatMap((column) => toTests(column.data_tests, column.name)),
  ];
}

const worker = forAllTests(() => createTestWorker({ sandbox: { seed: 9 } }));
beforeAll(async () => {
  for (let round = 0; round < 2; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(60);
  }
  await syncSecondAccount(worker);
});

test('models.yml describes every model of the package, and no other', () => {
  expect(models.map(({ name }) => name).toSorted()).toEqual(modelPaths.map(nameOf).toSorted());
});

test('the models can be built one after the other, as views and tables', async () => {
  await buildModels(worker);
});

describe.each([
  ['sources', sources, 'safety'],
  ['models', models, TARGET],
] as const)('the %s of the package', (_, nodes, schema) => {
  test('every described column exists', async () => {
    for (const { name, columns = [] } of nodes)
      await worker.query(
        `select ${columns.map((one) => `"${one.name}"`).join(', ') || '1'} from ${schema}.${name} limit 0`,
      );
  });

  test('every dbt test passes', async () => {
    const tests = nodes.flatMap((node) => testsOf(node, `${schema}.${node.name}`));
    expect(tests.length).toBeGreaterThan(15);
    for (const [name, statement] of tests) expect(await worker.query(statement), name).toEqual([]);
  });
});

test('the sources have a test of every primary key, and of the foreign key of every child table', async () => {
  const kinds = (kind: string) =>
    sources.filter((node) => node.data_tests?.some((one) => typeof one !== 'string' && kind in one));
  // Citus's shards have constraints here too, but they are not in pg_class.
  const [keys] = await worker.query<{ count: number }>(
    `select count(*)::int as count from pg_constraint join pg_class c on c.oid = conrelid where contype = 'p' and connamespace = 'safety'::regnamespace`,
  );
  const [children] = await worker.query<{ count: number }>(
    `select count(distinct conrelid)::int as count from pg_constraint join pg_class c on c.oid = conrelid where contype = 'f' and connamespace = 'safety'::regnamespace`,
  );
  expect(kinds('unique').length).toBe(keys?.count);
  expect(kinds('relationships').length).toBe(children?.count);
});

test('the freshness of a source is that of the account with the oldest sync', async () => {
  const fresh = sources.filter(({ config }) => config?.loaded_at_field !== undefined);
  expect(fresh.map(({ name }) => name).toSorted()).toEqual([
    'equipment',
    'followups',
    'names',
    'resources',
    'training_employee_status',
    'training_records',
    'users',
  ]);
  await worker.query(
    `update safety_sync.stream_state set last_success_at = '2026-01-02T03:04:05Z' where account_id = 'south' and stream = 'equipments'`,
  );
  for (const { name, config } of fresh) {
    const [row] = await worker.query<{ age: number }>(
      `select extract(epoch from now() - max(${config?.loaded_at_field ?? ''}))::float8 as age from safety.${name}`,
    );
    if (name === 'equipment') expect(row?.age).toBeGreaterThan(86_400);
    else expect(row?.age).toBeLessThan(600);
  }
});

test('the figures of the marts equal those of the tables', async () => {
  const [marts] = await worker.query<Record<string, number>>(
    `select (select sum(raised)::int from ${TARGET}.fct_followups_monthly) as raised,
       (select sum(closed)::int from ${TARGET}.fct_followups_monthly) as closed,
       (select sum(overdue_followups)::int from ${TARGET}.dim_people) as overdue,
       (select sum(lacking_trainings)::int from ${TARGET}.dim_people) as lacking,
       (select sum(missing + expired)::int from ${TARGET}.fct_training_compliance) as lacking_by_training,
       (select sum(in_service)::int from ${TARGET}.fct_inspection_compliance) as schedules`,
  );
  const [tables] = await worker.query<Record<string, number>>(
    `select (select count(*)::int from safety.followups where _deleted_at is null) as raised,
       (select count(*)::int from safety.followups where _deleted_at is null and not is_open and resolved_at is not null) as closed,
       (select count(*)::int from safety.followups where _deleted_at is null and is_open and due_on < current_date
         and assignee_id <> '') as overdue,
       (select count(*)::int from safety.equipment_schedules s join safety.equipment e on e.account_id = s.account_id
         and e.id = s.equipment_id where e._deleted_at is null and e.is_in_service) as schedules`,
  );
  expect(marts).toMatchObject(tables ?? {});
  expect(marts?.['lacking']).toBe(marts?.['lacking_by_training']);
  expect(marts?.['lacking']).toBeGreaterThan(0);
});
