create or replace view safety.equipment_type_schedules as
select t.account_id, t.id as equipment_type_id, coalesce(type.label, type_name.name, t.id collate "default") as equipment_type_label,
  (s.item ->> 'id') collate "C" as schedule_id, schedule.name, coalesce(label.label, label_name.name, s.item ->> 'id') as schedule_label,
  case when s.item #>> '{trigger,frequencyInDays}' ~ '^\d{1,6}$' then (s.item #>> '{trigger,frequencyInDays}')::int end as frequency_days,
  case when s.item #>> '{trigger,expiringPeriodInDays}' ~ '^\d{1,6}$' then (s.item #>> '{trigger,expiringPeriodInDays}')::int end as expiring_days,
  case when s.item ->> 'form_id' ~ '^\d{1,18}$' then (s.item ->> 'form_id')::bigint end as form_id,
  coalesce(form.label, form_name.name, s.item ->> 'form_id') as form_label,
  coalesce(form_group.label, form_group_name.name, form.parent_id collate "default") as form_group,
  (t.account_id || '/' || (s.item ->> 'form_id')) collate "C" as form_key, (t.account_id || '/' || (s.item ->> 'id')) collate "C" as schedule_key
from safety.names t
cross join lateral jsonb_array_elements(
  case when jsonb_typeof(t._raw -> 'schedules') = 'array' then t._raw -> 'schedules' else '[]' end) s (item)
left join safety.names schedule on schedule.account_id = t.account_id and schedule._key = 'schedule:' || (s.item ->> 'id')
left join safety.labels type on type.account_id = t.account_id and type.kind = 'equipment_type' and type.id = t.id
left join safety.names type_name on type_name.account_id = t.account_id and type_name._key = 'equipment_type:' || t.id
left join safety.labels label on label.account_id = t.account_id and label.kind = 'schedule' and label.id = s.item ->> 'id'
left join safety.names label_name on label_name.account_id = t.account_id and label_name._key = 'schedule:' || (s.item ->> 'id')
left join safety.labels form on form.account_id = t.account_id and form.kind = 'form' and form.id = s.item ->> 'form_id'
left join safety.names form_name on form_name.account_id = t.account_id and form_name._key = 'form:' || (s.item ->> 'form_id')
left join safety.labels form_group on form_group.account_id = t.account_id and form_group.kind = 'form' and form_group.id = form.parent_id
left join safety.names form_group_name on form_group_name.account_id = t.account_id and form_group_name._key = 'form:' || form.parent_id
where t.kind = 'equipment_type' and t._deleted_at is null;
