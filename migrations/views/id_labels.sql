-- The label by hand, else the name of the service. A label of a kind may be the parent of others, also of those that only the
-- service names: their group. The other views join the two tables by their keys, because PostgreSQL has no statistics of a union.
create or replace view safety.id_labels as
with named as not materialized (
  select account_id, kind, id, coalesce(max(label), max(name)) as label, max(parent_id) as parent_id
  from (
    select account_id, kind, id, label, null as name, parent_id from safety.labels
    union all
    select account_id, kind, id, null, name, null from safety.names
  ) n
  group by account_id, kind, id
)
select n.account_id, n.kind, n.id, n.label, coalesce(g.label, n.parent_id collate "default") as group_label
from named n
left join named g on g.account_id = n.account_id and g.kind = n.kind and g.id = n.parent_id
where n.label is not null or n.parent_id is not null;
