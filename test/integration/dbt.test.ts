/** The dbt package of docs/dbt without dbt: its models and tests as the statements that dbt makes of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { forAllTests } from '../support/lifetime.ts';
import { createSyncedWorker, syncSecondAccount } from '../support/world.ts';

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
  readonly data_tests?: Tests;
  readonly columns?: readonly { readonly name: string; readonly data_tests?: Tests }[];
}

const FOLDER = new URL('../../docs/dbt/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FOLDER), 'utf8');
const readYaml = (path: string): unknown => parse(read(path));

/** Where dbt would build. */
const TARGET = 'dbt_test';

const sources = (readYaml('models/sources.yml') as { sources: [{ tables: Node[] }] }).sources[0].tables;
const models = (readYaml('models/models.yml') as { models: Node[] }).models;
const modelPaths = readdirSync(new URL('models/', FOLDER), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sql'))
  .map((path) => path.replaceAll('\\', '/'));
const nameOf = (path: string): string => path.replace(/^.*\/|\.sql$/g, '');

function relationOf(call: string): string {
  const [, kind, first = '', second = ''] = /^(ref|source)\('(\w+)'(?:, '(\w+)')?\)$/.exec(call) ?? [];
  if (kind === 'ref' && modelPaths.some((path) => nameOf(path) === first)) return `${TARGET}.${first}`;
  if (kind === 'source' && first === 'safety' && sources.some(({ name }) => name === second))
    return `safety.${second}`;
  throw new Error(`no such relation: ${call}`);
}

/** Fills in relations, and variables by their defaults. */
const render = (sql: string): string =>
  sql.replace(
    /\{\{ (.*?) \}\}/g,
    (_, call: string) => /^var\('\w+', '(\w+)'\)$/.exec(call)?.[1] ?? relationOf(call),
  );

/** Those that others refer to first. */
function inOrder(): string[] {
  const built: string[] = [];
  const build = (path: string): void => {
    if (built.includes(path)) return;
    for (const [, name] of read(`models/${path}`).matchAll(/ref\('(\w+)'\)/g))
      for (const other of modelPaths.filter((one) => nameOf(one) === name)) build(other);
    built.push(path);
  };
  for (const path of modelPaths) build(path);
  return built;
}

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

const worker = forAllTests(() => createSyncedWorker());
beforeAll(async () => {
  worker.sandbox.live.step(60);
  await worker.syncAll();
  await syncSecondAccount(worker);
});

test('models.yml describes every model of the package, and no other', () => {
  expect(models.map(({ name }) => name).toSorted()).toEqual(modelPaths.map(nameOf).toSorted());
});

test('the models can be built one after the other, as views and tables', async () => {
  await worker.query(`create schema ${TARGET}`);
  for (const path of inOrder()) {
    const kind = path.startsWith('aggregates/') ? 'table' : 'view';
    await worker.query(`create ${kind} ${TARGET}.${nameOf(path)} as (${render(read(`models/${path}`))})`);
  }
});

test('the semantic models use only existing columns', async () => {
  type Element = { readonly name: string; readonly expr?: string };
  type Model = { readonly model: string } & Readonly<
    Record<'entities' | 'dimensions' | 'measures', readonly Element[] | undefined>
  >;
  const { semantic_models: metrics } = readYaml('models/metrics.yml') as { semantic_models: Model[] };
  for (const { model, entities = [], dimensions = [], measures = [] } of metrics) {
    const columns = [...entities, ...dimensions, ...measures].map(({ name, expr = name }) => expr);
    await worker.query(`select ${columns.join(', ')} from ${relationOf(model)} limit 0`);
  }
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

test('the aggregates equal the tables', async () => {
  const [aggregates] = await worker.query<Record<string, number>>(
    `select (select sum(raised)::int from ${TARGET}.agg_followups_monthly) as raised,
       (select sum(closed)::int from ${TARGET}.agg_followups_monthly) as closed,
       (select sum(overdue_followups)::int from ${TARGET}.agg_people) as overdue,
       (select sum(lacking_trainings)::int from ${TARGET}.agg_people) as lacking,
       (select sum(missing + expired)::int from ${TARGET}.agg_training_compliance) as lacking_by_training,
       (select sum(in_service)::int from ${TARGET}.agg_inspection_compliance) as schedules`,
  );
  const [tables] = await worker.query<Record<string, number>>(
    `select (select count(*)::int from safety.followups where _deleted_at is null) as raised,
       (select count(*)::int from safety.followups where _deleted_at is null and not is_open and resolved_at is not null) as closed,
       (select count(*)::int from safety.followups where _deleted_at is null and is_open and due_on < current_date
         and assignee_id <> '') as overdue,
       (select count(*)::int from safety.equipment_schedules s join safety.equipment e on e.account_id = s.account_id
         and e.id = s.equipment_id where e._deleted_at is null and e.is_in_service) as schedules`,
  );
  expect(aggregates).toMatchObject(tables ?? {});
  expect(aggregates?.['lacking']).toBe(aggregates?.['lacking_by_training']);
  expect(aggregates?.['lacking']).toBeGreaterThan(0);
});
