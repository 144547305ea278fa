/** An upgrade: the next release changes tables and views of a warehouse that has readers. */
import { beforeEach, expect, test } from 'vitest';
import { forEachTest } from '../support/lifetime.ts';
import { createNextRelease } from '../support/next-release.ts';
import { connectForTest, createRole, openTestDatabase } from '../support/test-database.ts';

const worker = forEachTest(() => openTestDatabase());
const next = forEachTest(() => createNextRelease());
let role: string;
beforeEach(async () => {
  role = await createRole(worker);
});

const migrate = (onStderr?: (text: string) => void) =>
  next.run(['migrate'], { DATABASE_URL: worker.url }, onStderr);
const grantsOf = (view: string) =>
  worker.query(`select grantee, privilege_type, is_grantable from information_schema.role_table_grants
    where table_schema = 'safety' and table_name = '${view}' and grantee = '${role}'`);

test('if a migration renames a column of a view, the view and its dependent views are created again with their grants', async () => {
  await worker.query(`grant select on safety.training_matrix to ${role} with grant option`);
  await worker.query(`grant select (tag) on safety.resource_tags to ${role}`);
  await next.editView('resource_tags', 'as resource_key', 'as key_of_resource');
  expect(await migrate()).toMatchObject({ code: 0 });
  expect(await worker.query('select key_of_resource from safety.resource_tags')).toEqual([]);
  expect(await grantsOf('training_matrix')).toEqual([
    { grantee: role, privilege_type: 'SELECT', is_grantable: 'YES' },
  ]);
  expect(
    await worker.query(`select has_column_privilege('${role}', 'safety.resource_tags', 'tag', 'select') as tag,
      has_column_privilege('${role}', 'safety.resource_tags', 'resource_id', 'select') as id`),
  ).toEqual([{ tag: true, id: false }]);
});

test('a migration that changes columns which a view of a user reads stops before it changes anything, and names the view', async () => {
  await worker.query('create view public.own_tags as select tag from safety.resource_tags');
  await next.addMigration('create table safety.notes (account_id text primary key, note text)');
  await next.editView('resource_tags', 'as resource_key', 'as key_of_resource');
  const { code, stderr } = await migrate();
  expect(stderr).toContain('view_in_the_way: columns change that public.own_tags reads');
  expect(stderr).toContain('Drop public.own_tags, run safety-sync migrate, and create it again');
  expect(code).toBe(1);
  expect(await worker.query(`select to_regclass('safety.notes') as notes`)).toEqual([{ notes: null }]);
  expect(await worker.query('select resource_key from safety.resource_tags')).toEqual([]);
});

/** A new column in a table, and in two views of which one reads the other. */
async function addColumnWithViews(): Promise<void> {
  await next.addMigration('alter table safety.followups add column "place" text');
  await next.editView(
    'followup_overview',
    'select f.account_id, f.id,',
    'select f.account_id, f.id, f.place,',
  );
  await next.editView(
    'followup_overview',
    'select c.account_id, c.id,',
    'select c.account_id, c.id, c.place,',
  );
  await next.addView(
    'place_overview',
    'create or replace view safety.place_overview as select account_id, place from safety.followup_overview;',
  );
}

test('a migration changes a table and views beside six readers, none of whom fails or waits for more than seconds', async () => {
  await addColumnWithViews();
  let isOver = false;
  const waits: number[] = [];
  const views = [
    'followup_overview',
    'training_matrix',
    'equipment_overview',
    'freshness',
    'inspection_completions',
    'followup_daily',
  ];
  const readers = views.map((view) => ({ view, reader: connectForTest(worker.url) }));
  // In turn, because six at once would take the processors from the migration.
  const read = async (): Promise<void> => {
    while (!isOver) {
      for (const { view, reader } of readers) {
        const startedMs = performance.now();
        await reader.query(`select count(*) from safety.${view}`);
        waits.push(performance.now() - startedMs);
      }
    }
  };
  const reading = read();
  expect(await migrate()).toMatchObject({ code: 0 });
  isOver = true;
  await reading;
  expect(Math.max(...waits)).toBeLessThan(10_000);
  expect(await worker.query('select place from safety.place_overview')).toEqual([]);
});

test('while a session is idle in a transaction, a migration gives way to other readers, names the session, and goes on when it ends', async () => {
  await next.editView('followup_overview', ' end as record_url', ' end as record_url, 1 as one_more');
  const idle = connectForTest(worker.url, { applicationName: 'forgotten', isSession: true });
  await idle.query('begin');
  await idle.query('select count(*) from safety.followup_overview');
  let said = '';
  const migrated = migrate((text) => (said += text));
  const attempts = new Set<string>();
  const isRepeatedAndSaid = async (): Promise<boolean> => {
    const rows = await worker.query<{
      begun: string;
    }>(`select query_start::text as begun from pg_stat_activity
      where application_name = 'safety-sync migrate' and wait_event_type = 'Lock'`);
    for (const { begun } of rows) attempts.add(begun);
    // Answered each time: the migration gives way.
    await worker.query('select count(*) from safety.followup_overview');
    return attempts.size > 1 && said.includes('forgotten');
  };
  await expect.poll(isRepeatedAndSaid, { interval: 20 }).toBe(true);
  await idle.query('commit');
  expect((await migrated).code).toBe(0);
  expect(await worker.query('select one_more from safety.followup_overview')).toEqual([]);
});

test('a migration of tables ends the session of a running sync, because its program is older; a migration of views does not', async () => {
  const ofRun = connectForTest(worker.url, {
    applicationName: 'safety-sync followups',
    isSession: true,
  });
  await ofRun.query('begin');
  await next.editView('resource_tags', 'as resource_key', `as resource_key, 'x' as added`);
  expect((await migrate()).code).toBe(0);
  await ofRun.query('select 1');
  await next.addMigration('create table safety.notes (account_id text primary key, note text)');
  expect((await migrate()).code).toBe(0);
  await expect.poll(() => ofRun.lost.aborted).toBe(true);
});
