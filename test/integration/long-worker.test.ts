import { expect, it } from 'vitest';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { startAppFixture } from '../support/app-fixture.ts';
import { startHookServer } from '../support/hook-server.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { createRole } from '../support/test-database.ts';
import { createTestWorker } from '../support/world.ts';
import { inProof } from '../support/proof.ts';

const worker = forEachTest(() => createTestWorker());

const ready = async (url: string) => {
  const answer = await fetch(`${url}/readyz`);
  return ((await answer.json()) as { reasons: string[] }).reasons;
};

const metric = async (url: string, pattern: RegExp): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
};

it('refused credentials are reported with the next try, and stop all requests', async () => {
  worker.sandbox.access.set('inactive');
  const { url } = await startAppFixture(worker, { env: { SYNC_CRON: '* * * * * *' } });
  await expect
    .poll(() => ready(url))
    .toContainEqual(
      expect.stringMatching(/^The service refuses the credentials \(token_inactive\)\..* Next try in /),
    );
  // Every stream is held back at each tick.
  await expect
    .poll(() => metric(url, /reason="credentials_refused"[^}]*\} (\d+)$/gm))
    .toBeGreaterThanOrEqual(8);
  // account.info, and one of each stream that began before the first refusal.
  expect(worker.sandbox.requests.length).toBeLessThanOrEqual(1 + STREAM_NAMES.length);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await (await fetch(url)).text()).toContain('The service refuses the credentials.');
  expect(await metric(url, /^safety_sync_credentials_refused\{[^}]*\} (\d)$/gm)).toBe(1);
});

inProof(() => {
  it('if no run can connect to the database, an outage with its cause and beginning is reported, although open connections still work', async () => {
    const hook = untilTestEnds(await startHookServer());
    const url = new URL(worker.databaseUrl);
    const role = await createRole(worker, `login password 'right' in role current_user`);
    Object.assign(url, { username: role, password: 'right' });
    await worker.runAll();
    const { url: page } = await startAppFixture(worker, {
      env: {
        DATABASE_URL: url.href,
        SYNC_CRON: '* * * * * *',
        ALERT_WEBHOOK_URL: hook.url,
        ALERT_AFTER_MINUTES: '0',
      },
      everyMs: 100,
    });
    await expect.poll(() => ready(page)).toEqual([]);
    const causes = [
      [
        'alter role ROLE connection limit 1',
        'alter role ROLE connection limit -1',
        'too many connections for role "ROLE" (53300)',
        'Raise max_connections',
      ],
      [
        'alter role ROLE set default_transaction_read_only = on',
        'alter role ROLE reset default_transaction_read_only',
        'in a read-only transaction',
        'Point DATABASE_URL at the primary server',
      ],
    ] as const;
    for (const [break_, mend, cause, advice] of causes) {
      hook.texts.length = 0;
      await worker.query(break_.replace('ROLE', role));
      await expect.poll(() => ready(page)).toEqual([expect.stringContaining(cause.replace('ROLE', role))]);
      const shown = await (await fetch(page)).text();
      expect(shown).toContain('The database is unreachable');
      expect(shown).toContain(advice);
      await expect
        .poll(() => hook.texts)
        .toEqual([expect.stringMatching(/^✗ The database is unreachable \(database_unreachable\)/)]);
      await worker.query(mend.replace('ROLE', role));
      await expect.poll(() => ready(page)).toEqual([]);
      // At least once.
      await expect.poll(() => hook.texts.at(-1)).toMatch(/^✓/);
    }
  });
});
