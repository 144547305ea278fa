/** Roles that copy rows without the lookups of foreign keys, and roles that keep the lookups (docs/performance.md). */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { createCopySettings } from '../../src/engine/loading/copy-settings.ts';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { forEachTest } from '../support/lifetime.ts';
import { createRole, openTestDatabase } from '../support/test-database.ts';

const USUAL = { role: 'origin', plans: 'force_custom_plan', scans: 'on' };
const AS_REPLICA = { ...USUAL, role: 'replica' };
const PLANS_KEPT = { ...USUAL, plans: 'auto', scans: 'off' };

const session = forEachTest(() => openTestDatabase({ isSession: true }));
beforeEach(async () => {
  await session.query(`select set_config('plan_cache_mode', 'force_custom_plan', false)`);
});

const settings = async () => {
  const [row] = await session.query(
    `select current_setting('session_replication_role') as role, current_setting('plan_cache_mode') as plans,
       current_setting('enable_seqscan') as scans`,
  );
  return row;
};

/** The settings while rows are copied, and after them in the same transaction; read twice, because they are known then. */
async function observe(): Promise<unknown> {
  const withCopySettings = createCopySettings(session, streamShape(streamNamed('followups')));
  const seen: unknown[] = [];
  for (let time = 0; time < 2; time += 1) {
    await session.query('begin');
    await withCopySettings(async () => {
      seen.push(await settings());
    });
    expect(await settings()).toEqual(USUAL);
    await session.query('commit');
  }
  expect(await settings()).toEqual(USUAL);
  expect(seen[1]).toEqual(seen[0]);
  return seen[0];
}

async function createPlainRole(): Promise<string> {
  const role = await createRole(session);
  onTestFinished(async () => {
    await session.query('reset role');
  });
  await session.query(`grant usage on schema safety to ${role}`);
  return role;
}

test('a session with the rights of a superuser copies as a replica does', async () => {
  const [who] = await session.query<{ may: boolean }>(`select current_setting('is_superuser') = 'on' as may`);
  expect(await observe()).toEqual(who?.may === true ? AS_REPLICA : PLANS_KEPT);
});

test('if one of the tables has a trigger, a superuser does not copy as a replica', async () => {
  await session.query(
    `create function public.nothing() returns trigger language plpgsql as 'begin return null; end'`,
  );
  await session.query(
    'create trigger mine after insert on safety.followup_messages execute function public.nothing()',
  );
  expect(await observe()).toEqual(PLANS_KEPT);
});

test('a session without the rights of a superuser keeps the plans of the foreign key lookups', async () => {
  const role = await createPlainRole();
  await session.query(`set role ${role}`);
  expect(await observe()).toEqual(PLANS_KEPT);
});

test('from PostgreSQL 15 on, a session with the granted right copies as a replica', async () => {
  const [server] = await session.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const canBeGranted = (server?.version ?? 0) >= 150_000;
  const role = await createPlainRole();
  if (canBeGranted) await session.query(`grant set on parameter session_replication_role to ${role}`);
  await session.query(`set role ${role}`);
  expect(await observe()).toEqual(canBeGranted ? AS_REPLICA : PLANS_KEPT);
});
