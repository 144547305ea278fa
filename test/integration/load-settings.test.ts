/** Roles that copy rows without the lookups of foreign keys, and roles that keep the lookups (docs/performance.md). */
import { expect, onTestFinished, test } from 'vitest';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { readCopySettings } from '../../src/engine/loading/copy-records.ts';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { forEachTest } from '../support/lifetime.ts';
import { createRole, openTestDatabase } from '../support/test-database.ts';

const session = forEachTest(() => openTestDatabase({ isSession: true }));

/** How the session copies: the setting that its statements change. */
async function copiesBy(): Promise<string | undefined> {
  const settings = await readCopySettings(session, streamShape(streamNamed('followups')));
  return settings?.before.match(/session_replication_role|enable_seqscan/)?.[0];
}

test('a superuser copies as a replica does, but not if one of the tables has a trigger', async () => {
  const [who] = await session.query<{ may: boolean }>(`select current_setting('is_superuser') = 'on' as may`);
  expect(await copiesBy()).toBe(who?.may === true ? 'session_replication_role' : 'enable_seqscan');
  await session.query(
    `create function public.nothing() returns trigger language plpgsql as 'begin return null; end'`,
  );
  await session.query(
    'create trigger mine after insert on safety.followup_messages execute function public.nothing()',
  );
  expect(await copiesBy()).toBe('enable_seqscan');
});

test('another role keeps the lookups, unless it has the right, and copies nothing where row-level security is active', async () => {
  const role = await createRole(session);
  onTestFinished(async () => {
    await session.query('reset role');
  });
  await session.query(`grant usage on schema safety to ${role}`);
  await session.query(`set role ${role}`);
  expect(await copiesBy()).toBe('enable_seqscan');
  await session.query('reset role');
  const [server] = await session.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  if ((server?.version ?? 0) >= 150_000) {
    await session.query(`grant set on parameter session_replication_role to ${role}`);
    await session.query(`set role ${role}`);
    expect(await copiesBy()).toBe('session_replication_role');
    await session.query('reset role');
  }
  await session.query('alter table safety.followups enable row level security');
  await session.query(`set role ${role}`);
  expect(await copiesBy()).toBeUndefined();
});
