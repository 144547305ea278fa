/** The metrics of docs/dbt against tables, questions and report: each figure has one definition. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { readReport, type Report } from '../../src/pages/report/read-report.ts';
import { buildModels, readYaml, relationOf } from '../support/dbt-package.ts';
import { forAllTests } from '../support/lifetime.ts';
import { type MetricQuery, METRICS_FILE, metricSql } from '../support/metric-sql.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, syncSecondAccount } from '../support/worker.ts';

const file = METRICS_FILE.parse(readYaml('models/metrics.yml'));
const models = file.semantic_models.map((model) => [model.name, model] as const);

const worker = forAllTests(() =>
  createTestWorker({
    sandbox: { seed: 31, size: { followups: 300, employees: 80, equipment: 120, resources: 20, users: 40 } },
  }),
);
let report: Report;

beforeAll(async () => {
  for (let round = 0; round < 3; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(200);
  }
  await syncSecondAccount(worker);
  // Two inspections that were due five days ago: one in time, one three days late.
  await worker.query(`insert into safety.equipment_completions (account_id, equipment_id, schedule_id, completed_at, was_due_at)
    select account_id, equipment_id, schedule_id, now() - (5 + days_early) * interval '1 day', now() - interval '5 days'
    from (values (-3), (3)) e (days_early),
      (select * from safety.equipment_schedules where account_id = 'default' order by equipment_id, schedule_id limit 1) s
    on conflict do nothing`);
  await buildModels(worker);
  report = await readReport(worker.connection, 'default');
});

/** By group; the group of a metric without groups is null. Rows without a time belong to no group of time. */
async function read(metric: string, query: MetricQuery = {}): Promise<Map<string | null, number>> {
  const rows = await worker.query<{ by: string | null; value: number | string | null }>(
    metricSql(file, metric, relationOf, query),
  );
  return new Map(
    rows.flatMap(({ by, value }) =>
      query.by !== undefined && by === null ? [] : [[by, value === null ? Number.NaN : Number(value)]],
    ),
  );
}

const readOne = async (metric: string, accountId = 'default'): Promise<number | undefined> =>
  (await read(metric, { accountId })).get(null);
const inDefault = (by: string) => ({ by, accountId: 'default' });

type Row = Readonly<Record<string, unknown>>;
test.each(models)('the semantic model %s uses only existing columns', async (_, model) => {
  const elements = [...model.entities, ...model.dimensions].map((one) => one.expr ?? one.name);
  await worker.query(`select ${elements.join(', ')} from ${relationOf(model.model)} limit 0`);
});

test.each(file.metrics.map((one) => [one.name, one.type] as const))(
  'the metric %s has a value in total, by account and by month',
  async (name, type) => {
    const isShare = (value: number) => type !== 'ratio' || (value >= 0 && value <= 1);
    const all = (await read(name)).get(null) ?? 0;
    expect(all).toBeGreaterThan(0);
    const accounts = await read(name, { by: 'account' });
    expect([...accounts.keys()].toSorted()).toEqual(['default', 'south']);
    const months = await read(name, { by: 'metric_time__month' });
    expect([...months.keys()].every((month) => /^\d{4}-\d\d-01$/.test(month ?? ''))).toBe(true);
    expect(
      [all, ...accounts.values(), ...months.values()].filter((one) => !Number.isNaN(one)).every(isShare),
    ).toBe(true);
  },
);

describe('metrics and tables', () => {
  const TODAY = `(now() at time zone 'UTC')::date`;
  const DAYS = `greatest((resolved_at at time zone 'UTC')::date - (created_at at time zone 'UTC')::date, 0)`;
  const OF_FOLLOWUPS = `from safety.followups where account_id = 'default' and _deleted_at is null`;
  const OF_EMPLOYEES = `from safety.training_employee_status where account_id = 'default' and _deleted_at is null`;
  const OF_EQUIPMENT = `from safety.equipment where account_id = 'default' and _deleted_at is null and is_in_service`;
  const IS_TRAINED = `status in ('active', 'expiring')`;

  test.each([
    ['open_followups', `count(*) filter (where is_open) ${OF_FOLLOWUPS}`],
    ['overdue_followups', `count(*) filter (where is_open and due_on < ${TODAY}) ${OF_FOLLOWUPS}`],
    ['raised_followups', `count(*) ${OF_FOLLOWUPS}`],
    ['days_to_close', `percentile_cont(0.5) within group (order by ${DAYS}) ${OF_FOLLOWUPS} and not is_open`],
    [
      'days_to_close_slowest_tenth',
      `percentile_cont(0.9) within group (order by ${DAYS}) ${OF_FOLLOWUPS} and not is_open`,
    ],
    [
      'trained',
      `count(*) filter (where ${IS_TRAINED})::float8 / count(*) ${OF_EMPLOYEES} and (${IS_TRAINED} or status = 'incomplete')`,
    ],
    ['expired_equipment', `count(*) filter (where status = 'expired') ${OF_EQUIPMENT}`],
    [
      'followups_done_when_due',
      `avg(done_in_time::int) from safety.due_followups where account_id = 'default'`,
    ],
    [
      'inspections_done_when_due',
      `avg(done_in_time::int) from safety.due_inspections where account_id = 'default'`,
    ],
    [
      'valid_inspections',
      `count(*) filter (where s.status in ('uptodate', 'expiring'))::float8 / count(*)
       from safety.equipment_schedules s where exists (
         select ${OF_EQUIPMENT} and id = s.equipment_id and account_id = s.account_id)`,
    ],
  ])('the metric %s equals a computation from the tables', async (metric, selected) => {
    const [row = {}] = await worker.query<Row>(`select ${selected}`);
    expect(await readOne(metric)).toBeCloseTo(Number(Object.values(row)[0]), 6);
  });
});

describe('metrics, report and docs/questions.md', () => {
  test('the metrics equal the figures at the head of the report', async () => {
    const { figures } = report;
    const trained = figures.compliant / figures.needing_training;
    for (const suffix of ['', '_by_day']) {
      expect(await readOne(`overdue_followups${suffix}`)).toBe(figures.overdue);
      expect(await readOne(`open_followups${suffix}`)).toBe(figures.open);
      expect(await readOne(`expired_equipment${suffix}`)).toBe(figures.expired_equipment);
    }
    // The metric counts people who have left, too.
    expect(figures.leavers_in_training === 0).toBe((await readOne('trained')) === trained);
  });

  const questions = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
  const answerTo = async (title: string): Promise<Row[]> => {
    const [, asked = ''] = questions.slice(questions.indexOf(`. ${title}`)).split(/```(?:sql\n)?/);
    return await worker.query<Row>(asked);
  };

  test.each([
    ['What share was closed by its due day?', 'closed_in_time'],
    ['What share of those who need training is compliant?', 'trained'],
  ])('the answer to "%s" equals its metric', async (title, metric) => {
    const [row = {}] = await answerTo(title);
    const share = (await read(metric)).get(null) ?? 0;
    expect(Math.round(share * 1000) / 10).toBe(Number(Object.values(row)[0]));
  });

  test.each([
    ['How old are the open ones?', 'open_followups', 'age_bucket', (row: Row) => row['open']],
    [
      'What share was closed in time, month',
      'closed_followups',
      'metric_time__month',
      (row: Row) => row['closed'],
    ],
    [
      'How does each training stand?',
      'valid_trainings',
      'training_label',
      (row: Row) => (Number(row['complete']) + Number(row['expiring'])) / Number(row['required']),
    ],
    [
      'How many inspections were done in time',
      'inspected_in_time',
      'metric_time__month',
      (row: Row) => Number(row['in_time']) / Number(row['due_day_known']),
    ],
  ])('the answer to "%s" equals its metric in each group', async (title, metric, by, valueOf) => {
    const rows = await answerTo(title);
    expect(rows.length).toBeGreaterThan(1);
    const found = await read(metric, { by });
    for (const row of rows) {
      const [wanted, share] = [Number(valueOf(row)), found.get(String(Object.values(row)[0])) ?? 0];
      expect(Number.isNaN(wanted) ? Number.isNaN(share) : Math.abs(share - wanted) < 1e-6, title).toBe(true);
    }
  });

  test('the metrics equal the figures of the aggregates', async () => {
    const [figures] = await worker.query<Record<string, number>>(
      `select (select sum(closed_in_time)::float8 / sum(closed_with_due_day) from dbt_test.agg_followups_monthly) as closed_in_time,
         (select sum(valid)::float8 / sum(required) from dbt_test.agg_training_compliance) as valid_trainings,
         (select sum(valid)::float8 / sum(in_service) from dbt_test.agg_inspection_compliance) as valid_inspections`,
    );
    for (const [metric, value] of Object.entries(figures ?? {}))
      expect((await read(metric)).get(null), metric).toBe(value);
  });
});

test('a metric at the end of a month has the last day of each month, and today', async () => {
  const days = await worker.query<{ date: string; followups: string }>(
    `select date::text as date, followups from safety.followup_daily where account_id = 'default' and status = 'overdue' order by date`,
  );
  const months = new Map(days.map(({ date, followups }) => [`${date.slice(0, 7)}-01`, Number(followups)]));
  expect(months.size).toBeGreaterThan(12);
  expect(await read('overdue_followups_by_day', inDefault('metric_time__month'))).toEqual(months);
});

test('the diagram of the star in docs/bi.md has the keys and cardinalities of the data', async () => {
  const drawn = readFileSync(new URL('../../docs/bi.md', import.meta.url), 'utf8');
  const keys = new Map(
    [...drawn.matchAll(/^ {2}(\w+) \{\n {4}\w+ (\w+) PK$/gm)].map(([, relation = '', key = '']) => [
      relation,
      key,
    ]),
  );
  const relations = [...drawn.matchAll(/^ {2}(\w+) (\|\||\|o)--o\{ (\w+) : "(.*)"$/gm)];
  expect(relations.length).toBeGreaterThan(12);
  for (const [line, dimension = '', side, fact = '', columns = ''] of relations) {
    const key = keys.get(dimension) ?? '';
    for (const column of columns.split(', ')) {
      const [row] = await worker.query<Record<string, boolean>>(
        `select (select count(*) = count(distinct ${key}) from safety.${dimension}) as is_unique,
           exists (select from safety.${fact} where ${column} is null) as has_nulls,
           exists (select ${column} from safety.${fact} where ${column} is not null
             except select ${key} from safety.${dimension}) as lacks_rows`,
      );
      expect(row, line).toMatchObject({
        is_unique: true,
        ...(side === '||' ? { has_nulls: false, lacks_rows: false } : {}),
        ...(dimension === 'people' ? { lacks_rows: false } : {}),
      });
    }
  }
});
