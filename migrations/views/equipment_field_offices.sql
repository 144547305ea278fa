create or replace view safety.equipment_field_offices as
select e.account_id, e.id as equipment_id, offices.field_office_id,
  coalesce(office.label, office_name.name, offices.field_office_id collate "default") as field_office_label, e.account_id || '/' || e.id as equipment_key,
  coalesce(office_group.label, office_group_name.name, office.parent_id collate "default") as field_office_group,
  e.account_id || '/' || offices.field_office_id as field_office_key
from safety.equipment e cross join lateral unnest(e.field_office_ids) as offices (field_office_id)
left join safety.labels office on office.account_id = e.account_id and office.kind = 'field_office' and office.id = offices.field_office_id
left join safety.names office_name on office_name.account_id = e.account_id and office_name._key = 'field_office:' || offices.field_office_id
left join safety.labels office_group on office_group.account_id = e.account_id and office_group.kind = 'field_office' and office_group.id = office.parent_id
left join safety.names office_group_name on office_group_name.account_id = e.account_id and office_group_name._key = 'field_office:' || office.parent_id
where e._deleted_at is null;
