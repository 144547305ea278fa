create or replace view safety.equipment_field_offices as
select e.account_id, e.id as equipment_id, offices.field_office_id,
  coalesce(office.label, offices.field_office_id collate "default") as field_office_label, e.account_id || '/' || e.id as equipment_key,
  office.group_label as field_office_group, e.account_id || '/' || offices.field_office_id as field_office_key
from safety.equipment e cross join lateral unnest(e.field_office_ids) as offices (field_office_id)
left join safety.id_labels office
  on office.account_id = e.account_id and office.kind = 'field_office' and office.id = offices.field_office_id
where e._deleted_at is null;
