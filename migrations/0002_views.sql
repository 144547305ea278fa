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
-- Grouped so that today is worked out once an account, not once a row.
CREATE VIEW safety.reporting_clock AS
SELECT s.account_id, s.timezone, (now() AT TIME ZONE s.timezone)::date AS today
FROM safety.reporting_settings s GROUP BY s.account_id;
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
	coalesce(f.is_open AND f.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date), false) AS is_overdue,
	CASE WHEN f.is_open THEN coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS age_days,
	CASE WHEN f.resolved_at IS NOT NULL THEN (f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS days_to_resolve,
	coalesce(m.message_count, 0) AS message_count,
	coalesce(m.reassignment_count, 0) AS reassignment_count,
	m.last_message_at
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
	LEFT JOIN safety.reporting_clock z ON z.account_id = t.account_id
	WHERE t.is_required IS NOT FALSE AND t.expires_on >= coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
	GROUP BY t.account_id, t.user_id
) c ON c.account_id = s.account_id AND c.user_id = s.user_id
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
CREATE VIEW safety.training_expiry AS
SELECT c.account_id, c.user_id, u.name AS user_name, c.training_id, c.is_required, c.completed_on,
	c.starts_expiring_on, c.expires_on,
	c.expires_on - coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS days_until_expiry,
	CASE
		WHEN c.expires_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expired'
		WHEN c.starts_expiring_on <= coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'expiring'
		ELSE 'active'
	END AS expiry_status
FROM safety.training_completions c
JOIN safety.training_employee_status s ON s.account_id = c.account_id AND s.user_id = c.user_id
LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
LEFT JOIN safety.users u ON u.account_id = c.account_id AND u.id = c.user_id
WHERE s._deleted_at IS NULL AND c.expires_on IS NOT NULL;
--> statement-breakpoint
CREATE VIEW safety.equipment_inspections AS
SELECT s.account_id, s.equipment_id, s.schedule_id, e.serial_number, e.title, e.equipment_type_id,
	e.line_of_business_id, e.is_in_service, e.status AS equipment_status, s.status,
	s.last_completed_at, s.expiring_at, s.expires_at,
	(s.expires_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
		- coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS days_until_expiry
FROM safety.equipment_schedules s
JOIN safety.equipment e ON e.account_id = s.account_id AND e.id = s.equipment_id
LEFT JOIN safety.reporting_clock z ON z.account_id = s.account_id
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
-- begins and takes it away on the day on which it ends; the running sum is the count, and holds until the next change.
-- States are grouped by days first: conversions are done once a state, and a filter on the account goes down to the tables.
-- Nothing begins before 1970: a broken time must not draw a calendar of two thousand years.
-- Of a follow-up the source tells more than the history has seen: it was open from its creation to its resolution.
CREATE VIEW safety.followup_daily AS
SELECT s.account_id, dates.date::date AS date, s.status, segment.followups
FROM (
	SELECT c.account_id, c.today, c.status, c.day,
		(sum(c.change) OVER w)::bigint AS running, lead(c.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(c.day) OVER (PARTITION BY c.account_id) AS first_day
	FROM (
		SELECT g.account_id, g.today, change.status, g.day, change.change
		FROM (
			SELECT t.account_id, t.today, step.day, sum(t.states * step.open) AS open, sum(t.states * step.overdue) AS overdue,
				sum(CASE WHEN t.is_known THEN t.states * step.closed END) AS closed,
				sum(CASE WHEN NOT t.is_known THEN t.states * step.closed END) AS unknown
			FROM (
				SELECT h.account_id, max(coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)) AS today,
					greatest((CASE WHEN f.first_from IS NULL OR f.first_from = h.valid_from
						THEN least(h.created_at, h.valid_from) ELSE h.valid_from END
						AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01') AS from_day,
					greatest(coalesce((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date 'infinity'), date '1970-01-01') AS to_day,
					CASE WHEN h.is_open THEN date 'infinity' WHEN h.is_open IS NULL THEN date '-infinity'
						ELSE coalesce((h.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '-infinity')
					END AS closed_on,
					h.due_on, h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM safety.followup_history h
				LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
				LEFT JOIN (
					SELECT a.account_id, a.id, min(a.valid_from) AS first_from FROM safety.followup_states a GROUP BY a.account_id, a.id
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 3, 4, 5, 6, 7, 1
			) t CROSS JOIN LATERAL (VALUES
				(t.from_day, 1, 0, 0),
				(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
				(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
				(t.to_day, 0, 0, -1)
			) AS step (day, open, overdue, closed)
			GROUP BY t.account_id, t.today, step.day
		) g CROSS JOIN LATERAL (VALUES
			('open', g.open), ('overdue', g.overdue), ('closed', g.closed), ('unknown', g.unknown)
		) AS change (status, change)
		WHERE g.day <= g.today AND (change.status <> 'unknown' OR change.change IS NOT NULL)
	) c
	WINDOW w AS (PARTITION BY c.account_id, c.status ORDER BY c.day)
) s
CROSS JOIN LATERAL (VALUES
	(s.day, coalesce(s.next_day - 1, s.today), coalesce(s.running, 0)),
	(CASE WHEN s.is_first THEN s.first_day END, s.day - 1, 0)
) AS segment (from_day, to_day, followups)
CROSS JOIN LATERAL generate_series(segment.from_day::timestamp, segment.to_day::timestamp, interval '1 day') AS dates (date);
--> statement-breakpoint
CREATE VIEW safety.training_status_daily AS
SELECT s.account_id, dates.date::date AS date, s.status, segment.employees
FROM (
	SELECT c.account_id, c.today, c.status, c.day,
		(sum(c.employees) OVER w)::bigint AS employees,
		lead(c.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(c.day) OVER (PARTITION BY c.account_id) AS first_day
	FROM (
		SELECT t.account_id, t.status, t.today, step.day, sum(step.change * t.states) AS employees
		FROM (
			SELECT h.account_id, coalesce(h.status, 'unknown') AS status,
				max(coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)) AS today,
				greatest((h.valid_from AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01') AS from_day,
				greatest(coalesce((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date 'infinity'), date '1970-01-01') AS to_day,
				count(*) AS states
			FROM safety.training_employee_status_history h
			LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
			GROUP BY 4, 5, 2, 1
		) t CROSS JOIN LATERAL (VALUES (t.from_day, 1), (t.to_day, -1)) AS step (day, change)
		WHERE step.day <= t.today
		GROUP BY t.account_id, t.status, t.today, step.day
	) c
	WINDOW w AS (PARTITION BY c.account_id, c.status ORDER BY c.day)
) s
CROSS JOIN LATERAL (VALUES
	(s.day, coalesce(s.next_day - 1, s.today), s.employees),
	(CASE WHEN s.is_first THEN s.first_day END, s.day - 1, 0)
) AS segment (from_day, to_day, employees)
CROSS JOIN LATERAL generate_series(segment.from_day::timestamp, segment.to_day::timestamp, interval '1 day') AS dates (date);
--> statement-breakpoint
CREATE VIEW safety.equipment_status_daily AS
SELECT s.account_id, dates.date::date AS date, s.status, segment.equipment, segment.in_service
FROM (
	SELECT c.account_id, c.today, c.status, c.day,
		(sum(c.equipment) OVER w)::bigint AS equipment, (sum(c.in_service) OVER w)::bigint AS in_service,
		lead(c.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(c.day) OVER (PARTITION BY c.account_id) AS first_day
	FROM (
		SELECT t.account_id, t.status, t.today, step.day, sum(step.change * t.states) AS equipment, sum(step.change * t.in_service_states) AS in_service
		FROM (
			SELECT h.account_id, coalesce(h.status, 'unknown') AS status,
				max(coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)) AS today,
				greatest((h.valid_from AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date '1970-01-01') AS from_day,
				greatest(coalesce((h.valid_to AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, date 'infinity'), date '1970-01-01') AS to_day,
				count(*) AS states,
				count(*) FILTER (WHERE h.is_in_service) AS in_service_states
			FROM safety.equipment_history h
			LEFT JOIN safety.reporting_clock z ON z.account_id = h.account_id
			GROUP BY 4, 5, 2, 1
		) t CROSS JOIN LATERAL (VALUES (t.from_day, 1), (t.to_day, -1)) AS step (day, change)
		WHERE step.day <= t.today
		GROUP BY t.account_id, t.status, t.today, step.day
	) c
	WINDOW w AS (PARTITION BY c.account_id, c.status ORDER BY c.day)
) s
CROSS JOIN LATERAL (VALUES
	(s.day, coalesce(s.next_day - 1, s.today), s.equipment, s.in_service),
	(CASE WHEN s.is_first THEN s.first_day END, s.day - 1, 0, 0)
) AS segment (from_day, to_day, equipment, in_service)
CROSS JOIN LATERAL generate_series(segment.from_day::timestamp, segment.to_day::timestamp, interval '1 day') AS dates (date);
