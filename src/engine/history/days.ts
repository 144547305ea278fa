/**
 * Days are counts: at its end a run writes how many records have each status today, where that differs from the row before. Days
 * without a run, and those before the first one, are counted once, from states; a day that is over is not changed any more.
 * The views carry the last counted day forward to today.
 */
import { type SQL, sql } from 'drizzle-orm';
import { customType, date, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { accountId, safetySchema, idText } from '../streams/columns.ts';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';

const day = () => date({ mode: 'string' }).notNull();
const multirangeOfDays = customType<{ data: string }>({ dataType: () => 'datemultirange' });

export const dayCounts = safetySchema.table(
  'day_counts',
  {
    account_id: accountId(),
    stream: idText().$type<StreamName>().notNull(),
    counted_by: idText().$type<'all' | 'assignee' | 'form'>().notNull(),
    /** The id of the assignee or form; empty: none. */
    id: idText().notNull(),
    status: idText().notNull(),
    from_on: day(),
    /** The day on which another number begins; `infinity`: none yet. */
    to_on: day(),
    records: integer().notNull(),
    in_service: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.stream, t.counted_by, t.id, t.status, t.from_on] }),
    index('day_counts_last_idx')
      .on(t.stream, t.account_id)
      .where(sql`${t.to_on} = 'infinity'`),
  ],
);

export const countedDays = safetySchema.table(
  'counted_days',
  {
    account_id: accountId(),
    stream: idText().$type<StreamName>().notNull(),
    /** The time zone of the days. */
    timezone: text().notNull(),
    /** The day of the first run: what is older was not observed. */
    history_from: day(),
    counted_to: day(),
    /** The days that a run has counted. */
    counted: multirangeOfDays().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.stream] })],
);

/** First day of the calendar. */
const FIRST_DAY = '2000-01-01';

interface Scope {
  readonly account: string;
  readonly timezone: string;
  readonly today: string;
  /** Also days before today are counted. */
  readonly isPast: boolean;
}

/** A row for each time in which a record had one status. */
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

/** What a follow-up is counted by. */
const COUNTED_BY = sql`coalesce(t.assignee_id, '') as assignee, coalesce(t.form_id::text, '') as form`;

/**
 * A follow-up is open up to its due day, overdue up to the day before it was closed, then closed. Before its first state it was
 * open since it was raised, and its messages tell who had it: nobody is known before the first that handed it on. A closing time
 * after the beginning of the state comes from a device with a clock that is ahead.
 */
function followupSpans(scope: Scope): SQL {
  const { account, today, isPast } = scope;
  if (!isPast) {
    return sql`select case when t.is_open is null then 'unknown' when not t.is_open then 'closed'
        when t.due_on < ${today}::date then 'overdue' else 'open' end as status, 0 as in_service, ${ALL_DAYS}, ${COUNTED_BY}
      from ${liveOf('followups', account)}`;
  }
  const columns = sql`t.id, t.assignee_id, t.form_id, t.is_open, t.due_on, t.resolved_at, t.created_at`;
  return sql`with known as (
      select s.*, s.created_at < s.valid_from and s.valid_from = min(s.valid_from) over (partition by s.id) as is_first
      from (${statesOf('followups', 'followup_states', columns, account)}) s
    ), held as (
      select k.*, k.assignee_id as holder_id, k.valid_from as held_from, 2 as step from known k
      union all select k.*, k.assignee_id, k.created_at, 0 from known k where k.is_first
      union all select k.*, m.reassignee_id, greatest(m.sent_at, k.created_at), 1 from known k
        join safety.followup_messages m on m.account_id = ${account} and m.followup_id = k.id
        where k.is_first and m.reassignee_id <> '' and m.sent_at < k.valid_from
    ), turns as (
      select h.form_id, h.is_open, h.due_on, ${localDay('h.held_from', scope)} as from_on,
        coalesce(${localDay('least(lead(h.held_from) over w, h.valid_to)', scope)}, 'infinity') as to_on,
        case when h.step > 0 or lead(h.step) over w = 2 then h.holder_id end as assignee_id,
        case when h.is_open then date 'infinity' when h.is_open is null then date '-infinity'
          else ${localDay('least(h.resolved_at, h.valid_from)', scope)} end as closed_on
      from held h window w as (partition by h.id order by h.held_from, h.step)
    )
    select v.status, 0 as in_service, v.from_on, v.to_on, ${COUNTED_BY}
    from turns t
    cross join lateral (select greatest(t.from_on, least(t.due_on + 1, t.closed_on, t.to_on)) as late_on,
      greatest(t.from_on, least(t.closed_on, t.to_on)) as done_on) c
    cross join lateral (values ('open', t.from_on, c.late_on), ('overdue', c.late_on, c.done_on),
      (case when t.is_open is null then 'unknown' else 'closed' end, c.done_on, t.to_on)) as v (status, from_on, to_on)
    where v.from_on < v.to_on`;
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
      case grouping(assignee, form) when 3 then '' when 1 then assignee else form end`,
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
    with deltas (counted_by, id, status, day, records, in_service) as (
      select ${key}, status, day, sum(change), sum(change * in_service)
      from (
        select s.*, t.* from (${toSpans(scope)}) s
        cross join lateral (values (greatest(s.from_on, ${fromOn}::date), 1), (s.to_on, -1)) as t (day, change)
        where greatest(s.from_on, ${fromOn}::date) < s.to_on and t.day <= ${scope.today}::date
      ) d group by grouping sets (${sets})
    ),
    latest as (
      select ${ofKey}, from_on, records, in_service from ${dayCounts} d
      where d.account_id = ${scope.account} and d.stream = ${stream} and d.to_on = 'infinity'
    ),
    numbers as (
      select ${ofKey}, day, (sum(records) over w)::int as records, (sum(in_service) over w)::int as in_service
      from (
        table deltas
        union all select ${ofKey}, ${fromOn}::date, 0, 0 from latest
        union all select 'all', '', known.status, d.day, 0, 0
          from unnest(${toArrayLiteral(statuses)}::text[]) as known (status), (select min(day) as day from deltas) d where d.day is not null
      ) p window w as (partition by ${ofKey} order by day)
    ),
    changes as (
      select ${ofKey}, n.day, n.records, n.in_service
      from (select *, lag(records) over w as records_before, lag(in_service) over w as in_service_before
        from numbers window w as (partition by ${ofKey} order by day)) n
      left join latest l using (${ofKey})
      where (n.records, n.in_service) is distinct from
        (coalesce(n.records_before, l.records), coalesce(n.in_service_before, l.in_service))
    ),
    ended as (
      update ${dayCounts} d set to_on = c.day
      from (select ${ofKey}, min(day) as day from changes group by ${ofKey}) c
      where d.account_id = ${scope.account} and d.stream = ${stream} and d.to_on = 'infinity' and d.from_on < c.day
        and d.counted_by = c.counted_by and d.id = c.id and d.status = c.status
    )
    insert into ${dayCounts} (account_id, stream, ${ofKey}, from_on, to_on, records, in_service)
    select ${scope.account}::text, ${stream}::text, ${ofKey}, day, coalesce(lead(day) over (partition by ${ofKey} order by day), 'infinity'),
      records, in_service from changes
    on conflict (account_id, stream, ${ofKey}, from_on) do update set to_on = excluded.to_on, records = excluded.records,
      in_service = excluded.in_service`);
}

/** Counts today, and days before that no run has counted. Runs in the last transaction of a successful run. */
export async function countDays(
  db: Queryable,
  { accountId: account, stream, now }: TransactionTime & Readonly<Record<'accountId' | 'stream', string>>,
): Promise<void> {
  const counting = COUNTINGS[stream];
  if (counting === undefined) return;
  const [scope] = await db.execute<{
    timezone: string;
    today: string;
    fromOn: string | null;
    isCounted: boolean;
  }>(sql`
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
  // Sorts of 100,000 follow-ups stay in memory.
  if (isPast) await db.execute(sql`set local work_mem = '64MB'`);
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
 * Counts keep no id that the privacy settings hide. An omitted column is empty in every row, so its counts are those of all
 * follow-ups. Returns the number of changed ids.
 */
export async function renameCounted(
  db: Queryable,
  account: string,
  toId: (countedBy: string, id: string) => string | null,
): Promise<number> {
  const ofFollowups = sql`account_id = ${account} and stream = 'followups'`;
  const rows = await db.execute<{ countedBy: string; id: string }>(sql`
    select distinct counted_by as "countedBy", id from ${dayCounts} where ${ofFollowups} and id <> ''`);
  const renamed = rows
    .map(({ countedBy, id }) => ({ countedBy, id, next: toId(countedBy, id) }))
    .filter(({ id, next }) => next !== id);
  const omitted = new Set(renamed.flatMap(({ countedBy, next }) => (next === null ? [countedBy] : [])));
  for (const countedBy of omitted) {
    await db.execute(sql`delete from ${dayCounts} where ${ofFollowups} and counted_by = ${countedBy}`);
    await db.execute(sql`insert into ${dayCounts}
      select account_id, stream, ${countedBy}::text, id, status, from_on, to_on, records, in_service from ${dayCounts}
      where ${ofFollowups} and counted_by = 'all'`);
  }
  for (const { countedBy, id, next } of renamed) {
    if (next === null || omitted.has(countedBy)) continue;
    await db.execute(sql`update ${dayCounts} set id = ${next}
      where ${ofFollowups} and counted_by = ${countedBy} and id = ${id}`);
  }
  return renamed.length;
}
