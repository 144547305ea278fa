/**
 * How long each view takes on a large warehouse, whole and filtered as BI tools filter. Fills a database of its own by
 * SQL: `npx tsx bench/views.ts`, with DATABASE_URL for a server on which it may create databases, else the embedded one,
 * which has no JIT. FOLLOWUPS, EMPLOYEES and EQUIPMENT are how many there are.
 * `--plans` prints the plans of what takes longer than the promised second.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, openConnection } from '../src/database/connection.ts';
import { acquireEmbeddedServer } from '../src/embedded/server.ts';
import { migrateDatabase } from '../src/database/migrate.ts';

const PROMISED_MS = 1000;
const RUNS = 3;
const FOLLOWUPS = Number(process.env['FOLLOWUPS'] ?? 200_000);
const EMPLOYEES = Number(process.env['EMPLOYEES'] ?? 10_000);
const EQUIPMENT = Number(process.env['EQUIPMENT'] ?? 50_000);
const BOOKKEEPING = `null, '{}'::jsonb, now(), case when i % 50 = 0 then now() - interval '3 days' end, 1`;

/** A state before the present one of every second follow-up; three and four before those of equipment and employees. */
const FILL = [
  `insert into safety.users select 'default', i::text, 'Person ' || i, ${BOOKKEEPING} from generate_series(1, 2000) i`,
  `insert into safety.reporting_settings values ('default', 'Europe/Oslo', now())`,
  `insert into safety.followups
   select 'default', 'f' || i, i % 40, i, i % 4 = 0, at, at + interval '3 days', (i % 2000)::text, (i % 1999)::text, (i % 300)::text,
     case when i % 3 > 0 then (at + interval '14 days')::date end, case when i % 4 > 0 then at + interval '9 days' end,
     case when i % 4 > 0 then (i % 300)::text end, at + interval '3 days', ${BOOKKEEPING}
   from (select i, now() - (i % 1500) * interval '1 day' - i * interval '1 second' as at from generate_series(1, ${FOLLOWUPS}) i) s`,
  `insert into safety.followup_states
   select account_id, id, form_id, response_id, true, created_at, created_at, observer_id, assigner_id, assignee_id, due_on, null, null,
     created_at, _valid_from from safety.followups where response_id % 2 = 0`,
  `insert into safety.followup_messages
   select 'default', 'f' || (i / 3 + 1), i::text, i % 3 + 1, now() - i * interval '1 minute', (i % 2000)::text, repeat('words ', 15),
     case when i % 5 = 0 then (i % 2000)::text end, null, true from generate_series(0, ${3 * FOLLOWUPS - 1}) i`,
  `insert into safety.training_employee_status
   select 'default', i::text, (array['active', 'expiring', 'incomplete', 'unassigned'])[i % 4 + 1], i % 101, array[1, 2, 3], array[4, 5, 6, 7, 8],
     now() - interval '1 day', now() - (i % 300) * interval '1 day', ${BOOKKEEPING} from generate_series(1, ${EMPLOYEES}) i`,
  `insert into safety.training_employee_status_states
   select account_id, user_id, 'incomplete', 1, array[1], array[2], calculated_at, _valid_from - n * interval '20 days',
     _valid_from - (n - 1) * interval '20 days' from safety.training_employee_status, generate_series(1, 4) n`,
  `insert into safety.training_completions
   select 'default', (i / 10 + 1)::text, i % 10, current_date - i % 700, current_date - i % 700 + 365, current_date - i % 700 + 330, i % 2 = 0
   from generate_series(0, ${10 * EMPLOYEES - 1}) i`,
  `insert into safety.equipment
   select 'default', 'e' || i, 'SN' || i, (20 + i % 8)::text, now(), '', array[(i % 50)::text], '1', array[(i % 7)::text, (i % 11)::text],
     array[(i % 2000)::text], 'Crane ' || i, repeat('note ', 10), i % 9 > 0, '{"1": "x", "2": 5}'::jsonb,
     (array['uptodate', 'expiring', 'expired'])[i % 3 + 1], now() - (i % 300) * interval '1 day', ${BOOKKEEPING}
   from generate_series(1, ${EQUIPMENT}) i`,
  `insert into safety.equipment_schedules
   select 'default', 'e' || (i / 3 + 1), (i % 3)::text, (array['uptodate', 'expiring', 'expired'])[i % 3 + 1], now() + (i % 700 - 200) * interval '1 day',
     now() + (i % 700 - 230) * interval '1 day', now() - interval '90 days', now() - (i % 300) * interval '1 day' from generate_series(0, ${3 * EQUIPMENT - 1}) i`,
  `insert into safety.equipment_metavalues
   select 'default', 'e' || (i / 2 + 1), (i % 2)::text, null, case when i % 2 = 0 then 'x' end, case when i % 2 = 1 then array[1, 2, 3] end
   from generate_series(0, ${2 * EQUIPMENT - 1}) i`,
  `insert into safety.equipment_states
   select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id, client_ids,
     assigned_user_ids, title, notes, is_in_service, metavalues, 'uptodate', _valid_from - n * interval '30 days',
     _valid_from - (n - 1) * interval '30 days' from safety.equipment, generate_series(1, 3) n`,
  `insert into safety.equipment_schedule_states
   select account_id, equipment_id, schedule_id, 'uptodate', expires_at, expiring_at, last_completed_at, _valid_from - interval '90 days', _valid_from
   from safety.equipment_schedules`,
  `insert into safety.resources
   select 'default', 'r' || i, 'Document ' || i, now(), i, (i % 20)::text, array['a', 'b', 'c'], true, ${BOOKKEEPING} from generate_series(1, 5000) i`,
  `insert into safety.resource_versions
   select 'default', 'r' || (i / 4 + 1), i % 4 + 1, i % 4 = 3, now(), now(), '1', 'v', 'changed', 'file', 'key', '' from generate_series(0, 19999) i`,
  'vacuum analyze',
];

/** Beside every view as a whole: what a dashboard asks. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'one follow-up': `select * from safety.followup_overview where account_id = 'default' and id = 'f777'`,
  'an assignee’s overdue follow-ups': `select * from safety.followup_overview where account_id = 'default' and assignee_id = '7' and is_overdue`,
  'follow-ups of a month': `select * from safety.followup_overview where account_id = 'default' and created_at >= now() - interval '30 days'`,
  'overdue by assignee': `select assignee_name, count(*) from safety.followup_overview where account_id = 'default' and is_overdue group by 1`,
  'follow-ups without messages figures': `select id, is_overdue, age_days from safety.followup_overview where account_id = 'default'`,
  'history of one follow-up': `select * from safety.followup_history where account_id = 'default' and id = 'f778'`,
  'follow-ups as they stood a year ago': `select is_open, count(*) from safety.followup_history where account_id = 'default' and valid_from <= now() - interval '1 year' and (valid_to is null or valid_to > now() - interval '1 year') group by 1`,
  'inspections of the next 30 days': `select * from safety.equipment_inspections where account_id = 'default' and days_until_expiry between 0 and 30`,
  'inspections by time of expiry': `select * from safety.equipment_inspections where account_id = 'default' and expires_at between now() and now() + interval '30 days'`,
  'inspections of one equipment': `select * from safety.equipment_inspections where account_id = 'default' and equipment_id = 'e5'`,
  'follow-ups today': `select status, followups from safety.followup_daily where date = safety.reporting_today(account_id)`,
  'backlog of a year': `select date, status, followups from safety.followup_daily where account_id = 'default' and date > safety.reporting_today() - 365`,
  'compliance of a year': `select date, status, employees from safety.training_status_daily where date > safety.reporting_today(account_id) - 365`,
  'equipment of a year': `select date, status, in_service from safety.equipment_status_daily where date > safety.reporting_today(account_id) - 365`,
  'trainings that expire in 60 days': `select * from safety.training_expiry where account_id = 'default' and days_until_expiry between 0 and 60`,
};

/** ms, the best of some runs. */
async function measure(connection: Connection, text: string, jit: 'on' | 'off'): Promise<number> {
  await connection.query(`set jit = ${jit}`);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const plan = await connection.query<Record<string, string>>(`explain (analyze, timing off) ${text}`);
    // Every column of every row is worked out; nothing is sent or turned into text.
    times.push(Number(/Execution Time: ([\d.]+)/.exec(plan.at(-1)?.['QUERY PLAN'] ?? '')?.[1]));
  }
  return Math.min(...times);
}

async function run(connection: Connection, showsPlans: boolean): Promise<void> {
  for (const statement of FILL) await connection.query(statement);
  const views = await connection.query<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'safety' order by 1`,
  );
  const all = views.map(({ name }) => [name, `select * from safety.${name}`] as const);
  for (const [what, text] of [...all, ...Object.entries(QUESTIONS)]) {
    const withoutJit = await measure(connection, text, 'off');
    // As a server has it by default, unless it is built without (the embedded one is).
    const ms = await measure(connection, text, 'on');
    const rounded = { ms: Math.round(ms), ms_without_jit: Math.round(withoutJit) };
    process.stdout.write(`${JSON.stringify({ view: what, ...rounded, is_kept: ms <= PROMISED_MS })}\n`);
    if (!showsPlans || ms <= PROMISED_MS) continue;
    const plan = await connection.query<Record<string, string>>(`explain (analyze, buffers) ${text}`);
    process.stdout.write(`${plan.map((row) => row['QUERY PLAN']).join('\n')}\n`);
  }
}

const given = process.env['DATABASE_URL'];
const dataDir = given === undefined ? await mkdtemp(join(tmpdir(), 'safety-sync-bench-')) : undefined;
const server =
  dataDir === undefined ? undefined : await acquireEmbeddedServer({ dataDir, database: 'postgres' });
const adminUrl = given ?? server?.url ?? '';
const name = `safety_sync_bench_${process.pid}`;
const admin = openConnection({ url: adminUrl, applicationName: 'bench', max: 1 });
try {
  await admin.query(`create database ${name}`);
  const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
  await migrateDatabase(url);
  const connection = openConnection({ url, applicationName: 'bench', max: 1 });
  try {
    await run(connection, process.argv.includes('--plans'));
  } finally {
    await connection.close();
  }
} finally {
  if (process.env['KEEP'] === undefined) await admin.query(`drop database if exists ${name}`);
  await admin.close();
  await server?.release();
  if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
}
