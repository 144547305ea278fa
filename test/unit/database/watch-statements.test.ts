import { expect, test } from 'vitest';
import { nameStatement } from '../../../src/engine/database/watch-statements.ts';

test.each([
  [
    'insert into "safety"."followups" as t (account_id) select 1 from "pg_temp"."stage"',
    'insert safety.followups',
  ],
  ['with s as (select from safety.users) update "safety_sync"."runs" set a = 1', 'update safety_sync.runs'],
  ['delete from safety.users where id = $1', 'delete safety.users'],
  ['copy pg_temp."stage_users" ("id") from stdin', 'copy pg_temp.stage_users'],
  ['create temporary table if not exists "stage_users" (ord bigint)', 'create stage_users'],
  ['select count(*) from\n  "safety"."users" t', 'select safety.users'],
  ['select pg_backend_pid() as pid', 'select pg_backend_pid'],
  ['commit', 'commit'],
])('the statement %s is logged with its verb and its table', (text, name) => {
  expect(nameStatement(text)).toBe(name);
});
