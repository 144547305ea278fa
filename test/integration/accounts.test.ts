/** An account is renamed or removed with all its rows; a repetition completes an interrupted change. */
import { describe, expect, inject, test as anyTest } from 'vitest';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { streamLockKey } from '../../src/engine/control-tables/stream-session.ts';
import { runInProcess, type Said } from '../support/in-process.ts';
import { forEachTest } from '../support/lifetime.ts';
import { inProof } from '../support/proof.ts';
import { createSaboteur } from '../support/saboteur.ts';
import { connectForTest, createRole } from '../support/test-database.ts';
import { createTestWorker, createWorkerWithPast, serviceEnv, type TestWorker } from '../support/world.ts';
import { NOON } from '../support/test-clock.ts';

/** More follow-ups than one step takes. */
const SIZE = { followups: 520, employees: 12, equipment: 12, resources: 6, users: 6 };
const isOnCitus = inject('testServerNodes').length > 1;
/** On Citus no account can be renamed, and the readers of none confined. */
const test = anyTest.skipIf(isOnCitus || inject('testCloneStrategy') === '');

const worker = forEachTest(() =>
  createWorkerWithPast({
    name: 'accounts',
    create: (database) =>
      createTestWorker({
        database,
        sandbox: { size: SIZE, clock: () => NOON },
        settings: { accountId: 'north' },
      }),
    happen: async (earlier, isStored) => {
      if (!isStored) await fill(earlier);
    },
  }),
);

async function fill(worker: TestWorker): Promise<void> {
  await worker.syncAll();
  // Rows that no run writes.
  await worker.query(
    `insert into safety.labels (account_id, kind, id, label) values ('north', 'form', '1', 'Round')`,
  );
  await worker.query(`insert into safety.training_completion_states (account_id, user_id, training_id, valid_from, valid_to)
    select account_id, user_id, training_id, _valid_from - n * interval '1 hour', _valid_from - (n - 1) * interval '1 hour'
    from safety.training_completions, generate_series(1, 20) n`);
  await worker.query(`insert into safety.equipment_completions (account_id, equipment_id, schedule_id, completed_at)
    select account_id, equipment_id, schedule_id, last_completed_at from safety.equipment_schedules where last_completed_at is not null`);
  await worker.query(`insert into safety_sync.forgotten (account_id, pseudonym, person, words, key_id)
    values ('north', 'a', 'a', null, 'k')`);
  await worker.query(`insert into safety.reporting_settings (account_id, timezone, changed_at)
    values ('north', 'Europe/Oslo', now()), ('south', 'UTC', now())`);
  await worker.query(`insert into safety_sync.outbox (account_id, event, subject, channel, began_at)
    values ('north', 'stale', 'users', 'mail', now())`);
}

/** As it is configured for `account`. */
const run = (args: readonly string[], account = 'elsewhere', answer?: string): Promise<Said> =>
  runInProcess(
    args,
    { ...serviceEnv(worker), SAFETY_ACCOUNT: account },
    answer === undefined ? {} : { answer },
  );

/** Every row of an account in every table that has accounts, as text without the account's name. */
async function readRows(account: string): Promise<string[]> {
  const tables = await worker.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('safety', 'safety_sync') and c.relkind = 'r' and c.relname <> 'account_changes' and exists (
       select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id') order by 1`,
  );
  const parts = tables.map(
    ({ name }) =>
      `select '${name} ' || (to_jsonb(t) - 'account_id')::text as row from ${name} t where account_id = '${account}'`,
  );
  const rows = await worker.query<{ row: string }>(`${parts.join(' union all ')} order by 1`);
  return rows.map(({ row }) => row);
}

const readChanges = () => worker.query('select account_id, renamed_to from safety_sync.account_changes');

describe('accounts rename', () => {
  test('a rename gives every row of every table the new account, and the next sync finds everything unchanged', async () => {
    const before = await readRows('north');
    expect(before.length).toBeGreaterThan(2000);
    const renamed = await run(['accounts', 'rename', 'north', 'south', '--yes'], 'north');
    expect(renamed.stderr).toContain('To be renamed to south: account north, ');
    expect(renamed.stdout).toMatch(
      /^Everything that was stored of account north is that of account south now\. /,
    );
    expect(await readRows('south')).toEqual(before);
    expect(await readRows('north')).toEqual([]);
    expect(await readChanges()).toEqual([]);
    await worker.query(`delete from safety_sync.forgotten`);
    const synced = JSON.parse((await run(['sync', '--force', '--json'], 'south')).stdout) as {
      runs: { outcome: string; inserted: number; updated: number; deleted: number }[];
    };
    const changed = synced.runs.filter(
      ({ outcome, inserted, updated, deleted }) => outcome === 'failed' || inserted + updated + deleted > 0,
    );
    expect([synced.runs.length, changed]).toEqual([STREAM_NAMES.length, []]);
  });

  test('status of an account whose rename was not finished is a failure with the command that finishes it', async () => {
    await worker.query(
      `insert into safety_sync.account_changes (account_id, renamed_to) values ('north', 'south')`,
    );
    for (const account of ['north', 'south']) {
      const { code, stdout } = await run(['status'], account);
      expect(code).toBe(1);
      expect(stdout).toContain(
        'account north is being renamed to south. Finish it: safety-sync accounts rename north south.',
      );
    }
  });

  inProof(() => {
    test('after an interrupted rename, runs and other changes of the account are refused until a repetition completes it with equal rows', async () => {
      const before = await readRows('north');
      const saboteur = await createSaboteur(worker);
      const counts: number[] = [];
      // The first writes are the record of the change and equipment with its children; follow-ups take two steps.
      for (const nth of [3, 7, 11]) {
        await saboteur.arm(nth, 'terminate');
        const cut = await run(['accounts', 'rename', 'north', 'south', '--yes']);
        expect(cut.code).toBe(1);
        await saboteur.disarm();
        counts.push((await readRows('south')).length);
        expect(await readChanges()).toEqual([{ account_id: 'north', renamed_to: 'south' }]);
      }
      expect(counts.toSorted((one, other) => one - other)).toEqual(counts);
      expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
      for (const account of ['north', 'south']) {
        const refused = await run(['sync', 'users'], account);
        expect([refused.code, refused.stdout]).toEqual([
          1,
          expect.stringContaining(
            'users: account north is being renamed to south, which was not finished\naccount_busy: Finish it with the same command: safety-sync accounts rename north south\n',
          ),
        ]);
      }
      for (const other of [
        ['rename', 'north', 'west'],
        ['remove', 'north'],
        ['remove', 'south'],
      ]) {
        const refused = await run(['accounts', ...other, '--yes']);
        expect([refused.code, refused.stderr.includes('account_busy')]).toEqual([1, true]);
      }
      expect((await run(['accounts', 'rename', 'north', 'south', '--yes'])).code).toBe(0);
      expect((await readRows('south')).filter((row) => !row.startsWith('safety.reporting_settings'))).toEqual(
        before.filter((row) => !row.startsWith('safety.reporting_settings')),
      );
      expect(await readRows('north')).toEqual([]);
      expect(await readChanges()).toEqual([]);
    });
  });

  test('a rename is refused if the new name has rows, if a run is under way, or without a confirmation', async () => {
    const before = await readRows('north');
    await worker.query(
      `insert into safety.labels (account_id, kind, id, label) values ('taken', 'form', '1', 'Round')`,
    );
    const taken = await run(['accounts', 'rename', 'north', 'taken', '--yes']);
    expect(taken.code).toBe(2);
    expect(taken.stderr).toContain('something is stored of account taken already\n');

    const other = connectForTest(worker.databaseUrl);
    await other.query(`select pg_advisory_lock(${streamLockKey('$1', '$2')})`, ['south', 'users']);
    const busy = await run(['accounts', 'rename', 'north', 'south', '--yes']);
    await other.close();
    expect(busy.code).toBe(1);
    expect(busy.stderr).toContain('account_busy: a run of users of account south is under way\n');

    const unasked = await run(['accounts', 'rename', 'north', 'south']);
    expect([unasked.code, unasked.stderr]).toEqual([
      2,
      expect.stringContaining('If it is meant: safety-sync accounts rename north south --yes'),
    ]);
    expect(await readRows('north')).toEqual(before);
    expect(await readChanges()).toEqual([]);
  });

  inProof(() => {
    test('access lists a confined reader with the new account after a rename, and without one after the removal of the account', async () => {
      const role = await createRole(worker);
      expect((await run(['access', 'grant', role, '--account', 'north'])).code).toBe(0);
      expect((await run(['accounts', 'rename', 'north', 'south', '--yes'])).code).toBe(0);
      expect((await run(['access', '--json'])).stdout).toContain(
        `"roles":[{"role":"${role}","accounts":["south"]}],"problems":[]`,
      );
      expect((await run(['accounts', 'remove', 'south', '--yes'])).code).toBe(0);
      expect((await run(['access', '--json'])).stdout).toContain(
        `"roles":[{"role":"${role}","accounts":[]}]`,
      );
    });
  });
});

describe('accounts remove', () => {
  anyTest(
    'a removal needs --yes or the typed name of an account that is not configured, and removes every row of this account',
    async () => {
      const configured = await run(['accounts', 'remove', 'north', '--yes'], 'north');
      expect([configured.code, configured.stderr]).toEqual([
        2,
        expect.stringContaining('account north is configured: the next run would read it anew'),
      ]);
      expect((await run(['accounts', 'remove', 'north'])).code).toBe(2);
      const wrong = await run(['accounts', 'remove', 'north'], 'elsewhere', 'nort');
      expect([wrong.code, wrong.stderr]).toEqual([
        2,
        expect.stringContaining('that was not north: nothing was changed'),
      ]);
      expect((await readRows('north')).length).toBeGreaterThan(2000);
      const typed = await run(['accounts', 'remove', 'north'], 'elsewhere', 'north');
      expect([typed.code, typed.stdout]).toEqual([0, 'Nothing is stored of account north any more.\n']);
      expect(await readRows('north')).toEqual([]);
      expect(await readRows('south')).toHaveLength(1);
      expect((await run(['accounts', 'remove', 'north', '--yes'])).code).toBe(2);
    },
  );

  inProof(() => {
    test('an interrupted removal is completed by a repetition, and leaves other accounts unchanged', async () => {
      await run(['accounts', 'rename', 'north', 'south', '--yes']);
      await worker.syncAll();
      const south = await readRows('south');
      const saboteur = await createSaboteur(worker);
      const counts: number[] = [];
      for (const nth of [4, 9]) {
        await saboteur.arm(nth, 'terminate');
        expect((await run(['accounts', 'remove', 'north', '--yes'])).code).toBe(1);
        await saboteur.disarm();
        counts.push((await readRows('north')).length);
      }
      expect(counts[1]).toBeLessThan(counts[0] ?? 0);
      expect(counts[1]).toBeGreaterThan(0);
      expect((await run(['sync', 'users'], 'north')).stdout).toContain(
        'account north is being removed, which was not finished',
      );
      expect((await run(['accounts', 'remove', 'north', '--yes'])).code).toBe(0);
      expect((await readRows('north')).filter((row) => !row.startsWith('safety.reporting_settings'))).toEqual(
        [],
      );
      expect(await readRows('south')).toEqual(south);
      expect(await readChanges()).toEqual([]);
    });
  });
});

anyTest('accounts and check report an account that is stored but not configured', async () => {
  const [listed] = (
    JSON.parse((await run(['accounts', 'list', '--json'])).stdout) as { accounts: object[] }
  ).accounts.filter((one) => 'account_id' in one && one.account_id === 'north');
  expect(listed).toMatchObject({
    is_configured: false,
    is_stored: true,
    unfinished: null,
  });
  for (const verb of ['accounts', 'check']) {
    const finding = 'the warehouse holds account north, which is not configured';
    expect((await run([verb])).stdout).toContain(finding);
    expect((await run([verb], 'north')).stdout).not.toContain('not configured');
  }
});
