/** Every day once, with the columns that BI tools group days by. The daily views take their days from it. */
import { boolean, date, integer } from 'drizzle-orm/pg-core';
import { safetySchema } from '../engine/streams/columns.ts';
import type { Connection } from '../engine/database/connection.ts';

const day = () => date({ mode: 'string' }).notNull();

export const calendar = safetySchema.table('calendar', {
  date: date({ mode: 'string' }).primaryKey(),
  iso_year: integer().notNull(),
  iso_week: integer().notNull(),
  /** Monday. */
  week_starts_on: day(),
  month_starts_on: day(),
  quarter_starts_on: day(),
  year: integer().notNull(),
  month: integer().notNull(),
  /** 1 = Monday. */
  day_of_week: integer().notNull(),
  is_weekend: boolean().notNull(),
});

/**
 * A loader that started before the owner granted it the table may not write it; this is no failure, because
 * the calendar reaches ten years ahead. Without rows to add no write is started, because on Citus a write to
 * a reference table needs all nodes.
 */
const EXTEND = `do $$
begin
  if (select max(date) from safety.calendar) >= current_date + interval '10 years' then return; end if;
  insert into safety.calendar (date, iso_year, iso_week, week_starts_on, month_starts_on, quarter_starts_on, year, month,
    day_of_week, is_weekend)
  select d.day::date, extract(isoyear from d.day), extract(week from d.day), date_trunc('week', d.day)::date,
    date_trunc('month', d.day)::date, date_trunc('quarter', d.day)::date, extract(year from d.day), extract(month from d.day),
    extract(isodow from d.day), extract(isodow from d.day) >= 6
  from generate_series(
    (select coalesce(max(date) + 1, date '2000-01-01') from safety.calendar)::timestamp,
    (current_date + interval '10 years')::timestamp, interval '1 day') as d (day)
  on conflict (date) do nothing;
exception when insufficient_privilege then null;
end $$`;

/** Adds the days that are missing up to ten years from today; writes nothing when none are. */
export const extendCalendar = (connection: Connection) => connection.query(EXTEND);
