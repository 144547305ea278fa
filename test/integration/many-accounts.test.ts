import { expect, it } from 'vitest';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { type AppFixture, startAppFixture } from '../support/app-fixture.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { casesOf, inProof } from '../support/proof.ts';
import { createTestWorker, SMALL_SANDBOX } from '../support/world.ts';

const NEVER = '0 0 1 1 *';
const EVERY_SECOND = '* * * * * *';

const worker = forEachTest(() => createTestWorker());
const addSandbox = async (seed: number) => untilTestEnds(await createSandbox({ size: SMALL_SANDBOX, seed }));

/** A worker of the accounts of the file, and of no other. */
const start = async (entries: readonly object[], env: Record<string, string> = {}): Promise<AppFixture> =>
  await startAppFixture(worker, {
    env: {
      SAFETY_BASE_URL: '',
      SAFETY_TOKEN: '',
      SAFETY_EQUIPMENT_TYPES: '',
      SAFETY_ACCOUNTS_FILE: await writeAccountsFile(entries),
      ...env,
    },
    everyMs: 200,
  });

const json = async (url: string) => (await (await fetch(url)).json()) as Record<string, unknown>;

const succeeded = (accountId: string) =>
  worker.query<{ stream: string; runs: number }>(
    `select stream, count(*)::int as runs from safety_sync.runs
     where account_id = '${accountId}' and status = 'succeeded' group by stream order by stream`,
  );
const streamsOf = async (accountId: string) => (await succeeded(accountId)).map(({ stream }) => stream);
const ALL = STREAM_NAMES.toSorted();

it('several accounts are synced into one warehouse, each with its service, token, types and schedule', async () => {
  const south = await addSandbox(5);
  south.access.set('active', 'south-only-token');
  await start(
    [
      entryFor('north', worker.sandbox, { reporting_timezone: 'Asia/Tokyo' }),
      entryFor('south', south, { token: 'south-only-token', schedule: { all: NEVER, users: 'off' } }),
    ],
    { SYNC_CRON: NEVER },
  );
  await expect.poll(() => streamsOf('north')).toEqual(ALL);
  await expect.poll(() => streamsOf('south')).toEqual(ALL.filter((name) => name !== 'users'));
  const rows = await worker.query(
    `select account_id, count(*)::int as count, count(distinct equipment_type_id)::int as types
       from safety.equipment group by 1 order by 1`,
  );
  expect(rows).toMatchObject([
    { account_id: 'north', count: 30 },
    { account_id: 'south', count: 30 },
  ]);
  expect(await worker.query('select account_id, timezone from safety.reporting_settings order by 1')).toEqual(
    [
      { account_id: 'north', timezone: 'Asia/Tokyo' },
      { account_id: 'south', timezone: 'UTC' },
    ],
  );
  expect(new Set(south.requests.map(({ method }) => method))).not.toContain('users.list');
});

inProof(() => {
  it(
    'if one account is refused, one unreachable and one has a wrong URL, the fourth account stays healthy',
    { timeout: 120_000 },
    async () => {
      const refused = await addSandbox(2);
      refused.access.set('inactive');
      const unreachable = await addSandbox(3);
      unreachable.faults.set({ reset: 1 });
      const { url } = await start(
        [
          entryFor('well', worker.sandbox),
          entryFor('refused', refused),
          entryFor('unreachable', unreachable),
          entryFor('misled', worker.sandbox, { base_url: `${worker.sandbox.url}/nowhere` }),
        ],
        { SYNC_CRON: EVERY_SECOND, RETRY_ATTEMPTS: '2' },
      );
      await expect
        .poll(
          async () =>
            (await succeeded('well')).filter(({ runs }) => runs >= casesOf({ few: 2, all: 3 })).length,
        )
        .toBeGreaterThanOrEqual(3);
      const readStates = async () => {
        const { accounts } = (await json(`${url}/api/status`)) as {
          accounts: { account_id: string; is_ready: boolean; not_ready: string[] }[];
        };
        return new Map(accounts.map((one) => [one.account_id, one]));
      };
      await expect
        .poll(async () => [...(await readStates()).values()].filter((one) => one.is_ready))
        .toMatchObject([{ account_id: 'well' }]);
      const states = await readStates();
      expect(states.get('refused')?.not_ready[0]).toMatch(
        /^The service refuses the credentials \(token_inactive/,
      );
      expect(states.get('unreachable')?.not_ready).toEqual([
        expect.stringMatching(
          /^The service cannot be used.* \(network_error.*Not fresh because of it.* It has been so/,
        ),
      ]);
      // The refused account alone is left alone.
      expect(refused.requests.length).toBeLessThanOrEqual(STREAM_NAMES.length);

      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect(await json(`${url}/readyz?account=well`)).toMatchObject({ ready: true, reasons: [] });
      expect((await fetch(`${url}/readyz?account=refused`)).status).toBe(503);
      const html = await (await fetch(url)).text();
      expect(html).toContain('3 of 4 accounts are unhealthy.');
      expect(html.indexOf('?account=refused')).toBeLessThan(html.indexOf('?account=well'));
      const one = await (await fetch(`${url}/?account=well`)).text();
      expect(one).toContain('Everything is fresh.');
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toMatch(/^safety_sync_credentials_refused\{account="refused"\} 1$/m);
      expect(metrics).toMatch(/^safety_sync_credentials_refused\{account="well"\} 0$/m);
      expect(metrics).toMatch(/^safety_sync_service_outage\{account="unreachable"\} 1$/m);
    },
  );
});
