create or replace view safety.equipment_projects as
select e.account_id, e.id as equipment_id, projects.project_id,
  coalesce(project.label, project_name.name, projects.project_id::text) as project_label, e.account_id || '/' || e.id as equipment_key
from safety.equipment e cross join lateral unnest(e.project_ids) as projects (project_id)
left join safety.labels project on project.account_id = e.account_id and project.kind = 'project' and project.id = projects.project_id::text
left join safety.names project_name on project_name.account_id = e.account_id and project_name._key = 'project:' || projects.project_id
where e._deleted_at is null;
