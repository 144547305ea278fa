create or replace view safety.resource_tags as
select r.account_id, r.id as resource_id, tags.tag, r.account_id || '/' || r.id as resource_key
from safety.resources r cross join lateral unnest(r.tags) as tags (tag)
where r._deleted_at is null;
