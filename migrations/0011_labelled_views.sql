-- Names beside ids, local days beside times, one-column keys for tools that join on one, and facts. Columns are appended:
-- what stands on these views keeps standing.
-- A label is joined on the whole key of labels: the planner leaves out what is not selected.

-- Grouped by the account, so that it is looked up and worked out once an account, and left out where nobody asks for it.
CREATE OR REPLACE VIEW safety.reporting_clock AS
SELECT s.account_id, max(s.timezone) AS timezone, (now() AT TIME ZONE max(s.timezone))::date AS today
FROM safety.reporting_settings s GROUP BY s.account_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.resource_tags AS
SELECT r.account_id, r.id AS resource_id, tags.tag, r.account_id || '/' || r.id AS resource_key
FROM safety.resources r CROSS JOIN LATERAL unnest(r.tags) AS tags (tag)
WHERE r._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.current_resource_versions AS
SELECT v.account_id, v.resource_id, r.title, r.category_id, r.sequence, r.should_be_available_offline, v.ordinal,
	v.version, v.description, v.type, v.file, v.link, v.created_at, v.approved_at, v.creator_id, u.name AS creator_name,
	coalesce(category.label, r.category_id) AS category_label,
	(v.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
	(v.approved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS approved_on,
	coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
		- (v.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS age_days,
	v.account_id || '/' || v.resource_id AS resource_key
FROM safety.resource_versions v
JOIN safety.resources r ON r.account_id = v.account_id AND r.id = v.resource_id
LEFT JOIN safety.reporting_clock z ON z.account_id = v.account_id
LEFT JOIN safety.users u ON u.account_id = v.account_id AND u.id = v.creator_id
LEFT JOIN safety.labels category
	ON category.account_id = r.account_id AND category.kind = 'category' AND category.id = r.category_id
WHERE v.is_current AND r._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_assignments AS
SELECT s.account_id, s.user_id, ids.training_id, list.is_complete,
	coalesce(training.label, ids.training_id::text) AS training_label, s.account_id || '/' || s.user_id AS user_key
FROM safety.training_employee_status s
CROSS JOIN LATERAL (VALUES (true, s.complete_training_ids), (false, s.incomplete_training_ids)) AS list (is_complete, training_ids)
CROSS JOIN LATERAL unnest(list.training_ids) AS ids (training_id)
LEFT JOIN safety.labels training
	ON training.account_id = s.account_id AND training.kind = 'training' AND training.id = ids.training_id::text
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_compliance AS
SELECT s.account_id, s.user_id, u.name AS user_name, s.status,
	CASE s.status WHEN 'active' THEN true WHEN 'expiring' THEN true WHEN 'incomplete' THEN false END AS is_compliant,
	s.percent_complete,
	coalesce(cardinality(s.complete_training_ids), 0) AS complete_count,
	coalesce(cardinality(s.incomplete_training_ids), 0) AS incomplete_count,
	c.next_expires_on, s.calculated_at,
	(s.calculated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS calculated_on,
	s.account_id || '/' || s.user_id AS user_key
FROM safety.training_employee_status s
LEFT JOIN safety.reporting_clock z ON z.account_id = s.account_id
LEFT JOIN safety.users u ON u.account_id = s.account_id AND u.id = s.user_id
LEFT JOIN (
	SELECT t.account_id, t.user_id, min(t.expires_on) AS next_expires_on
	FROM safety.training_completions t
	LEFT JOIN safety.reporting_clock z ON z.account_id = t.account_id
	WHERE t.is_required IS NOT FALSE AND t.expires_on >= coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
	GROUP BY t.account_id, t.user_id
) c ON c.account_id = s.account_id AND c.user_id = s.user_id
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_expiry AS
SELECT c.account_id, c.user_id, u.name AS user_name, c.training_id, c.is_required, c.completed_on,
	c.starts_expiring_on, c.expires_on,
	c.expires_on - coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS days_until_expiry,
	CASE
		WHEN c.expires_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expired'
		WHEN c.starts_expiring_on <= coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expiring'
		ELSE 'active'
	END AS expiry_status,
	coalesce(training.label, c.training_id::text) AS training_label, c.account_id || '/' || c.user_id AS user_key
FROM safety.training_completions c
JOIN safety.training_employee_status s ON s.account_id = c.account_id AND s.user_id = c.user_id
LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
LEFT JOIN safety.users u ON u.account_id = c.account_id AND u.id = c.user_id
LEFT JOIN safety.labels training
	ON training.account_id = c.account_id AND training.kind = 'training' AND training.id = c.training_id::text
WHERE s._deleted_at IS NULL AND c.expires_on IS NOT NULL;
--> statement-breakpoint
-- Assigned trainings with their completion, and completions of what is not assigned. A training that stands in both lists
-- is not complete.
CREATE VIEW safety.training_matrix AS
SELECT m.account_id, m.user_id, m.training_id,
	CASE
		WHEN m.expires_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expired'
		WHEN NOT m.is_complete THEN 'missing'
		WHEN m.starts_expiring_on <= coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expiring'
		ELSE 'complete'
	END AS state,
	coalesce(m.is_required, CASE WHEN m.is_assigned THEN true END) AS is_required, m.expires_on,
	m.expires_on - coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS days_until_expiry,
	m.is_assigned, m.completed_on, u.name AS user_name,
	coalesce(training.label, m.training_id::text) AS training_label, m.account_id || '/' || m.user_id AS user_key
FROM (
	SELECT a.account_id, a.user_id, a.training_id, a.is_complete, true AS is_assigned,
		c.is_required, c.completed_on, c.starts_expiring_on, c.expires_on
	FROM (
		SELECT b.account_id, b.user_id, b.training_id, bool_and(b.is_complete) AS is_complete
		FROM safety.training_assignments b GROUP BY b.account_id, b.user_id, b.training_id
	) a
	LEFT JOIN safety.training_completions c
		ON c.account_id = a.account_id AND c.user_id = a.user_id AND c.training_id = a.training_id
	UNION ALL
	SELECT c.account_id, c.user_id, c.training_id, true, false, c.is_required, c.completed_on, c.starts_expiring_on, c.expires_on
	FROM safety.training_completions c
	JOIN safety.training_employee_status s ON s.account_id = c.account_id AND s.user_id = c.user_id
	WHERE s._deleted_at IS NULL
		AND (c.training_id = ANY (s.complete_training_ids)) IS NOT TRUE
		AND (c.training_id = ANY (s.incomplete_training_ids)) IS NOT TRUE
) m
LEFT JOIN safety.reporting_clock z ON z.account_id = m.account_id
LEFT JOIN safety.users u ON u.account_id = m.account_id AND u.id = m.user_id
LEFT JOIN safety.labels training
	ON training.account_id = m.account_id AND training.kind = 'training' AND training.id = m.training_id::text;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_field_offices AS
SELECT e.account_id, e.id AS equipment_id, offices.field_office_id,
	coalesce(office.label, offices.field_office_id) AS field_office_label, e.account_id || '/' || e.id AS equipment_key
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.field_office_ids) AS offices (field_office_id)
LEFT JOIN safety.labels office
	ON office.account_id = e.account_id AND office.kind = 'field_office' AND office.id = offices.field_office_id
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_clients AS
SELECT e.account_id, e.id AS equipment_id, clients.client_id,
	coalesce(client.label, clients.client_id) AS client_label, e.account_id || '/' || e.id AS equipment_key
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.client_ids) AS clients (client_id)
LEFT JOIN safety.labels client
	ON client.account_id = e.account_id AND client.kind = 'client' AND client.id = clients.client_id
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_assigned_users AS
SELECT e.account_id, e.id AS equipment_id, assigned.user_id,
	e.account_id || '/' || e.id AS equipment_key, e.account_id || '/' || assigned.user_id AS user_key
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.assigned_user_ids) AS assigned (user_id)
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_metavalue_items AS
SELECT m.account_id, m.equipment_id, m.metafield_id, items.item_id,
	coalesce(metafield.label, m.metafield_id) AS metafield_label, coalesce(item.label, items.item_id::text) AS item_label,
	m.account_id || '/' || m.equipment_id AS equipment_key
FROM safety.equipment_metavalues m
JOIN safety.equipment e ON e.account_id = m.account_id AND e.id = m.equipment_id
CROSS JOIN LATERAL unnest(m.item_ids) AS items (item_id)
LEFT JOIN safety.labels metafield
	ON metafield.account_id = m.account_id AND metafield.kind = 'metafield' AND metafield.id = m.metafield_id
LEFT JOIN safety.labels item
	ON item.account_id = m.account_id AND item.kind = 'metafield_item' AND item.id = items.item_id::text
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_overview AS
SELECT e.account_id, e.id, e.title, e.serial_number, e.equipment_type_id,
	coalesce(type.label, e.equipment_type_id) AS equipment_type_label, e.line_of_business_id,
	coalesce(business.label, e.line_of_business_id) AS line_of_business_label, e.parent_id, e.is_in_service, e.status,
	e.notes, e.created_at, (e.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
	e.account_id || '/' || e.id AS equipment_key
FROM safety.equipment e
LEFT JOIN safety.reporting_clock z ON z.account_id = e.account_id
LEFT JOIN safety.labels type
	ON type.account_id = e.account_id AND type.kind = 'equipment_type' AND type.id = e.equipment_type_id
LEFT JOIN safety.labels business
	ON business.account_id = e.account_id AND business.kind = 'line_of_business' AND business.id = e.line_of_business_id
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_inspections AS
SELECT s.account_id, s.equipment_id, s.schedule_id, e.serial_number, e.title, e.equipment_type_id,
	e.line_of_business_id, e.is_in_service, e.status AS equipment_status, s.status,
	s.last_completed_at, s.expiring_at, s.expires_at,
	(s.expires_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS days_until_expiry,
	coalesce(schedule.label, s.schedule_id) AS schedule_label, coalesce(type.label, e.equipment_type_id) AS equipment_type_label,
	coalesce(business.label, e.line_of_business_id) AS line_of_business_label,
	(s.last_completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_completed_on,
	(s.expiring_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS expiring_on,
	(s.expires_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS expires_on,
	s.account_id || '/' || s.equipment_id AS equipment_key
FROM safety.equipment_schedules s
JOIN safety.equipment e ON e.account_id = s.account_id AND e.id = s.equipment_id
LEFT JOIN safety.reporting_clock z ON z.account_id = s.account_id
LEFT JOIN safety.labels schedule
	ON schedule.account_id = s.account_id AND schedule.kind = 'schedule' AND schedule.id = s.schedule_id
LEFT JOIN safety.labels type
	ON type.account_id = e.account_id AND type.kind = 'equipment_type' AND type.id = e.equipment_type_id
LEFT JOIN safety.labels business
	ON business.account_id = e.account_id AND business.kind = 'line_of_business' AND business.id = e.line_of_business_id
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.followup_history AS
SELECT h.account_id, h.id, h.form_id, h.response_id, h.is_open, h.created_at, h.updated_at, h.observer_id, h.assigner_id,
	h.assignee_id, h.due_on, h.resolved_at, h.completer_id, h.valid_from, h.valid_to,
	coalesce(form.label, h.form_id::text) AS form_label,
	(h.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
	(h.updated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS updated_on,
	(h.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS resolved_on,
	h.account_id || '/' || h.id AS followup_key
FROM (
	SELECT account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
		due_on, resolved_at, completer_id, valid_from, valid_to
	FROM safety.followup_states
	UNION ALL
	SELECT account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
		due_on, resolved_at, completer_id, _valid_from,
		CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
	FROM safety.followups
) h
LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
LEFT JOIN safety.labels form ON form.account_id = h.account_id AND form.kind = 'form' AND form.id = h.form_id::text;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_employee_status_history AS
SELECT h.account_id, h.user_id, h.status, h.percent_complete, h.incomplete_training_ids, h.complete_training_ids,
	h.calculated_at, h.valid_from, h.valid_to,
	(h.calculated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS calculated_on,
	h.account_id || '/' || h.user_id AS user_key
FROM (
	SELECT account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
		valid_from, valid_to
	FROM safety.training_employee_status_states
	UNION ALL
	SELECT account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
		_valid_from,
		CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
	FROM safety.training_employee_status
) h
LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_history AS
SELECT h.account_id, h.id, h.serial_number, h.equipment_type_id, h.created_at, h.parent_id, h.field_office_ids,
	h.line_of_business_id, h.client_ids, h.assigned_user_ids, h.title, h.notes, h.is_in_service, h.metavalues, h.status,
	h.valid_from, h.valid_to, coalesce(type.label, h.equipment_type_id) AS equipment_type_label,
	coalesce(business.label, h.line_of_business_id) AS line_of_business_label,
	(h.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on, h.account_id || '/' || h.id AS equipment_key
FROM (
	SELECT account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
		client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, valid_from, valid_to
	FROM safety.equipment_states
	UNION ALL
	SELECT account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
		client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, _valid_from,
		CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
	FROM safety.equipment
) h
LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
LEFT JOIN safety.labels type
	ON type.account_id = h.account_id AND type.kind = 'equipment_type' AND type.id = h.equipment_type_id
LEFT JOIN safety.labels business
	ON business.account_id = h.account_id AND business.kind = 'line_of_business' AND business.id = h.line_of_business_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_schedule_history AS
SELECT h.account_id, h.equipment_id, h.schedule_id, h.status, h.expires_at, h.expiring_at, h.last_completed_at,
	h.valid_from, h.valid_to, coalesce(schedule.label, h.schedule_id) AS schedule_label,
	(h.expires_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS expires_on,
	(h.expiring_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS expiring_on,
	(h.last_completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_completed_on,
	h.account_id || '/' || h.equipment_id AS equipment_key
FROM (
	SELECT account_id, equipment_id, schedule_id, status, expires_at, expiring_at, last_completed_at, valid_from, valid_to
	FROM safety.equipment_schedule_states
	UNION ALL
	SELECT c.account_id, c.equipment_id, c.schedule_id, c.status, c.expires_at, c.expiring_at, c.last_completed_at,
		c._valid_from,
		CASE WHEN e._deleted_at IS NOT NULL THEN greatest(e._deleted_at, c._valid_from + interval '1 microsecond') END
	FROM safety.equipment_schedules c
	JOIN safety.equipment e ON e.account_id = c.account_id AND e.id = c.equipment_id
) h
LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
LEFT JOIN safety.labels schedule
	ON schedule.account_id = h.account_id AND schedule.kind = 'schedule' AND schedule.id = h.schedule_id;
--> statement-breakpoint
-- A completion shows when the time of the last one moves ahead; it was due when the inspection before it expired.
CREATE VIEW safety.inspection_completions AS
SELECT s.account_id, s.equipment_id, s.schedule_id, s.completed_at, s.was_due_at,
	CASE WHEN (s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date THEN 0
		ELSE (s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date - (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS days_late,
	(s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS in_time,
	(s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS completed_on,
	(s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS was_due_on,
	e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id) AS equipment_type_label,
	coalesce(schedule.label, s.schedule_id) AS schedule_label, s.account_id || '/' || s.equipment_id AS equipment_key
FROM (
	SELECT h.account_id, h.equipment_id, h.schedule_id, h.last_completed_at AS completed_at,
		max(h.last_completed_at) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS completed_before,
		lag(h.expires_at) OVER w AS was_due_at
	FROM (
		SELECT b.account_id, b.equipment_id, b.schedule_id, b.last_completed_at, b.expires_at, b.valid_from
		FROM safety.equipment_schedule_states b
		UNION ALL
		SELECT c.account_id, c.equipment_id, c.schedule_id, c.last_completed_at, c.expires_at, c._valid_from
		FROM safety.equipment_schedules c
	) h
	WINDOW w AS (PARTITION BY h.account_id, h.equipment_id, h.schedule_id ORDER BY h.valid_from)
) s
JOIN safety.equipment e ON e.account_id = s.account_id AND e.id = s.equipment_id
LEFT JOIN safety.reporting_clock z ON z.account_id = e.account_id
LEFT JOIN safety.labels schedule
	ON schedule.account_id = e.account_id AND schedule.kind = 'schedule' AND schedule.id = s.schedule_id
LEFT JOIN safety.labels type
	ON type.account_id = e.account_id AND type.kind = 'equipment_type' AND type.id = e.equipment_type_id
WHERE s.completed_at > coalesce(s.completed_before, '-infinity') AND e._deleted_at IS NULL;
--> statement-breakpoint
-- Messages are counted per follow-up and joined: who selects none of their columns does not pay for them, and a
-- filter on the follow-up's id reaches them. The same holds for responses and for the changes that its states show: each
-- superseded state is held against the one after it, the last of them against the present row.
CREATE OR REPLACE VIEW safety.followup_overview AS
SELECT f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
	f.observer_id, observer.name AS observer_name, f.assigner_id, assigner.name AS assigner_name,
	f.assignee_id, assignee.name AS assignee_name, f.due_on, f.resolved_at,
	f.completer_id, completer.name AS completer_name,
	coalesce(f.is_open AND f.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date), false) AS is_overdue,
	CASE WHEN f.is_open THEN coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS age_days,
	CASE WHEN f.resolved_at IS NOT NULL THEN (f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS days_to_resolve,
	coalesce(m.message_count, 0) AS message_count,
	coalesce(m.reassignment_count, 0) AS reassignment_count,
	m.last_message_at,
	coalesce(form.label, f.form_id::text) AS form_label,
	(f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
	(f.updated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS updated_on,
	(f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS resolved_on,
	(m.last_message_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_message_on,
	CASE WHEN f.is_open THEN f.due_on - coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) END AS days_until_due,
	CASE WHEN f.is_open AND f.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
		THEN coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) - f.due_on END AS days_overdue,
	CASE WHEN f.is_open THEN
		CASE width_bucket(coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
				- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, ARRAY[8, 31, 61, 91])
			WHEN 0 THEN '00-07' WHEN 1 THEN '08-30' WHEN 2 THEN '31-60' WHEN 3 THEN '61-90' WHEN 4 THEN '91+' END
	END AS age_bucket,
	CASE WHEN NOT f.is_open THEN (f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= f.due_on END AS closed_in_time,
	r.first_response_at,
	(r.first_response_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS first_response_on,
	coalesce(h.due_changes + (h.last_due_on IS DISTINCT FROM f.due_on)::int, 0) AS due_changes,
	coalesce(h.reopen_count + (h.was_closed AND f.is_open)::int, h.reopen_count, 0) AS reopen_count,
	f.account_id || '/' || f.id AS followup_key, f.account_id || '/' || f.assignee_id AS assignee_key
FROM safety.followups f
LEFT JOIN safety.reporting_clock z ON z.account_id = f.account_id
LEFT JOIN safety.users observer ON observer.account_id = f.account_id AND observer.id = f.observer_id
LEFT JOIN safety.users assigner ON assigner.account_id = f.account_id AND assigner.id = f.assigner_id
LEFT JOIN safety.users assignee ON assignee.account_id = f.account_id AND assignee.id = f.assignee_id
LEFT JOIN safety.users completer ON completer.account_id = f.account_id AND completer.id = f.completer_id
LEFT JOIN (
	SELECT c.account_id, c.followup_id, count(*) AS message_count,
		count(*) FILTER (WHERE c.reassignee_id <> '') AS reassignment_count, max(c.sent_at) AS last_message_at
	FROM safety.followup_messages c GROUP BY c.account_id, c.followup_id
) m ON m.account_id = f.account_id AND m.followup_id = f.id
LEFT JOIN safety.labels form ON form.account_id = f.account_id AND form.kind = 'form' AND form.id = f.form_id::text
LEFT JOIN (
	SELECT c.account_id, c.followup_id, min(c.sent_at) AS first_response_at
	FROM safety.followup_messages c
	JOIN safety.followups o ON o.account_id = c.account_id AND o.id = c.followup_id
	WHERE c.user_id IS DISTINCT FROM o.observer_id
	GROUP BY c.account_id, c.followup_id
) r ON r.account_id = f.account_id AND r.followup_id = f.id
LEFT JOIN (
	SELECT s.account_id, s.id,
		count(*) FILTER (WHERE s.has_next AND s.due_on IS DISTINCT FROM s.next_due_on) AS due_changes,
		count(*) FILTER (WHERE NOT s.is_open AND s.next_is_open) AS reopen_count,
		max(s.due_on) FILTER (WHERE s.has_next IS NULL) AS last_due_on,
		coalesce(bool_or(NOT s.is_open) FILTER (WHERE s.has_next IS NULL), false) AS was_closed
	FROM (
		SELECT b.account_id, b.id, b.due_on, b.is_open, lead(true) OVER w AS has_next, lead(b.due_on) OVER w AS next_due_on,
			lead(b.is_open) OVER w AS next_is_open
		FROM safety.followup_states b
		WINDOW w AS (PARTITION BY b.account_id, b.id ORDER BY b.valid_from)
	) s GROUP BY s.account_id, s.id
) h ON h.account_id = f.account_id AND h.id = f.id
WHERE f._deleted_at IS NULL;
--> statement-breakpoint
-- What the record and its messages tell, and what the states that were seen show: each superseded one is held against the
-- one after it, the last of them against the present row. What was closed when it was first seen has been closed as well.
CREATE VIEW safety.followup_events AS
SELECT e.account_id, e.followup_id, e.occurred_at, (e.occurred_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS occurred_on,
	e.event, e.user_id, e.from_value, e.to_value, u.name AS user_name, e.account_id || '/' || e.followup_id AS followup_key
FROM (
	SELECT f.account_id, f.id AS followup_id, f.created_at AS occurred_at, 'raised' AS event, f.observer_id AS user_id,
		NULL::text AS from_value, NULL::text AS to_value
	FROM safety.followups f WHERE f._deleted_at IS NULL
	UNION ALL
	SELECT c.account_id, c.followup_id, c.sent_at, 'message', c.user_id, NULL, NULL
	FROM safety.followup_messages c
	JOIN safety.followups f ON f.account_id = c.account_id AND f.id = c.followup_id
	WHERE f._deleted_at IS NULL
	UNION ALL
	SELECT c.account_id, c.followup_id, c.sent_at, 'handed_on', c.user_id,
		lag(c.reassignee_id) OVER (PARTITION BY c.account_id, c.followup_id ORDER BY c.position), c.reassignee_id
	FROM safety.followup_messages c
	JOIN safety.followups f ON f.account_id = c.account_id AND f.id = c.followup_id
	WHERE f._deleted_at IS NULL AND c.reassignee_id <> ''
	UNION ALL
	SELECT f.account_id, f.id, coalesce(f.resolved_at, f._valid_from), 'closed', f.completer_id, NULL, NULL
	FROM safety.followups f
	LEFT JOIN (SELECT b.account_id, b.id FROM safety.followup_states b GROUP BY b.account_id, b.id) b
		ON b.account_id = f.account_id AND b.id = f.id
	WHERE f._deleted_at IS NULL AND NOT f.is_open AND b.id IS NULL
	UNION ALL
	SELECT p.account_id, p.id, told.occurred_at, told.event, told.user_id, told.due_before::text, told.due_after::text
	FROM (
		SELECT s.account_id, s.id, s.is_first, s.valid_from, s.is_open, s.due_on, s.resolved_at, s.completer_id,
			coalesce(s.next_from, f._valid_from) AS next_from,
			CASE WHEN s.next_from IS NULL THEN f.is_open ELSE s.next_is_open END AS next_is_open,
			CASE WHEN s.next_from IS NULL THEN f.due_on ELSE s.next_due_on END AS next_due_on,
			CASE WHEN s.next_from IS NULL THEN f.resolved_at ELSE s.next_resolved_at END AS next_resolved_at,
			CASE WHEN s.next_from IS NULL THEN f.completer_id ELSE s.next_completer_id END AS next_completer_id
		FROM (
			SELECT b.account_id, b.id, b.valid_from, b.is_open, b.due_on, b.resolved_at, b.completer_id,
				row_number() OVER w = 1 AS is_first, lead(b.valid_from) OVER w AS next_from, lead(b.is_open) OVER w AS next_is_open,
				lead(b.due_on) OVER w AS next_due_on, lead(b.resolved_at) OVER w AS next_resolved_at,
				lead(b.completer_id) OVER w AS next_completer_id
			FROM safety.followup_states b
			WINDOW w AS (PARTITION BY b.account_id, b.id ORDER BY b.valid_from)
		) s
		JOIN safety.followups f ON f.account_id = s.account_id AND f.id = s.id
		WHERE f._deleted_at IS NULL
	) p
	CROSS JOIN LATERAL (VALUES
		(p.is_first AND NOT p.is_open, coalesce(p.resolved_at, p.valid_from), 'closed', p.completer_id, NULL, NULL),
		(p.due_on IS DISTINCT FROM p.next_due_on, p.next_from, 'due_moved', NULL, p.due_on, p.next_due_on),
		(p.is_open IS NOT FALSE AND NOT p.next_is_open, coalesce(p.next_resolved_at, p.next_from), 'closed', p.next_completer_id, NULL, NULL),
		(NOT p.is_open AND p.next_is_open, p.next_from, 'reopened', NULL, NULL, NULL)
	) AS told (has_happened, occurred_at, event, user_id, due_before, due_after)
	WHERE told.has_happened
) e
LEFT JOIN safety.reporting_clock z ON z.account_id = e.account_id
LEFT JOIN safety.users u ON u.account_id = e.account_id AND u.id = e.user_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.freshness AS
SELECT t.account_id, t.stream, t.last_success_at,
	floor(extract(epoch FROM now() - t.last_success_at))::bigint AS age_seconds,
	l.status AS last_status, l.finished_at AS last_finished_at,
	CASE t.stream WHEN 'followups' THEN t.watermark WHEN 'training-employee-status' THEN t.calculated_at
		ELSE t.last_success_at END AS as_of,
	(t.last_success_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_success_on,
	(l.finished_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_finished_on
FROM safety_sync.stream_state t
LEFT JOIN safety.reporting_clock z ON z.account_id = t.account_id
LEFT JOIN LATERAL (
	SELECT r.status, r.finished_at FROM safety_sync.runs r
	WHERE r.account_id = t.account_id AND r.stream = t.stream
		AND (r.status = 'failed' OR r.status = 'succeeded' AND (r.requests > 0 OR r.stream = 'users'))
	ORDER BY r.run_id DESC LIMIT 1
) l ON true
LEFT JOIN LATERAL (
	SELECT true AS is_running FROM safety_sync.runs r
	WHERE r.account_id = t.account_id AND r.stream = t.stream AND r.status = 'running' LIMIT 1
) n ON true
WHERE t.last_success_at IS NOT NULL OR t.backfill_started_at IS NOT NULL OR l.status IS NOT NULL OR n.is_running;
