/** `/report` and its downloads, as the worker serves them. */
import { expect, test } from 'vitest';
import { LIST_NAMES } from '../../src/pages/report/lists.ts';
import { systemClock } from '../../src/shared/time.ts';
import { startAppFixture } from '../support/app-fixture.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { forAllTests } from '../support/lifetime.ts';
import { casesOf } from '../support/proof.ts';
import { createSyncedWorker } from '../support/world.ts';

const worker = forAllTests(() => createSyncedWorker());

const OFF = { SYNC_CRON: 'off', RECONCILE_CRON: 'off' };

async function serve(env: Readonly<Record<string, string>> = { HTTP_REPORT: 'true' }) {
  let passedMs = 0;
  const clock = {
    now: () => systemClock.now() + passedMs,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
  };
  const { url } = await startAppFixture(worker, { env: { ...OFF, ...env }, clock });
  return {
    get: (path: string) => fetch(`${url}${path}`),
    pass: (ms: number) => void (passedMs += ms),
  };
}

test('with HTTP_REPORT alone the worker serves the page, its workbook, its lists as CSV and its figures as JSON', async () => {
  expect((await (await serve({})).get('/report')).status).toBe(404);
  const { get } = await serve();
  const page = await get('/report');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const html = await page.text();
  expect(html).toContain('<h1>Safety report</h1>');
  expect(html).toContain('<a href="report.xlsx">workbook</a>');

  const csv = await get('/report/people.csv');
  expect([csv.headers.get('content-type'), csv.headers.get('content-disposition')]).toEqual([
    'text/csv; charset=utf-8',
    'attachment; filename="people.csv"',
  ]);
  const files = [...html.matchAll(/href="(report[./][^"]*)"/g)].map(([, href = '']) => href);
  expect(files).toEqual(
    expect.arrayContaining(['report.xlsx', ...LIST_NAMES.map((list) => `report/${list}.csv`)]),
  );
  // Each is made of a report of its own.
  for (const file of casesOf({ few: ['report.xlsx'], all: files }))
    expect((await get(`/${file}`)).status).toBe(200);
  const [, area = '', name = ''] = /href="(report\?area=field_office[^"]*)"[^>]*>([^<]*)</.exec(html) ?? [];
  expect(await (await get(`/${area}`)).text()).toContain(`<h1>Office ${name}</h1>`);
});

test('a report is made at most once in five minutes', async () => {
  const { get, pass } = await serve();
  const page = async () => await (await get('/report')).text();
  const first = await page();
  await worker.query('update safety.followups set is_open = not is_open');
  expect(await Promise.all([page(), page()])).toEqual([first, first]);
  pass(4 * 60_000);
  expect(await page()).toBe(first);
  pass(61_000);
  expect(await page()).not.toBe(first);
});

test('with several accounts a report is of one that the address names', async () => {
  const { get } = await serve({
    HTTP_REPORT: 'true',
    SAFETY_BASE_URL: '',
    SAFETY_TOKEN: '',
    SAFETY_EQUIPMENT_TYPES: '',
    SAFETY_ACCOUNTS_FILE: await writeAccountsFile([
      entryFor('default', worker.sandbox),
      entryFor('north', worker.sandbox),
    ]),
  });
  const none = await get('/report');
  expect([none.status, await none.json()]).toEqual([
    404,
    { error: 'a report is of one account', choose: ['/report?account=default', '/report?account=north'] },
  ]);
  const html = await (await get('/report?account=default')).text();
  expect(html).toContain(`Account ${worker.sandbox.store.account['name']}`);
  expect(html).toContain('href="report.xlsx?account=default"');
});
