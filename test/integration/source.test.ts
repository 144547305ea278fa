/** An account belongs to one service: another one is refused until somebody says what it is. */
import { describe, expect, it } from 'vitest';
import { createSourceGuard } from '../../src/engine/sync/source.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { startAppFixture } from '../support/app-fixture.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { createTestWorker, SMALL_SANDBOX } from '../support/worker.ts';

const fixture = forEachTest(() => createCliFixture());
const other = async (options: SandboxOptions = {}) =>
  untilTestEnds(await createSandbox({ size: SMALL_SANDBOX, ...options }));

/** The configuration of the fixture's account with another service. */
const at = ({ url, token, equipmentTypes }: Sandbox) => ({
  SAFETY_BASE_URL: url,
  SAFETY_TOKEN: token,
  SAFETY_EQUIPMENT_TYPES: equipmentTypes.join(','),
});
const methodsOf = ({ requests }: Sandbox) => requests.map(({ method }) => method);
const readState = async () =>
  await fixture.query(
    `select account_id, stream, watermark, complete_until from safety_sync.stream_state order by 1, 2`,
  );
const readLive = async () =>
  await fixture.query(`select id from safety.followups where _deleted_at is null order by id`);
const idsOf = ({ store }: Sandbox) =>
  [...store.followups.values()].map(({ id }) => ({ id })).sort((one, two) => (one.id < two.id ? -1 : 1));

describe('another service', () => {
  it(
    'after practice with one service every verb that reads refuses another one, before a list is asked, and names both and the ways on',
    { timeout: 120_000 },
    async () => {
      expect((await fixture.run(['sync', 'followups', 'resources'])).code).toBe(0);
      const before = await readState();
      const real = await other({ seed: 77 });
      for (const args of [
        ['sync', 'followups', 'resources'],
        ['backfill', 'followups', '--restart'],
        ['backfill', '--plan'],
        ['reconcile', 'resources'],
        ['verify', 'followups', '1'],
        ['check'],
        ['start'],
      ]) {
        const { code, stdout, stderr } = await fixture.run(args, at(real));
        expect([args, code]).toEqual([args, 2]);
        expect(stdout + stderr).toContain(`account default was read from ${fixture.sandbox.url} (`);
        expect(stdout + stderr).toContain(`the configuration names ${real.url}`);
        expect(stdout + stderr).toContain('safety-sync accounts remove default');
        expect(stdout + stderr).toContain('a SAFETY_ACCOUNT of its own');
      }
      expect(methodsOf(real)).toEqual([]);
      expect(await readState()).toEqual(before);
      // With the address of before everything goes on.
      expect((await fixture.run(['sync', 'followups', 'resources'])).code).toBe(0);
    },
  );

  it('the account is removed after practice although it is configured, and then belongs to the other service', async () => {
    await fixture.run(['sync', 'followups']);
    expect((await fixture.run(['accounts', 'remove', 'default', '--yes'])).code).toBe(2);
    const real = await other({ seed: 77 });
    expect((await fixture.run(['accounts', 'remove', 'default', '--yes'], at(real))).code).toBe(0);
    expect((await fixture.run(['sync', 'followups'], at(real))).code).toBe(0);
    expect(await readLive()).toEqual(idsOf(real));
  });

  it('another account behind the same address is another service: by its id, not by its name', async () => {
    await fixture.run(['sync', 'resources']);
    const account = { ...fixture.sandbox.store.account };
    const answer = (sent: object) => {
      fixture.sandbox.hooks.rewriteResponse = (entry, response) =>
        entry.method === 'account.info' ? { ...response, account: sent } : response;
    };
    answer({ ...account, name: 'Renamed' });
    expect((await fixture.run(['sync', 'resources'])).code).toBe(0);
    answer({ ...account, id: 'ffffffffffffffffffffffff' });
    const refused = await fixture.run(['sync', 'resources']);
    expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining('source_changed')]);
    expect(refused.stdout).not.toContain('accounts move');
    // No id says nothing: the address alone counts.
    answer({});
    expect((await fixture.run(['sync', 'resources'])).code).toBe(0);
  });

  it('a service that does not offer account.info is asked for it once a week, and its address counts', async () => {
    fixture.sandbox.readings.notOffered = ['account.info'];
    await fixture.run(['sync', 'resources']);
    await fixture.run(['sync', 'resources']);
    expect(methodsOf(fixture.sandbox).filter((method) => method === 'account.info')).toHaveLength(1);
    expect((await fixture.run(['sync', 'resources'], at(await other()))).code).toBe(2);
  });

  it('a mistyped address from which nothing was read binds no account', async () => {
    const mistyped = { SAFETY_BASE_URL: 'http://127.0.0.1:1', RETRY_ATTEMPTS: '0' };
    expect((await fixture.run(['sync', 'resources'], mistyped)).code).toBe(1);
    expect((await fixture.run(['sync', 'resources'])).code).toBe(0);
  });
});

describe('a worker with several accounts', () => {
  const worker = forEachTest(() => createTestWorker());

  it('start with several accounts refuses only the one that belongs to another service', async () => {
    const south = await other({ seed: 5 });
    const none = { SAFETY_BASE_URL: '', SAFETY_TOKEN: '', SAFETY_EQUIPMENT_TYPES: '' };
    const NEVER = { SYNC_CRON: '0 0 1 1 *' };
    await worker.query(
      `insert into safety_sync.sources (account_id, address) values ('north', 'https://trial.example')`,
    );
    await worker.query(
      `insert into safety_sync.stream_state (account_id, stream, last_success_at) values ('north', 'resources', now())`,
    );
    await startAppFixture(worker, {
      env: {
        ...none,
        ...NEVER,
        SAFETY_ACCOUNTS_FILE: await writeAccountsFile([
          entryFor('north', worker.sandbox),
          entryFor('south', south),
        ]),
      },
    });
    const ended = (account: string) =>
      worker.query(`select distinct status, error_code from safety_sync.runs
        where account_id = '${account}' and stream in ('followups', 'resources', 'equipments') and status <> 'running'`);
    await expect
      .poll(() => ended('south'), { timeout: 45_000 })
      .toEqual([{ status: 'succeeded', error_code: null }]);
    await expect
      .poll(() => ended('north'), { timeout: 45_000 })
      .toEqual([{ status: 'failed', error_code: 'source_changed' }]);
    expect(methodsOf(worker.sandbox)).toEqual([]);
  });
});

describe('accounts move', () => {
  it(
    'after a move the next sync reads everything from the new address and deletes what it lacks, without the guard; labels, history and runs stay',
    { timeout: 120_000 },
    async () => {
      await fixture.run(['sync']);
      await fixture.query(
        `insert into safety.labels (account_id, kind, id, label) values ('default', 'form', '1', 'Round')`,
      );
      const kept = async () =>
        await fixture.query(`select (select count(*) from safety.labels) as labels, (select count(*) from safety_sync.runs) as runs,
        (select count(*) from safety_sync.backfill_slices) as slices, (select count(*) from safety.followups) as rows`);
      const [before] = await kept();
      // The same account at the service (by its seed), with fewer records.
      const moved = await other({ size: { ...SMALL_SANDBOX, followups: 30, resources: 5 } });
      const off = await fixture.run(['accounts', 'move', 'default'], at(moved));
      expect([off.code, off.stderr]).toEqual([2, expect.stringContaining('accounts move default --yes')]);
      const done = await fixture.run(['accounts', 'move', 'default', '--yes'], at(moved));
      expect([done.code, done.stdout]).toEqual([0, expect.stringContaining(`belongs to ${moved.url} (`)]);
      expect(await kept()).toEqual([{ ...(before as object), slices: '0' }]);
      expect((await fixture.run(['accounts', 'move', 'default', '--yes'], at(moved))).code).toBe(2);

      const synced = await fixture.run(['sync', '--json'], at(moved));
      expect([synced.code, synced.stdout]).toEqual([0, synced.stdout]);
      expect(await readLive()).toEqual(idsOf(moved));
      expect(
        await fixture.query(`select count(*)::int as live from safety.resources where _deleted_at is null`),
      ).toEqual([{ live: 5 }]);
      // From here on the guard holds again.
      for (const id of [...moved.store.resources.keys()]) moved.store.resources.delete(id);
      await fixture.query(`update safety.resources set _deleted_at = null`);
      const guarded = await fixture.run(['sync', 'resources'], at(moved));
      expect([guarded.code, guarded.stdout]).toEqual([1, expect.stringContaining('delete_guard')]);
      // The old address is now the other one.
      expect((await fixture.run(['sync', 'resources'])).code).toBe(2);
    },
  );

  it('a move is refused to another account of the service, and for an account that is not configured', async () => {
    await fixture.run(['sync', 'resources']);
    const before = await readState();
    const refused = await fixture.run(
      ['accounts', 'move', 'default', '--yes'],
      at(await other({ seed: 77 })),
    );
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('is not the account that was read from'),
    ]);
    expect((await fixture.run(['accounts', 'move', 'west', '--yes'])).code).toBe(2);
    expect(await readState()).toEqual(before);
  });
});

it('check compares the total of the service with the rows: a difference is a warning that names both', async () => {
  expect((await fixture.run(['check'])).stdout).toContain('service: followups.list: responds, 130 records\n');
  await fixture.run(['sync']);
  const equal = await fixture.run(['check']);
  expect(equal.stdout).toContain(
    'service: followups.list: responds, 130 records, as many as the warehouse has\n',
  );
  expect(equal.stdout).toContain(`ok    source: account default belongs to ${fixture.sandbox.url} (`);
  expect(equal.stdout).toContain('Everything is in order.');
  await fixture.query(`delete from safety.followups where id in (select id from safety.followups limit 30)`);
  const { code, stdout } = await fixture.run(['check']);
  expect(code).toBe(0);
  expect(stdout).toContain(
    'skip  service: followups.list: responds, 130 records, and the warehouse has 100\n',
  );
  expect(stdout).toContain('Nothing failed; skip marks what to look at.');
});

it('a database that failed when a worker asked for the identity does not fail its next runs', async () => {
  const worker = untilTestEnds(await createTestWorker());
  const { settings, sandbox } = worker;
  const { accountId } = settings;
  const { db, api, clock, signal } = worker.context;
  const guard = createSourceGuard({ accountId, address: sandbox.url, api, db, clock, signal });
  await worker.query('alter table safety_sync.optional_methods rename to away');
  await expect(guard.assertSame()).rejects.toThrow();
  await worker.query('alter table safety_sync.away rename to optional_methods');
  await guard.assertSame();
  const [stored] = await worker.query<{ address: string }>('select address from safety_sync.sources');
  expect(stored).toEqual({ address: sandbox.url });
});
