create or replace view safety.current_resource_versions as
select account_id, resource_id, title, category_id, sequence, should_be_available_offline, ordinal, version, description,
  type, file, link, size, created_at, approved_at, creator_id, creator_name, category_label, created_on, approved_on, age_days,
  resource_key, creator_key, record_url
from safety.resource_version_overview
where is_current;
