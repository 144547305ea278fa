-- What BI reads. Views hold live rows only; the …_history relations also what was. Every first column is account_id.

-- Days begin in the account's reporting time zone (REPORTING_TIMEZONE; UTC until a worker has said so).
CREATE FUNCTION safety.reporting_timezone(account text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT s.timezone FROM safety.reporting_settings s WHERE s.account_id = account), 'UTC')
$$;
--> statement-breakpoint
CREATE FUNCTION safety.reporting_today(account text) RETURNS date LANGUAGE sql STABLE AS $$
	SELECT (now() AT TIME ZONE safety.reporting_timezone(account))::date
$$;
--> statement-breakpoint
-- Without an account: what all accounts of this warehouse agree on, else UTC.
CREATE FUNCTION safety.reporting_timezone() RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN count(DISTINCT s.timezone) = 1 THEN min(s.timezone) ELSE 'UTC' END FROM safety.reporting_settings s
$$;
--> statement-breakpoint
CREATE FUNCTION safety.reporting_today() RETURNS date LANGUAGE sql STABLE AS $$
	SELECT (now() AT TIME ZONE safety.reporting_timezone())::date
$$;
--> statement-breakpoint
CREATE VIEW safety.resource_tags AS
SELECT r.account_id, r.id AS resource_id, tags.tag
FROM safety.resources r CROSS JOIN LATERAL unnest(r.tags) AS tags (tag)
WHERE r._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.training_assignments AS
SELECT s.account_id, s.user_id, assigned.training_id, assigned.is_complete
FROM safety.training_employee_status s
CROSS JOIN LATERAL (
	SELECT unnest(s.complete_training_ids), true UNION ALL SELECT unnest(s.incomplete_training_ids), false
) AS assigned (training_id, is_complete)
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_field_offices AS
SELECT e.account_id, e.id AS equipment_id, offices.field_office_id
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.field_office_ids) AS offices (field_office_id)
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_clients AS
SELECT e.account_id, e.id AS equipment_id, clients.client_id
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.client_ids) AS clients (client_id)
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_assigned_users AS
SELECT e.account_id, e.id AS equipment_id, assigned.user_id
FROM safety.equipment e CROSS JOIN LATERAL unnest(e.assigned_user_ids) AS assigned (user_id)
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.current_resource_versions AS
SELECT v.account_id, v.resource_id, r.title, r.category_id, r.sequence, r.should_be_available_offline, v.ordinal,
	v.version, v.description, v.type, v.file, v.link, v.created_at, v.approved_at, v.creator_id, u.name AS creator_name
FROM safety.resource_versions v
JOIN safety.resources r ON r.account_id = v.account_id AND r.id = v.resource_id
LEFT JOIN safety.users u ON u.account_id = v.account_id AND u.id = v.creator_id
WHERE v.is_current AND r._deleted_at IS NULL;
--> statement-breakpoint
-- Messages are counted per follow-up and joined: who selects none of their columns does not pay for them, and a
-- filter on the follow-up's id reaches them.
CREATE VIEW safety.followup_overview AS
SELECT f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
	f.observer_id, observer.name AS observer_name, f.assigner_id, assigner.name AS assigner_name,
	f.assignee_id, assignee.name AS assignee_name, f.due_on, f.resolved_at,
	f.completer_id, completer.name AS completer_name,
	coalesce(f.is_open AND f.due_on < (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, false) AS is_overdue,
	CASE WHEN f.is_open THEN (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS age_days,
	(f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS days_to_resolve,
	coalesce(m.message_count, 0) AS message_count,
	coalesce(m.reassignment_count, 0) AS reassignment_count,
	m.last_message_at
FROM safety.followups f
LEFT JOIN safety.reporting_settings z ON z.account_id = f.account_id
LEFT JOIN safety.users observer ON observer.account_id = f.account_id AND observer.id = f.observer_id
LEFT JOIN safety.users assigner ON assigner.account_id = f.account_id AND assigner.id = f.assigner_id
LEFT JOIN safety.users assignee ON assignee.account_id = f.account_id AND assignee.id = f.assignee_id
LEFT JOIN safety.users completer ON completer.account_id = f.account_id AND completer.id = f.completer_id
LEFT JOIN (
	SELECT c.account_id, c.followup_id, count(*) AS message_count,
		count(*) FILTER (WHERE c.reassignee_id <> '') AS reassignment_count, max(c.sent_at) AS last_message_at
	FROM safety.followup_messages c GROUP BY c.account_id, c.followup_id
) m ON m.account_id = f.account_id AND m.followup_id = f.id
WHERE f._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.training_compliance AS
SELECT s.account_id, s.user_id, u.name AS user_name, s.status,
	CASE s.status WHEN 'active' THEN true WHEN 'expiring' THEN true WHEN 'incomplete' THEN false END AS is_compliant,
	s.percent_complete,
	coalesce(cardinality(s.complete_training_ids), 0) AS complete_count,
	coalesce(cardinality(s.incomplete_training_ids), 0) AS incomplete_count,
	c.next_expires_on, s.calculated_at
FROM safety.training_employee_status s
LEFT JOIN safety.users u ON u.account_id = s.account_id AND u.id = s.user_id
LEFT JOIN (
	SELECT t.account_id, t.user_id, min(t.expires_on) AS next_expires_on
	FROM safety.training_completions t
	LEFT JOIN safety.reporting_settings z ON z.account_id = t.account_id
	WHERE t.is_required IS NOT FALSE AND t.expires_on >= (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
	GROUP BY t.account_id, t.user_id
) c ON c.account_id = s.account_id AND c.user_id = s.user_id
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.training_expiry AS
SELECT c.account_id, c.user_id, u.name AS user_name, c.training_id, c.is_required, c.completed_on,
	c.starts_expiring_on, c.expires_on,
	c.expires_on - (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS days_until_expiry,
	CASE
		WHEN c.expires_on < (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date THEN 'expired'
		WHEN c.starts_expiring_on <= (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date THEN 'expiring'
		ELSE 'active'
	END AS expiry_status
FROM safety.training_completions c
JOIN safety.training_employee_status s ON s.account_id = c.account_id AND s.user_id = c.user_id
LEFT JOIN safety.reporting_settings z ON z.account_id = c.account_id
LEFT JOIN safety.users u ON u.account_id = c.account_id AND u.id = c.user_id
WHERE s._deleted_at IS NULL AND c.expires_on IS NOT NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_inspections AS
SELECT s.account_id, s.equipment_id, s.schedule_id, e.serial_number, e.title, e.equipment_type_id,
	e.line_of_business_id, e.is_in_service, e.status AS equipment_status, s.status,
	s.last_completed_at, s.expiring_at, s.expires_at,
	(s.expires_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS days_until_expiry
FROM safety.equipment_schedules s
JOIN safety.equipment e ON e.account_id = s.account_id AND e.id = s.equipment_id
LEFT JOIN safety.reporting_settings z ON z.account_id = s.account_id
WHERE e._deleted_at IS NULL;
--> statement-breakpoint
-- Histories: superseded states, and the present one of every row. A deleted row ended when it was deleted.
CREATE VIEW safety.followup_history AS
SELECT account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
	due_on, resolved_at, completer_id, valid_from, valid_to
FROM safety.followup_states
UNION ALL
SELECT account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
	due_on, resolved_at, completer_id, _valid_from,
	CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
FROM safety.followups;
--> statement-breakpoint
CREATE VIEW safety.training_employee_status_history AS
SELECT account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
	valid_from, valid_to
FROM safety.training_employee_status_states
UNION ALL
SELECT account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
	_valid_from,
	CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
FROM safety.training_employee_status;
--> statement-breakpoint
CREATE VIEW safety.equipment_history AS
SELECT account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
	client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, valid_from, valid_to
FROM safety.equipment_states
UNION ALL
SELECT account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
	client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, _valid_from,
	CASE WHEN _deleted_at IS NOT NULL THEN greatest(_deleted_at, _valid_from + interval '1 microsecond') END
FROM safety.equipment;
--> statement-breakpoint
CREATE VIEW safety.equipment_schedule_history AS
SELECT account_id, equipment_id, schedule_id, status, expires_at, expiring_at, last_completed_at, valid_from, valid_to
FROM safety.equipment_schedule_states
UNION ALL
SELECT c.account_id, c.equipment_id, c.schedule_id, c.status, c.expires_at, c.expiring_at, c.last_completed_at,
	c._valid_from,
	CASE WHEN e._deleted_at IS NOT NULL THEN greatest(e._deleted_at, c._valid_from + interval '1 microsecond') END
FROM safety.equipment_schedules c
JOIN safety.equipment e ON e.account_id = c.account_id AND e.id = c.equipment_id;
--> statement-breakpoint
-- Trends: how many were in each status at the end of each day (today: now). Every state adds one on the day on which it
-- begins and takes it away on the day on which it ends; the running sum is the count.
-- Of a follow-up the source tells more than the history has seen: it was open from its creation to its resolution.
-- Nothing begins before 1970: a broken time must not draw a calendar of two thousand years.
CREATE VIEW safety.followup_daily AS
WITH states AS (
	SELECT h.account_id, h.is_open, h.due_on,
		greatest((CASE WHEN NOT EXISTS (SELECT FROM safety.followup_states s
				WHERE s.account_id = h.account_id AND s.id = h.id AND s.valid_from < h.valid_from)
			THEN least(h.created_at, h.valid_from) ELSE h.valid_from END
			AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01') AS from_day,
		coalesce((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date 'infinity') AS to_day,
		coalesce((h.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '-infinity') AS resolved_day,
		(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
	FROM safety.followup_history h
	LEFT JOIN safety.reporting_settings z ON z.account_id = h.account_id
), turned AS (
	SELECT account_id, from_day, to_day, today,
		CASE WHEN is_open THEN to_day WHEN NOT is_open THEN least(greatest(from_day, resolved_day), to_day)
			ELSE from_day END AS closed_day,
		coalesce(due_on + 1, date 'infinity') AS overdue_day, is_open
	FROM states WHERE from_day < to_day
), steps AS (
	SELECT t.account_id, t.today, step.status, step.day, step.change
	FROM turned t CROSS JOIN LATERAL (VALUES
		('open', t.from_day, 1),
		('open', greatest(t.from_day, least(t.overdue_day, t.closed_day)), -1),
		('overdue', greatest(t.from_day, least(t.overdue_day, t.closed_day)), 1),
		('overdue', t.closed_day, -1),
		(CASE WHEN t.is_open IS NULL THEN 'unknown' ELSE 'closed' END, t.closed_day, 1),
		(CASE WHEN t.is_open IS NULL THEN 'unknown' ELSE 'closed' END, t.to_day, -1)
	) AS step (status, day, change)
	WHERE step.day <= t.today
), changes AS (
	SELECT account_id, status, day, sum(change) AS change FROM steps GROUP BY account_id, status, day
), calendar AS (
	SELECT d.account_id, d.status, day::date AS day
	FROM (
		SELECT a.account_id, s.status, a.first_day, a.today
		FROM (SELECT account_id, min(day) AS first_day, max(today) AS today FROM steps GROUP BY account_id) a
		JOIN (SELECT DISTINCT account_id, status FROM changes WHERE change > 0) s ON s.account_id = a.account_id
	) d CROSS JOIN LATERAL generate_series(d.first_day::timestamp, d.today::timestamp, interval '1 day') AS day
)
SELECT c.account_id, c.day AS date, c.status,
	(sum(coalesce(n.change, 0)) OVER (PARTITION BY c.account_id, c.status ORDER BY c.day))::bigint AS followups
FROM calendar c
LEFT JOIN changes n ON n.account_id = c.account_id AND n.status = c.status AND n.day = c.day;
--> statement-breakpoint
CREATE VIEW safety.training_status_daily AS
WITH steps AS (
	SELECT h.account_id, coalesce(h.status, 'unknown') AS status, step.day, step.change,
		(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
	FROM safety.training_employee_status_history h
	LEFT JOIN safety.reporting_settings z ON z.account_id = h.account_id
	CROSS JOIN LATERAL (VALUES
		(greatest((h.valid_from AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01'), 1),
		(greatest((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, CASE WHEN h.valid_to IS NOT NULL THEN date '1970-01-01' END), -1)
	) AS step (day, change)
	WHERE step.day <= (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
), changes AS (
	SELECT account_id, status, day, sum(change) AS change FROM steps GROUP BY account_id, status, day
), calendar AS (
	SELECT d.account_id, d.status, day::date AS day
	FROM (
		SELECT a.account_id, s.status, a.first_day, a.today
		FROM (SELECT account_id, min(day) AS first_day, max(today) AS today FROM steps GROUP BY account_id) a
		JOIN (SELECT DISTINCT account_id, status FROM changes WHERE change > 0) s ON s.account_id = a.account_id
	) d CROSS JOIN LATERAL generate_series(d.first_day::timestamp, d.today::timestamp, interval '1 day') AS day
)
SELECT c.account_id, c.day AS date, c.status,
	(sum(coalesce(n.change, 0)) OVER (PARTITION BY c.account_id, c.status ORDER BY c.day))::bigint AS employees
FROM calendar c
LEFT JOIN changes n ON n.account_id = c.account_id AND n.status = c.status AND n.day = c.day;
--> statement-breakpoint
CREATE VIEW safety.equipment_status_daily AS
WITH steps AS (
	SELECT h.account_id, coalesce(h.status, 'unknown') AS status, step.day, step.change,
		CASE WHEN h.is_in_service THEN step.change ELSE 0 END AS in_service_change,
		(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
	FROM safety.equipment_history h
	LEFT JOIN safety.reporting_settings z ON z.account_id = h.account_id
	CROSS JOIN LATERAL (VALUES
		(greatest((h.valid_from AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01'), 1),
		(greatest((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, CASE WHEN h.valid_to IS NOT NULL THEN date '1970-01-01' END), -1)
	) AS step (day, change)
	WHERE step.day <= (now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
), changes AS (
	SELECT account_id, status, day, sum(change) AS change, sum(in_service_change) AS in_service_change
	FROM steps GROUP BY account_id, status, day
), calendar AS (
	SELECT d.account_id, d.status, day::date AS day
	FROM (
		SELECT a.account_id, s.status, a.first_day, a.today
		FROM (SELECT account_id, min(day) AS first_day, max(today) AS today FROM steps GROUP BY account_id) a
		JOIN (SELECT DISTINCT account_id, status FROM changes WHERE change > 0) s ON s.account_id = a.account_id
	) d CROSS JOIN LATERAL generate_series(d.first_day::timestamp, d.today::timestamp, interval '1 day') AS day
)
SELECT c.account_id, c.day AS date, c.status,
	(sum(coalesce(n.change, 0)) OVER w)::bigint AS equipment,
	(sum(coalesce(n.in_service_change, 0)) OVER w)::bigint AS in_service
FROM calendar c
LEFT JOIN changes n ON n.account_id = c.account_id AND n.status = c.status AND n.day = c.day
WINDOW w AS (PARTITION BY c.account_id, c.status ORDER BY c.day);
