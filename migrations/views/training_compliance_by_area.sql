-- People of several areas count in each, and once where several of their areas have one name. Leavers are left out.
create or replace view safety.training_compliance_by_area as
select a.account_id, a.area_kind, a.area, a.area_group, count(distinct c.user_id) as people,
  count(distinct c.user_id) filter (where c.is_compliant) as compliant,
  round(count(distinct c.user_id) filter (where c.is_compliant)::numeric / count(distinct c.user_id), 4) as share
from (
  select account_id, user_id, 'field_office' as area_kind, label as area, group_label as area_group from safety.people_field_offices
  union all
  select account_id, user_id, 'line_of_business', label, group_label from safety.people_lines_of_business
  union all
  select u.account_id, u.id, 'job_title', coalesce(t.label, t_name.name, u.job_title_id collate "default"),
    coalesce(t_group.label, t_group_name.name, t.parent_id collate "default")
  from safety.users u
  left join safety.labels t on t.account_id = u.account_id and t.kind = 'job_title' and t.id = u.job_title_id
  left join safety.names t_name on t_name.account_id = u.account_id and t_name._key = 'job_title:' || u.job_title_id
  left join safety.labels t_group on t_group.account_id = u.account_id and t_group.kind = 'job_title' and t_group.id = t.parent_id
  left join safety.names t_group_name on t_group_name.account_id = u.account_id and t_group_name._key = 'job_title:' || t.parent_id
  where u.job_title_id <> ''
) a
join safety.training_compliance c on c.account_id = a.account_id and c.user_id = a.user_id
where c.is_active is not false and c.is_compliant is not null
group by a.account_id, a.area_kind, a.area, a.area_group;
