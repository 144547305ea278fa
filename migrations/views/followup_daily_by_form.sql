-- A number applies until the next one, the last one to today. The planner expects ten elements of an array, which is about
-- right, but a thousand rows of generate_series, and would compile the plan for longer than the query takes.
create or replace view safety.followup_daily_by_form as
select d.account_id, d.date, d.status, d.records::bigint as followups, nullif(d.id, '')::bigint as form_id,
  coalesce(form.label, form_name.name, nullif(d.id, '') collate "default") as form_label,
  d.today - d.date as days_ago, d.counted @> d.date as is_counted,
  d.account_id || '/' || nullif(d.id, '') as form_key,
  coalesce(form_group.label, form_group_name.name, form.parent_id collate "default") as form_group
from (
  select c.account_id, c.id, c.status, p.records, p.in_service, n.today, n.counted, p.from_on + d.number::int - 1 as date
  from (select account_id, counted, (now() at time zone timezone)::date as today from safety.counted_days where stream = 'followups') n
  join safety.day_counts c on c.account_id = n.account_id and c.stream = 'followups' and c.counted_by = 'form'
  cross join lateral unnest(c.days, c.records, c.in_service, c.days[2:] || (n.today + 1)) as p (from_on, records, in_service, to_on)
  cross join lateral unnest(array_fill(0, array[greatest(least(p.to_on, n.today + 1) - p.from_on, 0)])) with ordinality as d (zero, number)
  where p.records > 0
) d
left join safety.labels form on form.account_id = d.account_id and form.kind = 'form' and form.id = d.id
left join safety.names form_name on form_name.account_id = d.account_id and form_name._key = 'form:' || d.id
left join safety.labels form_group on form_group.account_id = d.account_id and form_group.kind = 'form' and form_group.id = form.parent_id
left join safety.names form_group_name on form_group_name.account_id = d.account_id and form_group_name._key = 'form:' || form.parent_id;
