create or replace view safety.resource_version_overview as
select v.account_id, v.resource_id, r.title, r.category_id, r.sequence, r.should_be_available_offline, v.ordinal,
  v.is_current, v.version, v.description, v.type, v.file, v.link, v.size, v.created_at, v.approved_at, v.creator_id,
  u.name as creator_name, coalesce(category.label, category_name.name, r.category_id collate "default") as category_label,
  (v.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  (v.approved_at at time zone coalesce(z.timezone, 'UTC'))::date as approved_on,
  coalesce(z.today, (now() at time zone 'UTC')::date)
    - (v.created_at at time zone coalesce(z.timezone, 'UTC'))::date as age_days,
  v.account_id || '/' || v.resource_id as resource_key, v.account_id || '/' || nullif(v.creator_id, '') as creator_key,
  case when v.resource_id ~ '^[A-Za-z0-9._~-]+$' then replace(z.resource_url, '{id}', v.resource_id) end as record_url
from safety.resource_versions v
join safety.resources r on r.account_id = v.account_id and r.id = v.resource_id
left join safety.reporting_clock z on z.account_id = v.account_id
left join safety.users u on u.account_id = v.account_id and u.id = v.creator_id
left join safety.labels category on category.account_id = r.account_id and category.kind = 'category' and category.id = r.category_id
left join safety.names category_name on category_name.account_id = r.account_id and category_name._key = 'category:' || r.category_id
where r._deleted_at is null;
