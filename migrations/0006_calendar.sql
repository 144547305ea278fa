-- Days for the daily views and for BI tools; filled by whoever migrates or starts (src/warehouse/calendar.ts).
CREATE TABLE "safety"."calendar" (
	"date" date PRIMARY KEY NOT NULL,
	"iso_year" integer NOT NULL,
	"iso_week" integer NOT NULL,
	"week_starts_on" date NOT NULL,
	"month_starts_on" date NOT NULL,
	"quarter_starts_on" date NOT NULL,
	"year" integer NOT NULL,
	"month" integer NOT NULL,
	"day_of_week" integer NOT NULL,
	"is_weekend" boolean NOT NULL
);
--> statement-breakpoint
-- Grouped so that today is worked out once an account, not once a row; by both columns, because a view that leans on a
-- primary key is one that pg_dump has to take apart, which pg_restore --clean cannot put together in an empty database.
CREATE OR REPLACE VIEW safety.reporting_clock AS
SELECT s.account_id, s.timezone, (now() AT TIME ZONE s.timezone)::date AS today
FROM safety.reporting_settings s GROUP BY s.account_id, s.timezone;
--> statement-breakpoint
-- Trends: how many were in each status at the end of each day (today: now). Every state adds one on the day on which it
-- begins and takes it away on the day on which it ends; the running sum is the count, and holds until the next change.
-- States are grouped by days first: conversions are done once a state. Each account is computed by itself, and the
-- accounts come from a table of which the planner knows how many it has: so it expects about as many rows as there are.
-- Of days that are grouped for all accounts at once it expects thousands of times as many, and for a plan that looks so
-- expensive PostgreSQL compiles longer (jit) than the view takes.
-- What began before the calendar does counts from its first day on, and a broken time draws no thousand years.
-- Of a follow-up the source tells more than the history has seen: it was open from its creation to its resolution.
CREATE OR REPLACE VIEW safety.followup_daily AS
SELECT s.account_id, dates.date, counted.status, counted.followups
FROM (
	SELECT a.account_id, a.today, d.day, lead(d.day) OVER w AS next_day,
		(sum(d.open) OVER w)::bigint AS open, (sum(d.overdue) OVER w)::bigint AS overdue, (sum(d.closed) OVER w)::bigint AS closed,
		CASE WHEN count(d.unknown) OVER (PARTITION BY a.account_id) > 0
			THEN coalesce(sum(d.unknown) OVER w, 0)::bigint END AS unknown
	FROM (
		SELECT f.account_id, coalesce(z.timezone, 'UTC') AS timezone,
			(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
		FROM (SELECT account_id FROM safety.followups GROUP BY account_id) f
		LEFT JOIN safety.reporting_settings z ON z.account_id = f.account_id
	) a CROSS JOIN LATERAL (
		SELECT step.day, sum(t.states * step.open) AS open, sum(t.states * step.overdue) AS overdue,
			coalesce(sum(t.states * step.closed) FILTER (WHERE t.is_known), 0) AS closed,
			sum(t.states * step.closed) FILTER (WHERE NOT t.is_known) AS unknown
		FROM (
			SELECT (CASE WHEN f.first_from IS NULL OR f.first_from = h.valid_from
					THEN least(h.created_at, h.valid_from) ELSE h.valid_from END
					AT TIME ZONE a.timezone)::date AS from_day,
				coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
				CASE WHEN h.is_open THEN date 'infinity' WHEN h.is_open IS NULL THEN date '-infinity'
					ELSE coalesce((h.resolved_at AT TIME ZONE a.timezone)::date, date '-infinity')
				END AS closed_on,
				h.due_on, h.is_open IS NOT NULL AS is_known, count(*) AS states
			FROM safety.followup_history h
			LEFT JOIN (
				SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
				FROM safety.followup_states b WHERE b.account_id = a.account_id ORDER BY b.id, b.valid_from
			) f ON f.account_id = h.account_id AND f.id = h.id
			WHERE h.account_id = a.account_id
			GROUP BY 1, 2, 3, 4, 5
		) t CROSS JOIN LATERAL (VALUES
			(t.from_day, 1, 0, 0),
			(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
			(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
			(t.to_day, 0, 0, -1)
		) AS step (day, open, overdue, closed)
		WHERE step.day <= a.today
		GROUP BY step.day
	) d
	WINDOW w AS (PARTITION BY a.account_id ORDER BY d.day)
) s
JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day - 1, s.today)
CROSS JOIN LATERAL (VALUES
	('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
) AS counted (status, followups)
WHERE counted.followups IS NOT NULL;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_status_daily AS
SELECT s.account_id, dates.date, s.status, segment.employees
FROM (
	SELECT a.account_id, a.today, d.status, d.day, (sum(d.employees) OVER w)::bigint AS employees,
		lead(d.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(d.day) OVER (PARTITION BY a.account_id) AS first_day
	FROM (
		SELECT e.account_id, coalesce(z.timezone, 'UTC') AS timezone,
			(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
		FROM (SELECT account_id FROM safety.training_employee_status GROUP BY account_id) e
		LEFT JOIN safety.reporting_settings z ON z.account_id = e.account_id
	) a CROSS JOIN LATERAL (
		SELECT t.status, step.day, sum(step.change * t.states) AS employees
		FROM (
			SELECT coalesce(h.status, 'unknown') AS status,
				(h.valid_from AT TIME ZONE a.timezone)::date AS from_day,
				coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
				count(*) AS states
			FROM safety.training_employee_status_history h
			WHERE h.account_id = a.account_id
			GROUP BY 1, 2, 3
		) t CROSS JOIN LATERAL (VALUES (t.from_day, 1), (t.to_day, -1)) AS step (day, change)
		WHERE step.day <= a.today
		GROUP BY t.status, step.day
	) d
	WINDOW w AS (PARTITION BY a.account_id, d.status ORDER BY d.day)
) s
CROSS JOIN LATERAL (VALUES
	(s.day, coalesce(s.next_day - 1, s.today), s.employees),
	(CASE WHEN s.is_first THEN s.first_day END, s.day - 1, 0)
) AS segment (from_day, to_day, employees)
JOIN safety.calendar dates ON dates.date BETWEEN segment.from_day AND segment.to_day;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.equipment_status_daily AS
SELECT s.account_id, dates.date, s.status, segment.equipment, segment.in_service
FROM (
	SELECT a.account_id, a.today, d.status, d.day, (sum(d.equipment) OVER w)::bigint AS equipment,
		(sum(d.in_service) OVER w)::bigint AS in_service,
		lead(d.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(d.day) OVER (PARTITION BY a.account_id) AS first_day
	FROM (
		SELECT e.account_id, coalesce(z.timezone, 'UTC') AS timezone,
			(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
		FROM (SELECT account_id FROM safety.equipment GROUP BY account_id) e
		LEFT JOIN safety.reporting_settings z ON z.account_id = e.account_id
	) a CROSS JOIN LATERAL (
		SELECT t.status, step.day, sum(step.change * t.states) AS equipment,
			sum(step.change * t.in_service_states) AS in_service
		FROM (
			SELECT coalesce(h.status, 'unknown') AS status,
				(h.valid_from AT TIME ZONE a.timezone)::date AS from_day,
				coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
				count(*) AS states, count(*) FILTER (WHERE h.is_in_service) AS in_service_states
			FROM safety.equipment_history h
			WHERE h.account_id = a.account_id
			GROUP BY 1, 2, 3
		) t CROSS JOIN LATERAL (VALUES (t.from_day, 1), (t.to_day, -1)) AS step (day, change)
		WHERE step.day <= a.today
		GROUP BY t.status, step.day
	) d
	WINDOW w AS (PARTITION BY a.account_id, d.status ORDER BY d.day)
) s
CROSS JOIN LATERAL (VALUES
	(s.day, coalesce(s.next_day - 1, s.today), s.equipment, s.in_service),
	(CASE WHEN s.is_first THEN s.first_day END, s.day - 1, 0, 0)
) AS segment (from_day, to_day, equipment, in_service)
JOIN safety.calendar dates ON dates.date BETWEEN segment.from_day AND segment.to_day;
--> statement-breakpoint
-- How fresh each stream is, for readers, who have no right on schema safety_sync: the view reads it as its owner.
-- What was skipped, and issues that were put through again without asking the service (data-issues --retry), say nothing
-- of how the last attempt ended. users asks nothing when no look-up is due; then it holds up to the newest success of the other streams.
CREATE VIEW safety.freshness AS
SELECT a.account_id, s.stream, t.last_success_at,
	floor(extract(epoch FROM now() - t.last_success_at))::bigint AS age_seconds,
	l.status AS last_status, l.finished_at AS last_finished_at,
	CASE s.stream WHEN 'followups' THEN t.watermark WHEN 'training-employee-status' THEN t.calculated_at
		ELSE t.last_success_at END AS as_of
FROM (
	SELECT account_id FROM safety.reporting_settings UNION SELECT account_id FROM safety_sync.stream_state
) a
CROSS JOIN (VALUES ('resources'), ('followups'), ('training-employee-status'), ('equipments'), ('users')) AS s (stream)
LEFT JOIN safety_sync.stream_state t ON t.account_id = a.account_id AND t.stream = s.stream
LEFT JOIN LATERAL (
	SELECT r.status, r.finished_at FROM safety_sync.runs r
	WHERE r.account_id = a.account_id AND r.stream = s.stream
		AND (r.status = 'failed' OR r.status = 'succeeded' AND (r.requests > 0 OR r.stream = 'users'))
	ORDER BY r.run_id DESC LIMIT 1
) l ON true
LEFT JOIN LATERAL (
	SELECT true AS is_running FROM safety_sync.runs r
	WHERE r.account_id = a.account_id AND r.stream = s.stream AND r.status = 'running' LIMIT 1
) n ON true
WHERE t.account_id IS NOT NULL OR l.status IS NOT NULL OR n.is_running;
