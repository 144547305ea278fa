/**
 * Days are counts: at its end a run writes how many records have each status today, where that differs from the row before. Days
 * without a run, and those before the first one, are counted once, from states; a day that is over is not changed any more.
 * The views carry the last counted day forward to today.
 */
import { type SQL, sql } from 'drizzle-orm';
import { customType, date, integer, text } from 'drizzle-orm/pg-core';
import { safetyTable, idText } from '../streams/columns.ts';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';

const day = () => date({ mode: 'string' }).notNull();
const multirangeOfDays = customType<{ data: string }>({ dataType: () => 'datemultirange' });

export const dayCounts = safetyTable('day_counts', ['stream', 'counted_by', 'id', 'status'], {
  stream: idText().$type<StreamName>().notNull(),
  counted_by: idText().$type<'all' | 'assignee' | 'form'>().notNull(),
  /** The id of the assignee or form; empty: none. */
  id: idText().notNull(),
  status: idText().notNull(),
  /** The days on which another number begins, the earliest first. */
  days: date({ mode: 'string' }).array().notNull(),
  /** The numbers, one for each of the days. */
  records: integer().array().notNull(),
  in_service: integer().array().notNull(),
});

export const countedDays = safetyTable('counted_days', ['stream'], {
  stream: idText().$type<StreamName>().notNull(),
  /** The time zone of the days. */
  timezone: text().notNull(),
  /** The day of the first run: what is older was not observed. */
  history_from: day(),
  counted_to: day(),
  /** The days that a run has counted. */
  counted: multirangeOfDays().notNull(),
});

/** First day of the calendar. */
const FIRST_DAY = '2000-01-01';

interface Scope {
  readonly account: string;
  readonly timezone: string;
  readonly today: string;
  /** Also days before today are counted. */
  readonly isPast: boolean;
}

/** A row for each period in which a record had one status. */
type ToSpans = (scope: Scope) => SQL;

const localDay = (time: string, { timezone }: Scope): SQL =>
  sql`(${sql.raw(time)} at time zone ${timezone}::text)::date`;
const ALL_DAYS = sql`date '-infinity' as from_on, date 'infinity' as to_on`;
const liveOf = (entity: string, account: string): SQL =>
  sql`safety.${sql.raw(entity)} t where t.account_id = ${account} and t._deleted_at is null`;

/** The states of the rows `t` of a table, present ones included. */
const statesOf = (entity: string, states: string, columns: SQL, account: string): SQL => sql`
  select ${columns}, t._valid_from as valid_from, case when t._deleted_at is not null
    then greatest(t._deleted_at, t._valid_from + interval '1 microsecond') end as valid_to
  from safety.${sql.raw(entity)} t where t.account_id = ${account}
  union all
  select ${columns}, t.valid_from, t.valid_to from safety.${sql.raw(states)} t where t.account_id = ${account}`;

function spansOf(entity: string, inService: string): ToSpans {
  const columns = sql`coalesce(t.status, 'unknown') as status, ${sql.raw(inService)} as in_service`;
  return (scope) =>
    scope.isPast
      ? sql`select s.status, s.in_service, ${localDay('s.valid_from', scope)} as from_on,
          coalesce(${localDay('s.valid_to', scope)}, 'infinity') as to_on
        from (${statesOf(entity, `${entity}_states`, columns, scope.account)}) s`
      : sql`select ${columns}, ${ALL_DAYS} from ${liveOf(entity, scope.account)}`;
}

/**
 * A follow-up is open up to its due day, overdue up to the day before it was closed, then closed. Before its first
 * state it was open since it was raised, and its messages show the assignees: before the first message that hands it on
 * the assignee is unknown. A closing time after the beginning of the state comes from a device with a clock that is
 * ahead; one before it lies in the state before, if the record changed again until the next run.
 */
function followupSpans(scope: Scope): SQL {
  const { account, today, isPast } = scope;
  if (!isPast) {
    return sql`select case when t.is_open is null then 'unknown' when not t.is_open then 'closed'
        when t.due_on < ${today}::date then 'overdue' else 'open' end as status, 0 as in_service, ${ALL_DAYS},
        coalesce(t.assignee_id, '') as assignee, t.form_id as form
      from ${liveOf('followups', account)}`;
  }
  const columns = sql`t.id, t.assignee_id, t.form_id, t.is_open, t.due_on, t.resolved_at, t.created_at`;
  return sql`with known as materialized (
      select s.*, s.created_at < s.valid_from and s.valid_from = coalesce(f.began, s.valid_from) as is_first
      from (${statesOf('followups', 'followup_states', columns, account)}) s
      left join (select id, min(valid_from) as began from safety.followup_states where account_id = ${account} group by id) f using (id)
    ), handed as materialized (
      select k.*, m.reassignee_id as holder_id, greatest(m.sent_at, k.created_at) as held_from, m.position from known k
      join safety.followup_messages m on m.account_id = ${account} and m.followup_id = k.id
      where k.is_first and m.reassignee_id <> '' and m.sent_at < k.valid_from
    ), turns as (
      select id, form_id, is_open, due_on, resolved_at, valid_from, valid_to, assignee_id as holder_id, valid_to as held_to,
        case when is_first and id not in (select id from handed) then created_at else valid_from end as held_from from known
      union all
      select id, form_id, is_open, due_on, resolved_at, valid_from, valid_to, holder_id,
        least(lead(held_from, 1, valid_from) over (partition by id order by held_from, position), valid_to), held_from
      from (
        select * from handed
        union all select *, null, created_at, 0 from known where is_first and id in (select id from handed)
      ) h
    ), dated as materialized (
      select is_open, from_on, to_on, assignee, form,
        greatest(from_on, least(due_on + 1, closed_on, to_on)) as late_on, greatest(from_on, least(closed_on, to_on)) as done_on
      from (
        select t.is_open, t.due_on, coalesce(holder_id, '') as assignee, t.form_id as form,
          ${localDay('held_from', scope)} as from_on, coalesce(${localDay('held_to', scope)}, 'infinity') as to_on,
          case when t.is_open then coalesce(${localDay('n.resolved_at', scope)}, 'infinity') when t.is_open is null then date '-infinity'
            else ${localDay('least(t.resolved_at, t.valid_from)', scope)} end as closed_on
        from turns t left join known n on n.id = t.id and n.valid_from = t.valid_to and not n.is_open and not n.is_first
          and n.resolved_at >= t.valid_from offset 0
      ) d
    )
    select 'open' as status, 0 as in_service, from_on, late_on as to_on, assignee, form from dated where from_on < late_on
    union all select 'overdue', 0, late_on, done_on, assignee, form from dated where late_on < done_on
    union all select case when is_open is null then 'unknown' else 'closed' end, 0, done_on, to_on, assignee, form from dated
      where done_on < to_on`;
}

interface Counting {
  readonly toSpans: ToSpans;
  /** Statuses with a row also for days on which no record has them. */
  readonly statuses: readonly string[];
  readonly key: SQL;
  readonly sets: SQL;
}

const IN_TOTAL = { key: sql`'all', ''`, sets: sql`(status, day)` };
const COUNTINGS: Readonly<Record<StreamName, Counting>> = {
  followups: {
    toSpans: followupSpans,
    statuses: ['open', 'overdue', 'closed'],
    key: sql`case grouping(assignee, form) when 3 then 'all' when 1 then 'assignee' else 'form' end,
      case grouping(assignee, form) when 3 then '' when 1 then assignee else coalesce(form::text, '') end`,
    sets: sql`(status, day), (status, assignee, day), (status, form, day)`,
  },
  'training-employee-status': {
    ...IN_TOTAL,
    toSpans: spansOf('training_employee_status', '0'),
    statuses: ['incomplete', 'expiring', 'active', 'unassigned'],
  },
  equipments: {
    ...IN_TOTAL,
    toSpans: spansOf('equipment', 'coalesce(t.is_in_service, false)::int'),
    statuses: ['uptodate', 'expiring', 'expired'],
  },
};

/** Writes the numbers of the days from `fromOn` to today: each is the number before plus what began minus what ended. */
async function writeCounts(
  db: Queryable,
  { stream, fromOn, ...scope }: Scope & Readonly<Record<'stream' | 'fromOn', string>>,
  { toSpans, statuses, key, sets }: Counting,
): Promise<void> {
  const ofKey = sql.raw('counted_by, id, status');
  await db.execute(sql`
    with spans as materialized (
      select greatest(from_on, ${fromOn}::date) as first_on, s.* from (${toSpans(scope)}) s
      where greatest(from_on, ${fromOn}::date) < to_on and from_on <= ${scope.today}::date
    ),
    deltas (counted_by, id, status, day, records, in_service) as (
      select ${key}, status, day, sum(change)::int, sum(change * in_service)::int
      from (
        select *, first_on as day, 1 as change from spans union all select *, to_on, -1 from spans where to_on <= ${scope.today}::date
      ) d group by grouping sets (${sets}) having sum(change) <> 0 or sum(change * in_service) <> 0
    ),
    latest as (
      select ${ofKey}, records[cardinality(days)] as records, in_service[cardinality(days)] as in_service
      from ${dayCounts} d where d.account_id = ${scope.account} and d.stream = ${stream}
    ),
    changes as (
      select ${ofKey}, array_agg(day) as days, array_agg(records) as records, array_agg(in_service) as in_service
      from (
        table deltas union all select ${ofKey}, ${fromOn}::date, 0, 0 from latest
        union all select 'all', '', known.status, first.day, 0, 0
        from unnest(${toArrayLiteral(statuses)}::text[]) as known (status), (select min(first_on) as day from spans) first
        where first.day is not null and not exists (select from latest l where l.counted_by = 'all' and l.status = known.status)
      ) c group by ${ofKey}
    )
    insert into ${dayCounts} as c (account_id, stream, ${ofKey}, days, records, in_service)
    select ${scope.account}::text, ${stream}::text, ${ofKey}, n.days, n.records, n.in_service
    from changes c left join latest l using (${ofKey})
    cross join lateral (
      select array_agg(day order by day) as days, array_agg(s.records order by day) as records, array_agg(s.in_service order by day) as in_service
      from (
        select day, (sum(sum(records)::int) over w)::int as records, (sum(sum(in_service)::int) over w)::int as in_service
        from unnest(c.days, c.records, c.in_service) as u (day, records, in_service) group by day window w as (order by day rows unbounded preceding)
      ) s where day > ${fromOn}::date or (s.records, s.in_service) is distinct from (l.records, l.in_service)
    ) n where n.days is not null
    on conflict (account_id, stream, ${ofKey}) do update set (days, records, in_service) = (
      select trim_array(c.days, again) || excluded.days, trim_array(c.records, again) || excluded.records,
        trim_array(c.in_service, again) || excluded.in_service
      from (select (c.days[cardinality(c.days)] = excluded.days[1])::int as again) a)`);
}

/**
 * Counts today, and days before that no run has counted. Runs in the last transaction of a successful run. Not `isWhole`: the run
 * has read a part of the stream, which shows nothing of the days before.
 */
export async function countDays(
  db: Queryable,
  { accountId: account, stream, now }: TransactionTime & Readonly<Record<'accountId' | 'stream', string>>,
  isWhole: boolean,
): Promise<void> {
  const counting = COUNTINGS[stream];
  if (counting === undefined) return;
  const [scope] = await db.execute<
    Record<'timezone' | 'today', string> & { fromOn: string | null; isCounted: boolean }
  >(sql`
    select z.timezone, z.today::text as today, n.timezone = z.timezone and n.counted_to = z.today as "isCounted", (case when n.timezone = z.timezone then
      case when n.counted_to < z.today then n.counted_to + 1 else n.counted_to end end)::text as "fromOn"
    from (
      select coalesce(max(s.timezone), 'UTC') as timezone,
        (${now}::timestamptz at time zone coalesce(max(s.timezone), 'UTC'))::date as today
      from safety.reporting_settings s where s.account_id = ${account}
    ) z left join ${countedDays} n on n.account_id = ${account} and n.stream = ${stream}`);
  if (scope === undefined) return;
  const { timezone, today, fromOn, isCounted } = scope;
  // The clock was put back: the days ahead stay as they are.
  if (fromOn !== null && fromOn > today) return;
  const isPast = fromOn !== today;
  if (isPast && !isWhole) return;
  // Sorts of 100,000 follow-ups stay in memory. The planner expects one row of an account that is new to the
  // statistics: loops over all of its rows would take hours.
  if (isPast)
    await db.execute(
      sql`select set_config('work_mem', '64MB', true), set_config('enable_nestloop', 'off', true)`,
    );
  // In another time zone no counted day has the same beginning.
  if (fromOn === null)
    await db.execute(sql`delete from ${dayCounts} where account_id = ${account} and stream = ${stream}`);
  await writeCounts(db, { account, timezone, isPast, stream, fromOn: fromOn ?? FIRST_DAY, today }, counting);
  // A correct row is neither written nor locked.
  if (isCounted) return;
  await db.execute(sql`
    insert into ${countedDays} as n (account_id, stream, timezone, history_from, counted_to, counted)
    values (${account}, ${stream}, ${timezone}, ${today}::date, ${today}::date, datemultirange(daterange(${today}::date, ${today}::date, '[]')))
    on conflict (account_id, stream) do update set timezone = excluded.timezone, counted_to = excluded.counted_to,
      counted = case when n.timezone = excluded.timezone then n.counted + excluded.counted else excluded.counted end`);
}

/**
 * Counts keep no id that the privacy settings hide. `toId` null: an omitted column, with the numbers of all records.
 * Numbers of ids that become one are added: that of a person who was forgotten before has days already. Returns the
 * number of changed ids.
 */
export async function renameCounted(
  db: Queryable,
  account: string,
  toId: (countedBy: string, id: string) => string | null,
): Promise<number> {
  const ofFollowups = sql`d.account_id = ${account} and d.stream = 'followups'`;
  const rows = await db.execute<{ countedBy: string; id: string }>(sql`
    select distinct counted_by as "countedBy", id from ${dayCounts} d where ${ofFollowups} and id <> ''`);
  const renamed = rows
    .map(({ countedBy, id }) => ({ countedBy, id, next: toId(countedBy, id) }))
    .filter(({ id, next }) => next !== id);
  const texts = (column: 'countedBy' | 'id' | 'next') =>
    sql`${toArrayLiteral(renamed.map((one) => one[column]))}::text[]`;
  await db.execute(sql`
    with moved as (
      delete from ${dayCounts} d using unnest(${texts('countedBy')}, ${texts('id')}, ${texts('next')}) as r (by, before, next)
      where ${ofFollowups} and d.counted_by = r.by and d.id in (r.before, r.next) returning d.*, r.next
    ), steps as (
      select m.counted_by, m.next, m.status, u.day,
        u.records - lag(u.records, 1, 0) over (partition by m.counted_by, m.id, m.status order by u.day) as change
      from moved m cross join lateral unnest(m.days, m.records) as u (day, records)
    ), sums as (
      select counted_by, next, status, day, (sum(sum(change)) over (partition by counted_by, next, status order by day))::int as records
      from steps group by counted_by, next, status, day
    )
    insert into ${dayCounts} (account_id, stream, counted_by, id, status, days, records, in_service)
    select ${account}::text, 'followups', counted_by, next, status, array_agg(day order by day), array_agg(records order by day),
      array_fill(0, array[count(*)::int])
    from sums where next is not null group by counted_by, next, status`);
  return renamed.length;
}
