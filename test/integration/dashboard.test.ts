/** The dashboard for the business: its queries as a reader, and its figures against the metrics. */
import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { DAY_MS } from '../../src/shared/time.ts';
import { buildModels, readYaml, relationOf } from '../support/dbt-package.ts';
import { forAllTests } from '../support/lifetime.ts';
import { METRICS_FILE, metricSql } from '../support/metric-sql.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, syncSecondAccount } from '../support/worker.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface DataSource {
  readonly type: string;
  readonly uid: string;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly type: string;
  readonly datasource: DataSource;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets: readonly { datasource: DataSource; format: string; rawQuery: boolean; rawSql: string }[];
  readonly options: { readonly xField?: string };
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string;
  readonly current: { readonly value: string };
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

const dashboard = JSON.parse(read('docs/operations/grafana-business.json')) as Dashboard;
const variable = (name: string) => dashboard.templating.list.find((one) => one.name === name);

/** Each panel with the columns of its query. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  'Open follow-ups': ['open'],
  'Overdue follow-ups': ['overdue'],
  'Closed in time, last 30 days': ['closed_in_time'],
  Trained: ['trained'],
  'Valid inspections': ['valid'],
  'Oldest sync': ['age'],
  'Backlog at the end of each day': ['time', 'not yet due', 'overdue'],
  'Closed in time, month by month': ['month', 'closed in time'],
  'Who has the most overdue follow-ups': ['person', 'overdue', 'over a month', 'oldest due day'],
  'Overdue follow-ups, longest first': ['id', 'form', 'person', 'due day', 'days overdue'],
  'Due in the next seven days': ['id', 'form', 'person', 'due day'],
  'Required trainings': ['training', 'required', 'missing', 'expired', 'expiring', 'percent valid'],
  'Trainings that expire within sixty days': ['employee', 'training', 'expires', 'days left'],
  'Equipment in service without a valid inspection': ['type', 'title', 'serial number', 'id'],
  'Inspections due in the next thirty days': ['title', 'inspection', 'expires', 'days left'],
  'Inspections done, month by month': ['month', 'in time', 'late', 'due day unknown'],
};

/** As Grafana fills it in for a dashboard of the last year. */
function fill(rawSql: string, accounts: readonly string[] = ['default', 'south']): string {
  const [from, to] = [Date.now() - 365 * DAY_MS, Date.now()].map((ms) => new Date(ms).toISOString());
  const filled = rawSql
    .replace(/\$__timeFilter\(([\w.]+)\)/g, `$1 between '${from ?? ''}' and '${to ?? ''}'`)
    .replaceAll('${account:sqlstring}', accounts.map((one) => `'${one}'`).join(','));
  expect(filled).not.toContain('$');
  return filled;
}

type Row = Readonly<Record<string, unknown>>;
const worker = forAllTests(() =>
  createTestWorker({
    sandbox: { seed: 31, size: { followups: 500, employees: 80, equipment: 120, resources: 20, users: 40 } },
  }),
);

async function readAsReader(text: string): Promise<readonly Row[]> {
  return await worker.connection.db.transaction(async (tx) => {
    await tx.execute(sql`set local role safety_reader`);
    return await tx.execute<Row>(sql.raw(text));
  });
}

async function readPanel(title: string, accounts?: readonly string[]): Promise<readonly Row[]> {
  const [target] = dashboard.panels.find((panel) => panel.title === title)?.targets ?? [];
  return await readAsReader(fill(target?.rawSql ?? '', accounts));
}

beforeAll(async () => {
  for (let round = 0; round < 2; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(200);
  }
  await syncSecondAccount(worker);
});

describe('the dashboard file', () => {
  test('the dashboard has the listed panels without overlap, each with a query of the warehouse', () => {
    expect(dashboard.panels.map(({ title }) => title)).toEqual(Object.keys(COLUMNS));
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const taken = new Set<string>();
    for (const { title, type, datasource, targets, gridPos, options } of dashboard.panels) {
      expect(['stat', 'timeseries', 'barchart', 'table'], title).toContain(type);
      expect(datasource, title).toEqual({ type: 'grafana-postgresql-datasource', uid: '${warehouse}' });
      expect(targets, title).toMatchObject([{ datasource, format: 'table', rawQuery: true }]);
      if (options.xField !== undefined) expect(COLUMNS[title]).toContain(options.xField);
      if (type === 'timeseries') expect(COLUMNS[title]).toContain('time');
      const { x, y, w, h } = gridPos;
      expect(x + w, title).toBeLessThanOrEqual(24);
      for (let cell = 0; cell < w * h; cell += 1) {
        const place = `${x + (cell % w)},${y + Math.floor(cell / w)}`;
        expect(taken.has(place), `${title} at ${place}`).toBe(false);
        taken.add(place);
      }
    }
  });

  test('every question in the description of a panel is in docs/questions.md', () => {
    const questions = read('docs/questions.md');
    const numbers = dashboard.panels.flatMap(({ description }) =>
      [...description.matchAll(/\d+/g)].map(([number]) => number),
    );
    expect(numbers.length).toBeGreaterThan(12);
    expect(numbers.filter((number) => !questions.includes(`\n### ${number}. `))).toEqual([]);
  });

  test('Compose mounts the dashboard beside the one for operators, with a data source that reads as a member of safety_reader', () => {
    const compose = parse(read('docker-compose.yml'), { merge: true }) as {
      services: { grafana: { volumes: string[]; secrets: string[] } };
      secrets: Record<string, unknown>;
    };
    const { volumes, secrets } = compose.services.grafana;
    const mounted = volumes.filter((one) => one.includes(':/var/lib/grafana/dashboards/'));
    expect(mounted.map((one) => one.split(':')[0])).toEqual([
      './docs/operations/grafana-dashboard.json',
      './docs/operations/grafana-business.json',
    ]);
    const other = JSON.parse(read('docs/operations/grafana-dashboard.json')) as Dashboard;
    expect([dashboard.uid, dashboard.title]).not.toContain(other.uid);
    const { datasources } = parse(read('docs/operations/provisioning/datasource.yml')) as {
      datasources: (DataSource & { user?: string; secureJsonData?: { password: string } })[];
    };
    const source = datasources.find(({ uid }) => uid === variable('warehouse')?.current.value);
    expect(source?.type).toBe(variable('warehouse')?.query);
    const secret =
      /^\$__file\{\/run\/secrets\/(\w+)\}$/.exec(source?.secureJsonData?.password ?? '')?.[1] ?? '';
    expect(secrets).toContain(secret);
    expect(Object.keys(compose.secrets)).toContain(secret);
    expect(read('docker-compose.yml')).toContain(
      `create role ${source?.user ?? ''} login in role safety_reader password '$(cat secrets/${secret})'`,
    );
  });
});

test('the variable for the account lists the accounts of the warehouse', async () => {
  const rows = await readAsReader(variable('account')?.query ?? '');
  expect(rows.map((row) => row['account_id'])).toEqual(['default', 'south']);
});

test.each(dashboard.panels.map(({ title }) => title))(
  'the query of the panel "%s" returns rows with the listed columns to a reader',
  async (title) => {
    const rows = await readPanel(title);
    expect(rows.length).toBeGreaterThan(0);
    expect(Object.keys(rows[0] ?? {})).toEqual(COLUMNS[title]);
  },
);

test('the figures of the panels equal the metrics, for one account and for all accounts', async () => {
  await buildModels(worker);
  const file = METRICS_FILE.parse(readYaml('models/metrics.yml'));
  const metrics = {
    'Open follow-ups': 'open_followups',
    'Overdue follow-ups': 'overdue_followups',
    Trained: 'trained',
    'Valid inspections': 'valid_inspections',
  };
  for (const [title, metric] of Object.entries(metrics)) {
    for (const accountId of ['default', undefined]) {
      const [row = {}] = await readPanel(title, accountId === undefined ? undefined : [accountId]);
      const query = accountId === undefined ? {} : { accountId };
      const [wanted] = await worker.query<Row>(metricSql(file, metric, relationOf, query));
      expect(Number(Object.values(row)[0]), title).toBe(Number(wanted?.['value']));
    }
  }
  const months = await worker.query<Row>(
    metricSql(file, 'closed_in_time', relationOf, { by: 'metric_time__month' }),
  );
  const byMonth = new Map(months.map((row) => [String(row['by']).slice(0, 7), row['value']]));
  // The first month of the year that the dashboard shows is not a complete one.
  const shown = (await readPanel('Closed in time, month by month')).slice(1);
  expect(shown.length).toBeGreaterThan(6);
  for (const row of shown) expect(row['closed in time']).toBe(byMonth.get(String(row['month'])));
  const [lately] = await worker.query<Row>(
    `select count(*) filter (where resolved_on <= due_on)::float8 / count(*) as share from (
       select (resolved_at at time zone 'UTC')::date as resolved_on, due_on from safety.followups
       where _deleted_at is null and not is_open and due_on is not null) f
     where resolved_on > (now() at time zone 'UTC')::date - 30`,
  );
  const [panel] = await readPanel('Closed in time, last 30 days');
  expect(panel?.['closed_in_time']).toBe(lately?.['share']);
});
