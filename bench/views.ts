/**
 * Measures each view and each question of docs/questions.md on a large warehouse. The server has its own settings, including
 * `jit`. Every statement is planned again, so planning counts. Run it with `npm run bench:views`. It fills its own database by
 * SQL.
 * DATABASE_URL is a server on which it may create databases; default: the embedded one, which has no JIT. FOLLOWUPS,
 * EMPLOYEES and EQUIPMENT are the numbers of rows, in ACCOUNTS equal accounts. `--plans` prints the plans of slow statements; `KEEP=1` keeps the
 * database.
 */
import { readFileSync } from 'node:fs';
import type { Connection } from '../src/engine/database/connection.ts';
import { countDays } from '../src/engine/history/days.ts';
import { startServer } from './support/database.ts';

const ACCOUNTS = Number(process.env['ACCOUNTS'] ?? 1);
/** Rows of each account. */
const FOLLOWUPS = Number(process.env['FOLLOWUPS'] ?? 100_000) / ACCOUNTS;
const EMPLOYEES = Number(process.env['EMPLOYEES'] ?? 5000) / ACCOUNTS;
const EQUIPMENT = Number(process.env['EQUIPMENT'] ?? 10_000) / ACCOUNTS;
const PROMISED_MS = 1000;
const RUNS = 3;
/** `_raw` is as large as in a follow-up of the sandbox, because the amount of data that a scan reads depends on it. */
const BOOKKEEPING = `null, jsonb_build_object('id', i, 'description', repeat('words ', 110)), now(),
  case when i % 50 = 0 then now() - interval '3 days' end, 1`;

/** Account `default`. Follow-ups have one or three earlier states, inspections eight, equipment three, employees four. */
const FILL = [
  `insert into safety.users (account_id, id, name, field_office_ids, line_of_business_ids, supervisor_id, _hash, _raw, _synced_at, _deleted_at, _run_id)
   select 'default', i::text, 'Person ' || i, array[(i % 50)::text, (i % 70)::text], array['1'], (i / 10)::text, ${BOOKKEEPING} from generate_series(1, 2000) i`,
  `insert into safety_sync.user_lookups (account_id, user_id) select 'default', i::text from generate_series(1, ${Math.max(EMPLOYEES, 2000)}) i`,
  `insert into safety.reporting_settings values ('default', 'Europe/Oslo', now())`,
  `insert into safety.followups
   select 'default', 'f' || i, i % 40, i, i % 4 = 0, at, least(at + interval '3 days', now() - interval '1 minute'), (i % 2000)::text, (i % 1999)::text, (i % 300)::text,
     case when i % 3 > 0 then (at + interval '14 days')::date end, case when i % 4 > 0 then least(at + interval '9 days', now() - interval '1 minute') end,
     case when i % 4 > 0 then (i % 300)::text end, false, null, i::text, false, least(at + interval '3 days', now() - interval '1 minute'), ${BOOKKEEPING}
   from (select i, now() - (1 + i % 1500) * interval '1 day' - i % 86400 * interval '1 second' as at from generate_series(1, ${FOLLOWUPS}) i) s`,
  `insert into safety.followup_states
   select account_id, id, form_id, response_id, n < 3, created_at, created_at, observer_id, assigner_id, ((response_id + n) % 300)::text, due_on - n, null, null,
     false, null, created_at + (n - 1) * (_valid_from - created_at) / 3, case when n < 3 and response_id % 2 = 0 then created_at + n * (_valid_from - created_at) / 3 else _valid_from end
   from safety.followups, generate_series(1, 3) n where account_id = 'default' and (n = 1 or response_id % 2 = 0)`,
  `insert into safety.followup_messages
   select 'default', 'f' || (i / 3 + 1), i::text, i % 3 + 1, now() - i * interval '1 minute', (i % 2000)::text, repeat('words ', 15),
     case when i % 5 = 0 then (i % 2000)::text end, null, true from generate_series(0, ${3 * FOLLOWUPS - 1}) i`,
  // Without statistics the next statement compares each follow-up with each message.
  `analyze safety.followups, safety.followup_messages`,
  `update safety.followups f set _message_count = c.count, _reassignment_count = c.handed, _last_message_at = c.last, _first_response_at = c.first
   from (select o.account_id, o.id, count(m.id) as count, count(*) filter (where m.reassignee_id <> '') as handed, max(m.sent_at) as last,
       min(m.sent_at) filter (where m.user_id is distinct from o.observer_id) as first
     from safety.followups o join safety.followup_messages m on m.account_id = o.account_id and m.followup_id = o.id
     where o.account_id = 'default' group by 1, 2) c
   where f.account_id = c.account_id and f.id = c.id`,
  `insert into safety.training_employee_status
   select 'default', i::text, (array['active', 'expiring', 'incomplete', 'unassigned'])[i % 4 + 1], i % 101, array[1, 2, 3], array[4, 5, 6, 7, 8],
     now() - interval '1 day', now() - (i % 300) * interval '1 day', ${BOOKKEEPING} from generate_series(1, ${EMPLOYEES}) i`,
  `insert into safety.training_employee_status_states
   select account_id, user_id, 'incomplete', 1, array[1], array[2], calculated_at, _valid_from - n * interval '20 days',
     _valid_from - (n - 1) * interval '20 days' from safety.training_employee_status, generate_series(1, 4) n where account_id = 'default'`,
  `insert into safety.training_completions
   select 'default', (i / 10 + 1)::text, i % 10, current_date - i % 700, current_date - i % 700 + 365, current_date - i % 700 + 330, i % 2 = 0
   from generate_series(0, ${10 * EMPLOYEES - 1}) i`,
  `insert into safety.training_completion_states
   select account_id, user_id, training_id, completed_on - 365, expires_on - 365, starts_expiring_on - 365, is_required,
     _valid_from - interval '365 days', _valid_from from safety.training_completions where account_id = 'default'`,
  `insert into safety.equipment
   select 'default', 'e' || i, 'SN' || i, (20 + i % 8)::text, now(), '', array[(i % 50)::text], '1', array[(i % 7)::text, (i % 11)::text],
     array[(i % 2000)::text], 'Crane ' || i, repeat('note ', 10), i % 9 > 0, '{"1": "x", "2": 5}'::jsonb,
     (i % 2000)::text, array[1, 2], (array['uptodate', 'expiring', 'expired'])[i % 3 + 1], now() - (i % 300) * interval '1 day', ${BOOKKEEPING}
   from generate_series(1, ${EQUIPMENT}) i`,
  `insert into safety.equipment_schedules
   select 'default', 'e' || (i / 3 + 1), (i % 3)::text, (array['uptodate', 'expiring', 'expired'])[i % 3 + 1], now() + (i % 700 - 200) * interval '1 day',
     now() + (i % 700 - 230) * interval '1 day', now() - interval '90 days', now() - (i % 300) * interval '1 day' from generate_series(0, ${3 * EQUIPMENT - 1}) i`,
  `insert into safety.equipment_metavalues
   select 'default', 'e' || (i / 2 + 1), (i % 2)::text, null, case when i % 2 = 0 then 'x' end, case when i % 2 = 1 then array[i % 2000, i % 1999, i % 1997] end
   from generate_series(0, ${2 * EQUIPMENT - 1}) i`,
  `insert into safety.equipment_states
   select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id, client_ids,
     assigned_user_ids, title, notes, is_in_service, metavalues, assigned_user_id, project_ids, 'uptodate', _valid_from - n * interval '30 days',
     _valid_from - (n - 1) * interval '30 days' from safety.equipment, generate_series(1, 3) n where account_id = 'default'`,
  `insert into safety.equipment_schedule_states
   select account_id, equipment_id, schedule_id, 'uptodate', expires_at - n * interval '120 days', expiring_at - n * interval '120 days',
     last_completed_at - n * interval '120 days', _valid_from - n * interval '120 days', _valid_from - (n - 1) * interval '120 days'
   from safety.equipment_schedules, generate_series(1, 8) n where account_id = 'default'`,
  `insert into safety.equipment_completions
   select account_id, equipment_id, schedule_id, last_completed_at, lag(expires_at) over (partition by equipment_id, schedule_id order by valid_from)
   from (select account_id, equipment_id, schedule_id, last_completed_at, expires_at, valid_from from safety.equipment_schedule_states
     union all select account_id, equipment_id, schedule_id, last_completed_at, expires_at, _valid_from from safety.equipment_schedules) s
   where account_id = 'default'`,
  `insert into safety.resources
   select 'default', 'r' || i, 'Document ' || i, now(), i, (i % 20)::text, array['a', 'b', 'c'], true, ${BOOKKEEPING} from generate_series(1, 5000) i`,
  `insert into safety.resource_versions
   select 'default', 'r' || (i / 4 + 1), i % 4 + 1, i % 4 = 3, now(), now(), '1', 'v', 'changed', 'file', 'key', 1, '' from generate_series(0, 19999) i`,
  `insert into safety.labels select 'default', kind, i::text, kind || ' ' || i, null
   from unnest(array['form', 'training', 'equipment_type', 'schedule', 'category', 'field_office', 'client', 'line_of_business']) as kind,
     generate_series(0, 99) i`,
  `insert into safety.names (account_id, _key, kind, id, name, _run_id) select 'default', kind || ':' || i, kind, i::text, kind || ' ' || i, 1
   from unnest(array['form', 'training', 'equipment_type', 'field_office', 'client', 'project', 'metafield', 'metafield_item']) as kind,
     generate_series(0, 1999) i where kind = 'metafield_item' or i < 300`,
];

/** In addition to each view as a whole: the queries of a dashboard. */
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
  'follow-ups today': `select status, followups from safety.followup_daily where days_ago = 0`,
  'backlog of a year': `select date, status, followups from safety.followup_daily where account_id = 'default' and days_ago < 365`,
  'compliance of a year': `select date, status, employees from safety.training_status_daily where days_ago < 365`,
  'equipment of a year': `select date, status, in_service from safety.equipment_status_daily where days_ago < 365`,
  'trainings that expire in 60 days': `select * from safety.training_matrix where account_id = 'default' and days_until_expiry between 0 and 60`,
};

/** ms of planning and running; every column of every row is computed, nothing is sent or turned into text. */
async function measure(connection: Connection, text: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const plan = await explain(connection, `(analyze, timing off) ${text}`);
    const ms = [...plan.matchAll(/^(?:Planning|Execution) Time: ([\d.]+)/gm)].map(([, one]) => Number(one));
    times.push(ms.reduce((sum, one) => sum + one, 0));
  }
  return Math.min(...times);
}

async function explain(connection: Connection, text: string): Promise<string> {
  const plan = await connection.query<Record<string, string>>(`explain ${text}`);
  return plan.map((row) => row['QUERY PLAN']).join('\n');
}

async function run(connection: Connection): Promise<void> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, at) => (at === 0 ? 'default' : `account-${at}`));
  for (const account of accounts)
    for (const statement of FILL) await connection.query(statement.replaceAll(`'default'`, `'${account}'`));
  await connection.query('vacuum analyze');
  const now = new Date().toISOString();
  for (const what of ['counted_days_ms', 'counted_again_ms']) {
    const begunMs = performance.now();
    for (const accountId of accounts)
      for (const stream of ['followups', 'training-employee-status', 'equipments'] as const)
        await connection.db.transaction((tx) => countDays(tx, { accountId, stream, now }, true));
    print({ [what]: Math.round(performance.now() - begunMs) });
  }
  await connection.query('vacuum full analyze safety.followups');
  await connection.query('vacuum analyze');

  const views = await connection.query<{ name: string }>(
    `select viewname as name from pg_views where schemaname = 'safety' order by 1`,
  );
  const all = views.map(({ name }) => [name, `select * from safety.${name}`] as const);
  const late: string[] = [];
  for (const [what, text] of [...all, ...Object.entries(QUESTIONS), ...readQuestions()]) {
    const ms = await measure(connection, text);
    const isKept = ms <= PROMISED_MS;
    print({ what, ms: Math.round(ms * 10) / 10, is_kept: isKept });
    if (isKept) continue;
    late.push(what);
    if (process.argv.includes('--plans'))
      process.stdout.write(`${await explain(connection, `(analyze, buffers) ${text}`)}\n`);
  }
  print({ promised_ms: PROMISED_MS, longer: late });
}

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** With the text of docs/questions.md. */
function readQuestions(): (readonly [string, string])[] {
  const text = readFileSync(new URL('../docs/questions.md', import.meta.url), 'utf8');
  return [...text.matchAll(/^### (\d+\. .*)\n\n(?:\w[^\n]*\n(?:[^\n]+\n)*\n)?```sql\n([^`]*)```/gm)].map(
    ([, title = '', sql = '']) => [title, sql.replaceAll(/\s+/g, ' ')] as const,
  );
}

const server = await startServer();
const warehouse = await server.createWarehouse();
try {
  print({
    server: server.description,
    accounts: ACCOUNTS,
    of_each: { followups: FOLLOWUPS, employees: EMPLOYEES, equipment: EQUIPMENT },
  });
  await run(warehouse.connection);
} finally {
  await (process.env['KEEP'] === undefined ? warehouse.drop() : warehouse.connection.close());
  await server.close();
}
