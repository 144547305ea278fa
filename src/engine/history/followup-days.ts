/**
 * Days of follow-ups. A period is a range of days with equal numbers of open, overdue and closed follow-ups. A row of
 * `safety.followup_days` holds those of an assignee, a form or all that begin in one year, as arrays, because a row for
 * each period takes eight times the space. Periods in the future show the counts that result if nothing changes (open today, overdue
 * after its due day). So the start of a day writes none; the views end at `safety.counted_days.counted_to`.
 *
 * A change removes its follow-ups from the periods with their old values, and adds them with their new values, in its
 * transaction. Both are done by deltas: a delta is the difference of each number on a day.
 */
import { type SQL, sql } from 'drizzle-orm';
import { boolean, date, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { accountId, safetySchema } from '../streams/columns.ts';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';

export const followupDays = safetySchema.table(
  'followup_days',
  {
    account_id: accountId(),
    counted_by: text().$type<'all' | 'assignee' | 'form'>().notNull(),
    /** The id of the assignee or form; empty: none. */
    id: text().notNull(),
    /** First day of the first period. */
    from_on: date({ mode: 'string' }).notNull(),
    /** Day after the last period; `infinity` if the last period has no end. */
    to_on: date({ mode: 'string' }).notNull(),
    /** First day of each period, in order; each period ends where the next one begins. */
    days: date({ mode: 'string' }).array().notNull(),
    open: integer().array().notNull(),
    overdue: integer().array().notNull(),
    closed: integer().array().notNull(),
    unknown: integer().array().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.counted_by, t.id, t.from_on] })],
);

export const countedDays = safetySchema.table(
  'counted_days',
  {
    account_id: accountId(),
    stream: text().$type<StreamName>().notNull(),
    /** The time zone of the days. */
    timezone: text().notNull(),
    counted_to: date({ mode: 'string' }).notNull(),
    /** Days before this one are final: rows behind them were removed, so they cannot be counted again. */
    final_before: date({ mode: 'string' }),
    /** false: rows were changed in place, so the next run counts all days again. */
    is_valid: boolean().notNull().default(true),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.stream] })],
);

/** Days that are counted, and how. */
type CountedDays = Readonly<{ accountId: string; timezone: string; finalBefore: string | null }>;

const DELTAS = sql.raw('pg_temp.stage_days');
const NUMBERS = ['open', 'overdue', 'closed', 'unknown'] as const;
const anyOf = (alias: string): SQL => sql.raw(NUMBERS.map((one) => `${alias}.${one} <> 0`).join(' or '));
const ofNumbers = (toSql: (column: string) => string): SQL => sql.raw(NUMBERS.map(toSql).join(', '));
/** Deltas that wait in the session. Their ids sort by bytes, because other collations take a third longer. */
export async function createDayStage(db: Queryable): Promise<void> {
  await db.execute(sql`create temporary table if not exists stage_days (counted_by text, id text collate "C", day date,
    open int, overdue int, closed int, unknown int)`);
}

/** null: the days have to be counted as a whole. */
export async function readCountedDays(db: Queryable, account: string): Promise<CountedDays | null> {
  const [row] = await db.execute<CountedDays>(sql`
    select n.account_id as "accountId", n.timezone, n.final_before::text as "finalBefore" from ${countedDays} n
    where n.account_id = ${account} and n.stream = 'followups' and n.is_valid
      and n.timezone = coalesce((select z.timezone from safety.reporting_settings z where z.account_id = ${account}), 'UTC')`);
  return row ?? null;
}

/**
 * Deltas of follow-ups as they are stored, negative ones with `sign` -1. `keys` null: all follow-ups. A state counts as open
 * up to its due day, as overdue up to the day before it was closed, then as closed. The first state begins when the
 * follow-up was raised. A closing time after the beginning of the state comes from a device with a clock that is ahead.
 */
function deltasOf(
  { accountId: account, timezone, finalBefore }: CountedDays,
  { keys, sign }: { readonly keys: readonly string[] | null; readonly sign: 1 | -1 },
): SQL {
  const chosen = (alias: string): SQL =>
    keys === null ? sql`` : sql`and ${sql.raw(alias)}.id = any (${toArrayLiteral(keys)}::text[])`;
  const day = (time: string): SQL => sql`(${sql.raw(time)} at time zone ${timezone}::text)::date`;
  const columns =
    's.account_id, s.id, s.assignee_id, s.form_id, s.is_open, s.due_on, s.created_at, s.resolved_at';
  const closing = (number: string): string[] => [
    `case when is_known then ${number} else 0 end`,
    `case when is_known then 0 else ${number} end`,
  ];
  const delta = (at: string, numbers: readonly string[]): SQL =>
    sql.raw(
      `select assignee, form, ${[at, ...numbers.map((one) => `${String(sign)} * ${one}`)].join(', ')} from ranges`,
    );
  return sql`with ranges as materialized (
      select r.*, greatest(r.from_on, least(r.due_on + 1, r.closed_on, r.to_on)) as late_on,
        greatest(r.from_on, least(r.closed_on, r.to_on)) as done_on
      from (
        select coalesce(h.assignee_id, '') as assignee, coalesce(h.form_id::text, '') as form, h.is_open is not null as is_known,
          h.due_on, greatest(case when h.valid_from > f.first_from then ${day('h.valid_from')}
            else ${day('least(h.created_at, h.valid_from)')} end, ${finalBefore}::date) as from_on,
          greatest(coalesce(${day('h.valid_to')}, 'infinity'), ${finalBefore}::date) as to_on,
          case when h.is_open then date 'infinity' when h.is_open is null then date '-infinity'
            else ${day('least(h.resolved_at, h.valid_from)')} end as closed_on
        from (
          select ${sql.raw(columns)}, s.valid_from, s.valid_to from safety.followup_states s
          where s.account_id = ${account} ${chosen('s')}
          union all
          select ${sql.raw(columns)}, s._valid_from, case when s._deleted_at is not null
            then greatest(s._deleted_at, s._valid_from + interval '1 microsecond') end
          from safety.followups s where s.account_id = ${account} ${chosen('s')}
        ) h left join (
          select s.account_id, s.id, min(s.valid_from) as first_from from safety.followup_states s
          where s.account_id = ${account} ${chosen('s')} group by s.account_id, s.id
        ) f on f.account_id = h.account_id and f.id = h.id
      ) r
    )
    select case grouping(assignee, form) when 3 then 'all' when 1 then 'assignee' else 'form' end as counted_by,
      case grouping(assignee, form) when 3 then '' when 1 then assignee else form end collate "C" as id, day,
      ${ofNumbers((one) => `sum(${one})::int as ${one}`)}
    from (
      ${delta('from_on', ['1', '0', '0', '0'])} union all ${delta('late_on', ['-1', '1', '0', '0'])}
      union all ${delta('done_on', ['0', '-1', ...closing('1')])} union all ${delta('to_on', ['0', '0', ...closing('-1')])}
    ) s (assignee, form, day, ${ofNumbers((one) => one)})
    where day < 'infinity' group by grouping sets ((day), (assignee, day), (form, day))`;
}

/** Stages the deltas of these follow-ups. */
export async function addDeltas(
  db: Queryable,
  days: CountedDays,
  request: { readonly keys: readonly string[]; readonly sign: 1 | -1 },
): Promise<void> {
  if (request.keys.length > 0) await db.execute(sql`insert into ${DELTAS} ${deltasOf(days, request)}`);
}

/** Adds the deltas of the stored periods of rows `d` of `from`, up to `before`. */
async function addPeriods(db: Queryable, from: SQL, before: string | null = null): Promise<void> {
  await db.execute(sql`insert into ${DELTAS}
    select d.counted_by, d.id, t.* from ${from}
    cross join lateral unnest(d.days, d.days[2:] || d.to_on, ${ofNumbers((one) => `d.${one}`)})
      as s (from_on, to_on, ${ofNumbers((one) => one)})
    cross join lateral (values
      (s.from_on, ${ofNumbers((one) => `s.${one}`)}),
      (least(s.to_on, ${before}::date), ${ofNumbers((one) => `-s.${one}`)})) as t (day, ${ofNumbers((one) => one)})
    where t.day < 'infinity' and s.from_on < coalesce(${before}::date, 'infinity')`);
}

const STAGED_DELTAS = sql`select counted_by, id, day, ${ofNumbers((one) => `sum(${one})::int as ${one}`)}
  from ${DELTAS} group by counted_by, id, day`;

/**
 * Makes periods of deltas, one for each id and day. The deltas of one id are sorted by themselves, because a sort of all of them
 * takes half of the time of a count.
 */
async function writePeriods(db: Queryable, account: string, deltas = STAGED_DELTAS): Promise<void> {
  await db.execute(sql`insert into ${followupDays} (account_id, counted_by, id, from_on, to_on, days, ${ofNumbers((one) => one)})
    select ${account}::text, t.counted_by, t.id, s.*
    from (
      select counted_by, id, array_agg(day) as days, ${ofNumbers((one) => `array_agg(${one}) as ${one}`)}
      from (${deltas}) deltas where ${anyOf('deltas')} group by counted_by, id
    ) t cross join lateral (
      select min(day), max(next_day), array_agg(day), ${ofNumbers((one) => `array_agg(${one})`)}
      from (
        select day, coalesce(lead(day) over w, 'infinity') as next_day, ${ofNumbers((one) => `(sum(${one}) over w)::int as ${one}`)}
        from unnest(t.days, ${ofNumbers((one) => `t.${one}`)}) as d (day, ${ofNumbers((one) => one)})
        window w as (order by day)
      ) s
      group by date_part('year', day) having t.counted_by = 'all' or bool_or(${anyOf('s')})
    ) s`);
  await db.execute(sql`truncate ${DELTAS}`);
}

type DayChange = Readonly<{ counted_by: string; id: string; first_on: string }>;

/** Applies the deltas that were added: each changes its periods from its day on. */
export async function applyDeltas(db: Queryable, account: string): Promise<void> {
  // Most changes of a follow-up add the deltas that they remove.
  const changed = await db.execute<DayChange>(sql`
    select counted_by, id, min(day)::text as first_on from (${STAGED_DELTAS}) s where ${anyOf('s')} group by counted_by, id`);
  if (changed.length === 0) {
    await db.execute(sql`truncate ${DELTAS}`);
    return;
  }
  const column = (name: keyof DayChange): SQL => sql`${toArrayLiteral(changed.map((one) => one[name]))}`;
  const keys = sql`unnest(${column('counted_by')}::text[], ${column('id')}::text[], ${column('first_on')}::date[])
    as c (counted_by, id, first_on)`;
  const periodsOfKey = sql`${followupDays} d where d.account_id = ${account} and d.counted_by = c.counted_by and d.id = c.id`;
  // The period of a change begins before it. The oldest beginning bounds the read, because most changes are recent.
  const [oldest] = await db.execute<{ day: string }>(sql`
    select min(coalesce(b.from_on, c.first_on))::text as day
    from ${keys} cross join lateral (select max(d.from_on) as from_on from ${periodsOfKey} and d.from_on <= c.first_on) b`);
  const touched = sql`d.account_id = ${account} and d.counted_by = c.counted_by and d.id = c.id
    and d.to_on > c.first_on and d.from_on >= ${oldest?.day ?? null}::date`;
  await addPeriods(db, sql`${keys} join ${followupDays} d on ${touched}`);
  await db.execute(sql`delete from ${followupDays} d using ${keys} where ${touched}`);
  await writePeriods(db, account);
}

interface DayCount extends TransactionTime {
  readonly accountId: string;
  readonly stream: StreamName;
  /** Counts days of follow-ups. The days of other streams are computed from their histories. */
  readonly keepsPeriods: boolean;
}

/** Counts today at the end of a successful run. Runs in the transaction that stores the last rows. */
export async function countDays(db: Queryable, request: DayCount): Promise<void> {
  const { accountId: account, stream, now, keepsPeriods } = request;
  if (keepsPeriods && (await readCountedDays(db, account)) === null) await countAll(db, account);
  // A correct row is neither written nor locked.
  await db.execute(sql`
    insert into ${countedDays} as n (account_id, stream, timezone, counted_to)
    select ${account}::text, ${stream}::text, z.timezone, z.today
    from (
      select coalesce(max(s.timezone), 'UTC') as timezone,
        (${now}::timestamptz at time zone coalesce(max(s.timezone), 'UTC'))::date as today
      from safety.reporting_settings s where s.account_id = ${account}
    ) z
    where not exists (select from ${countedDays} c where c.account_id = ${account} and c.stream = ${stream} and c.is_valid
      and c.timezone = z.timezone and c.counted_to >= z.today)
    on conflict (account_id, stream) do update set timezone = excluded.timezone, is_valid = true,
      counted_to = case when n.timezone = excluded.timezone then greatest(n.counted_to, excluded.counted_to)
        else excluded.counted_to end`);
}

/** Days that are final keep their numbers; `renamed`: under other ids. Returns the time zone of the days. */
async function countAll(db: Queryable, account: string, renamed: readonly Renamed[] = []): Promise<string> {
  const [days = { accountId: account, timezone: 'UTC', finalBefore: null }] =
    await db.execute<CountedDays>(sql`
    select ${account}::text as "accountId", z.timezone, (select n.final_before::text from ${countedDays} n
      where n.account_id = ${account} and n.stream = 'followups') as "finalBefore"
    from (select coalesce(max(s.timezone), 'UTC') as timezone from safety.reporting_settings s where s.account_id = ${account}) z`);
  const { timezone, finalBefore } = days;
  // Sorts of 100,000 follow-ups stay in memory.
  await db.execute(sql`set local work_mem = '64MB'`);
  const deltas = deltasOf(days, { keys: null, sign: 1 });
  if (finalBefore !== null) {
    await db.execute(sql`insert into ${DELTAS} ${deltas}`);
    await addPeriods(db, sql`(select * from ${followupDays} where account_id = ${account}) d`, finalBefore);
    const column = (name: keyof Renamed): SQL =>
      sql`${toArrayLiteral(renamed.map((one) => one[name]))}::text[]`;
    await db.execute(sql`update ${DELTAS} s set id = r.next
      from unnest(${column('countedBy')}, ${column('id')}, ${column('next')}) as r (counted_by, id, next)
      where s.counted_by = r.counted_by and s.id = r.id`);
  }
  await db.execute(sql`delete from ${followupDays} where account_id = ${account}`);
  // Deltas of stored rows alone need not wait in the session.
  await writePeriods(db, account, finalBefore === null ? deltas : undefined);
  return timezone;
}

/** Makes the days before this time final, because rows behind them are about to be removed. Returns whether days are counted. */
export async function finishDays(db: Queryable, account: string, before: string): Promise<boolean> {
  const { count } = await db.execute(sql`update ${countedDays} n
    set final_before = greatest(n.final_before, (${before}::timestamptz at time zone n.timezone)::date)
    where n.account_id = ${account} and n.stream = 'followups' and n.is_valid`);
  return count > 0;
}

/** Rows were changed in place: the next run counts all days that it can. */
export async function voidDays(db: Queryable, account: string): Promise<void> {
  await db.execute(
    sql`update ${countedDays} set is_valid = false
    where account_id = ${account} and stream = 'followups'`,
  );
}

interface Renamed {
  readonly countedBy: string;
  readonly id: string;
  readonly next: string;
}

/**
 * Counts all days again after rows were changed in place. Assignees and forms of final days get the id of `toId`. Returns the
 * number of changed ids.
 */
export async function recountDays(
  db: Queryable,
  account: string,
  toId: (countedBy: string, id: string | null) => string | null,
): Promise<number> {
  const rows = await db.execute<{ countedBy: string; id: string }>(sql`
    select distinct counted_by as "countedBy", id from ${followupDays} where account_id = ${account}`);
  if (rows.length === 0) return 0;
  const renamed = rows.flatMap(({ countedBy, id }) => {
    const next = toId(countedBy, id === '' ? null : id) ?? '';
    return next === id ? [] : [{ countedBy, id, next }];
  });
  const timezone = await countAll(db, account, renamed);
  await db.execute(sql`update ${countedDays} set is_valid = (timezone = ${timezone}::text)
    where account_id = ${account} and stream = 'followups'`);
  return renamed.length;
}
