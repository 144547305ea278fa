/** An account belongs to one service: another one is refused until somebody says what it is. */
import { describe, expect, it } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { SMALL_SANDBOX } from '../support/world.ts';

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
        const { code, stdout, stderr } = await fixture.run(args, {
          ...at(real),
          REPORTING_TIMEZONE: 'Asia/Tokyo',
        });
        expect([args, code]).toEqual([args, 2]);
        expect(stdout + stderr).toContain(`account default was read from ${fixture.sandbox.url} (`);
        expect(stdout + stderr).toContain(`the configuration names ${real.url}`);
        expect(stdout + stderr).toContain('safety-sync accounts remove default');
        expect(stdout + stderr).toContain('a SAFETY_ACCOUNT of its own');
      }
      expect(methodsOf(real)).toEqual([]);
      expect(await readState()).toEqual(before);
      expect(await fixture.query('select timezone from safety.reporting_settings')).toEqual([
        { timezone: 'UTC' },
      ]);
      // With the address of before everything goes on.
      expect((await fixture.run(['sync', 'followups', 'resources'])).code).toBe(0);
    },
  );

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
});

describe('accounts move', () => {
  const READ = ['resources', 'followups', 'equipments'];

  it(
    'after a move the next sync reads everything from the new address and deletes what it lacks, without the guard; labels, history and runs stay',
    { timeout: 120_000 },
    async () => {
      // Newer than everything at the new address, and nevertheless of another one.
      const { followups } = fixture.sandbox.store;
      followups.update([...followups.keys()].at(-1) ?? '', { updated_on: Date.now() });
      await fixture.run(['sync', ...READ]);
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

      const synced = await fixture.run(['sync', ...READ, '--json'], at(moved));
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

  it('a backfill after a move deletes the follow-ups that the new address lacks, and no others', async () => {
    await fixture.run(['sync', 'followups']);
    const moved = await other({ size: { ...SMALL_SANDBOX, followups: 30 } });
    await fixture.run(['accounts', 'move', 'default', '--yes'], at(moved));
    const read = await fixture.run(['backfill', 'followups'], at(moved));
    expect([read.code, await readLive()]).toEqual([0, idsOf(moved)]);
  });

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
