/** The dashboard for the business: its queries as a reader. */
import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../src/shared/time.ts';
import { forAllTests } from '../support/lifetime.ts';
import { createSyncedWorker, syncSecondAccount } from '../support/world.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets: readonly { rawSql: string }[];
}

const dashboard = JSON.parse(read('docs/operations/grafana-business.json')) as {
  readonly panels: readonly Panel[];
};

/** As Grafana fills it in for a dashboard of the last year. */
function fill(rawSql: string): string {
  const [from, to] = [Date.now() - 365 * DAY_MS, Date.now()].map((ms) => new Date(ms).toISOString());
  const filled = rawSql
    .replaceAll('$__timeFrom()', `'${from ?? ''}'`)
    .replaceAll('$__timeTo()', `'${to ?? ''}'`)
    .replaceAll('${account:sqlstring}', `'default','south'`);
  expect(filled).not.toContain('$');
  return filled;
}

type Row = Readonly<Record<string, unknown>>;
const worker = forAllTests(() => createSyncedWorker());

async function readAsReader(text: string): Promise<readonly Row[]> {
  return await worker.connection.db.transaction(async (tx) => {
    await tx.execute(sql`set local role safety_reader`);
    return await tx.execute<Row>(sql.raw(text));
  });
}

async function readPanel(title: string): Promise<readonly Row[]> {
  const [target] = dashboard.panels.find((panel) => panel.title === title)?.targets ?? [];
  return await readAsReader(fill(target?.rawSql ?? ''));
}

beforeAll(async () => {
  worker.sandbox.live.step(60);
  await worker.syncAll();
  await syncSecondAccount(worker);
});

test.each(dashboard.panels.map(({ title, type }) => [title, type]))(
  'the query of the panel "%s" returns rows to a reader, with the account in a table',
  async (title, type) => {
    const [row = {}] = await readPanel(title);
    expect(Object.keys(row)[0]).toMatch(
      type === 'table' ? /^account$/ : type === 'timeseries' ? /^time$/ : /./,
    );
  },
);
