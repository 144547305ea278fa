CREATE TABLE "safety"."followup_days" (
	"account_id" text NOT NULL,
	"counted_by" text NOT NULL,
	"date" date NOT NULL,
	"timezone" text NOT NULL,
	"is_final" boolean DEFAULT false NOT NULL,
	"ids" text[] NOT NULL,
	"statuses" text[] NOT NULL,
	"followups" integer[] NOT NULL,
	CONSTRAINT "followup_days_account_id_counted_by_date_pk" PRIMARY KEY("account_id","counted_by","date")
);
--> statement-breakpoint
-- How many follow-ups were in each status at the end of each day. Days that are over are kept in followup_days; those after
-- the last kept one, today among them, are worked out from the states, as all are where none is kept.
-- Every state adds one on the day on which it begins and takes it away on the day on which it ends; the running sum is the
-- count, and holds until the next change. What began before the first of these days counts from that day on; the moment at
-- which it begins is held against times, so that days are worked out of those after it only. Where that is today it does
-- not matter which state is the first of its follow-up (a first state counts from the creation on): nobody looks.
-- Bounds are grouped so that they are worked out once an account. Each account is computed by itself, and the accounts come from a table of which the planner knows how many it has: a
-- plan that looks a thousand times as expensive as it is would be compiled (jit) for longer than it runs.
CREATE OR REPLACE VIEW safety.followup_daily AS
SELECT k.account_id, k.date, k.status, k.followups,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, c.id, c.status, c.followups::bigint, n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	CROSS JOIN LATERAL unnest(o.ids, o.statuses, o.followups) AS c (id, status, followups)
	WHERE o.counted_by = 'all'
	UNION ALL
	SELECT s.account_id, dates.date, NULL::text, counted.status, counted.followups, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::bigint AS open, (sum(d.overdue) OVER w)::bigint AS overdue,
			(sum(d.closed) OVER w)::bigint AS closed, (sum(d.unknown) OVER w)::bigint AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from,
				(b.today + 1)::timestamp AT TIME ZONE b.timezone AS tomorrow
			FROM (
				SELECT f.account_id, coalesce(z.timezone, 'UTC') AS timezone,
					(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today, kept.kept_to
				FROM (SELECT account_id FROM safety.followups GROUP BY account_id) f
				LEFT JOIN safety.reporting_settings z ON z.account_id = f.account_id
				LEFT JOIN (
					SELECT o.account_id, max(o.date) AS kept_to
					FROM safety.followup_days o
					JOIN safety.reporting_settings n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
					WHERE o.counted_by = 'all' GROUP BY o.account_id
				) kept ON kept.account_id = f.account_id
			) b GROUP BY 1, 2, 3, 4, 5, 6, 7
		) a CROSS JOIN LATERAL (
			SELECT step.day, sum(t.states * step.open) AS open, sum(t.states * step.overdue) AS overdue,
				sum(CASE WHEN t.is_known THEN t.states * step.closed ELSE 0 END) AS closed,
				sum(CASE WHEN t.is_known THEN 0 ELSE t.states * step.closed END) AS unknown
			FROM (
				SELECT CASE WHEN h.valid_from < a.live_from THEN a.first_live
						WHEN f.first_from <> h.valid_from THEN (h.valid_from AT TIME ZONE a.timezone)::date
						WHEN h.created_at < a.live_from THEN a.first_live
						ELSE (least(h.created_at, h.valid_from) AT TIME ZONE a.timezone)::date END AS from_day,
					coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
					CASE WHEN h.is_open THEN date 'infinity'
						WHEN h.is_open IS NULL OR h.resolved_at IS NULL OR h.resolved_at < a.live_from THEN date '-infinity'
						ELSE (h.resolved_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.is_open, b.created_at, b.resolved_at, b.due_on, b.valid_from, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.is_open, b.created_at, b.resolved_at, b.due_on, b._valid_from,
						CASE WHEN b._deleted_at IS NOT NULL THEN greatest(b._deleted_at, b._valid_from + interval '1 microsecond') END
					FROM safety.followups b
					WHERE b.account_id = a.account_id
						AND (b._deleted_at IS NULL OR b._deleted_at >= a.live_from OR b._valid_from >= a.live_from)
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND (a.first_live < a.today OR b.valid_to >= a.tomorrow)
					ORDER BY b.id, b.valid_from
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 1, 2, 3, 4, 5
			UNION ALL
			-- Where every follow-up is gone there are still days.
			SELECT a.first_live, a.first_live, date 'infinity', NULL::date, true, 0
			FROM safety.followup_days o WHERE o.account_id = a.account_id AND o.counted_by = 'all' AND o.date = a.kept_to
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
	WHERE counted.followups > 0 OR counted.status <> 'unknown'
) k;

--> statement-breakpoint
-- The same for each assignee of its day, and for each form; without zeros, of which there would be most.
CREATE VIEW safety.followup_daily_by_assignee AS
SELECT k.account_id, k.date, k.status, k.followups, k.id AS assignee_id, u.name AS assignee_name,
	k.days_ago,
	k.account_id || '/' || k.id AS assignee_key
FROM (
	SELECT o.account_id, o.date, c.id, c.status, c.followups::bigint, n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	CROSS JOIN LATERAL unnest(o.ids, o.statuses, o.followups) AS c (id, status, followups)
	WHERE o.counted_by = 'assignee'
	UNION ALL
	SELECT s.account_id, dates.date, s.id, counted.status, counted.followups, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.id, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::bigint AS open, (sum(d.overdue) OVER w)::bigint AS overdue,
			(sum(d.closed) OVER w)::bigint AS closed, (sum(d.unknown) OVER w)::bigint AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from,
				(b.today + 1)::timestamp AT TIME ZONE b.timezone AS tomorrow
			FROM (
				SELECT f.account_id, coalesce(z.timezone, 'UTC') AS timezone,
					(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today, kept.kept_to
				FROM (SELECT account_id FROM safety.followups GROUP BY account_id) f
				LEFT JOIN safety.reporting_settings z ON z.account_id = f.account_id
				LEFT JOIN (
					SELECT o.account_id, max(o.date) AS kept_to
					FROM safety.followup_days o
					JOIN safety.reporting_settings n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
					WHERE o.counted_by = 'all' GROUP BY o.account_id
				) kept ON kept.account_id = f.account_id
			) b GROUP BY 1, 2, 3, 4, 5, 6, 7
		) a CROSS JOIN LATERAL (
			SELECT t.id, step.day, sum(t.states * step.open) AS open, sum(t.states * step.overdue) AS overdue,
				sum(CASE WHEN t.is_known THEN t.states * step.closed ELSE 0 END) AS closed,
				sum(CASE WHEN t.is_known THEN 0 ELSE t.states * step.closed END) AS unknown
			FROM (
				SELECT h.assignee_id AS id, CASE WHEN h.valid_from < a.live_from THEN a.first_live
						WHEN f.first_from <> h.valid_from THEN (h.valid_from AT TIME ZONE a.timezone)::date
						WHEN h.created_at < a.live_from THEN a.first_live
						ELSE (least(h.created_at, h.valid_from) AT TIME ZONE a.timezone)::date END AS from_day,
					coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
					CASE WHEN h.is_open THEN date 'infinity'
						WHEN h.is_open IS NULL OR h.resolved_at IS NULL OR h.resolved_at < a.live_from THEN date '-infinity'
						ELSE (h.resolved_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.assignee_id, b.is_open, b.created_at, b.resolved_at, b.due_on, b.valid_from, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.assignee_id, b.is_open, b.created_at, b.resolved_at, b.due_on, b._valid_from,
						CASE WHEN b._deleted_at IS NOT NULL THEN greatest(b._deleted_at, b._valid_from + interval '1 microsecond') END
					FROM safety.followups b
					WHERE b.account_id = a.account_id
						AND (b._deleted_at IS NULL OR b._deleted_at >= a.live_from OR b._valid_from >= a.live_from)
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND (a.first_live < a.today OR b.valid_to >= a.tomorrow)
					ORDER BY b.id, b.valid_from
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 1, 2, 3, 4, 5, 6
			) t CROSS JOIN LATERAL (VALUES
				(t.from_day, 1, 0, 0),
				(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
				(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
				(t.to_day, 0, 0, -1)
			) AS step (day, open, overdue, closed)
			WHERE step.day <= a.today
			GROUP BY t.id, step.day
		) d
		WINDOW w AS (PARTITION BY a.account_id, d.id ORDER BY d.day)
	) s
	JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day - 1, s.today)
	CROSS JOIN LATERAL (VALUES
		('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
	) AS counted (status, followups)
	WHERE counted.followups > 0
) k
LEFT JOIN safety.users u ON u.account_id = k.account_id AND u.id = k.id;

--> statement-breakpoint
CREATE VIEW safety.followup_daily_by_form AS
SELECT k.account_id, k.date, k.status, k.followups, k.id::bigint AS form_id, coalesce(form.label, k.id) AS form_label,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, c.id, c.status, c.followups::bigint, n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	CROSS JOIN LATERAL unnest(o.ids, o.statuses, o.followups) AS c (id, status, followups)
	WHERE o.counted_by = 'form'
	UNION ALL
	SELECT s.account_id, dates.date, s.id, counted.status, counted.followups, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.id, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::bigint AS open, (sum(d.overdue) OVER w)::bigint AS overdue,
			(sum(d.closed) OVER w)::bigint AS closed, (sum(d.unknown) OVER w)::bigint AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from,
				(b.today + 1)::timestamp AT TIME ZONE b.timezone AS tomorrow
			FROM (
				SELECT f.account_id, coalesce(z.timezone, 'UTC') AS timezone,
					(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today, kept.kept_to
				FROM (SELECT account_id FROM safety.followups GROUP BY account_id) f
				LEFT JOIN safety.reporting_settings z ON z.account_id = f.account_id
				LEFT JOIN (
					SELECT o.account_id, max(o.date) AS kept_to
					FROM safety.followup_days o
					JOIN safety.reporting_settings n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
					WHERE o.counted_by = 'all' GROUP BY o.account_id
				) kept ON kept.account_id = f.account_id
			) b GROUP BY 1, 2, 3, 4, 5, 6, 7
		) a CROSS JOIN LATERAL (
			SELECT t.id, step.day, sum(t.states * step.open) AS open, sum(t.states * step.overdue) AS overdue,
				sum(CASE WHEN t.is_known THEN t.states * step.closed ELSE 0 END) AS closed,
				sum(CASE WHEN t.is_known THEN 0 ELSE t.states * step.closed END) AS unknown
			FROM (
				SELECT h.form_id::text AS id, CASE WHEN h.valid_from < a.live_from THEN a.first_live
						WHEN f.first_from <> h.valid_from THEN (h.valid_from AT TIME ZONE a.timezone)::date
						WHEN h.created_at < a.live_from THEN a.first_live
						ELSE (least(h.created_at, h.valid_from) AT TIME ZONE a.timezone)::date END AS from_day,
					coalesce((h.valid_to AT TIME ZONE a.timezone)::date, date 'infinity') AS to_day,
					CASE WHEN h.is_open THEN date 'infinity'
						WHEN h.is_open IS NULL OR h.resolved_at IS NULL OR h.resolved_at < a.live_from THEN date '-infinity'
						ELSE (h.resolved_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.resolved_at, b.due_on, b.valid_from, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.resolved_at, b.due_on, b._valid_from,
						CASE WHEN b._deleted_at IS NOT NULL THEN greatest(b._deleted_at, b._valid_from + interval '1 microsecond') END
					FROM safety.followups b
					WHERE b.account_id = a.account_id
						AND (b._deleted_at IS NULL OR b._deleted_at >= a.live_from OR b._valid_from >= a.live_from)
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND (a.first_live < a.today OR b.valid_to >= a.tomorrow)
					ORDER BY b.id, b.valid_from
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 1, 2, 3, 4, 5, 6
			) t CROSS JOIN LATERAL (VALUES
				(t.from_day, 1, 0, 0),
				(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
				(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
				(t.to_day, 0, 0, -1)
			) AS step (day, open, overdue, closed)
			WHERE step.day <= a.today
			GROUP BY t.id, step.day
		) d
		WINDOW w AS (PARTITION BY a.account_id, d.id ORDER BY d.day)
	) s
	JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day - 1, s.today)
	CROSS JOIN LATERAL (VALUES
		('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
	) AS counted (status, followups)
	WHERE counted.followups > 0
) k
LEFT JOIN safety.labels form ON form.account_id = k.account_id AND form.kind = 'form' AND form.id = k.id;

--> statement-breakpoint
CREATE OR REPLACE VIEW safety.training_status_daily AS
SELECT s.account_id, dates.date, s.status, segment.employees, s.today - dates.date AS days_ago
FROM (
	SELECT a.account_id, a.today, d.status, d.day, (sum(d.employees) OVER w)::bigint AS employees,
		lead(d.day) OVER w AS next_day, row_number() OVER w = 1 AS is_first,
		min(d.day) OVER (PARTITION BY a.account_id) AS first_day
	FROM (
		SELECT e.account_id, coalesce(z.timezone, 'UTC') AS timezone,
			(now() AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS today
		FROM (SELECT account_id FROM safety.training_employee_status GROUP BY account_id) e
		LEFT JOIN safety.reporting_settings z ON z.account_id = e.account_id
		GROUP BY 1, 2, 3
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
SELECT s.account_id, dates.date, s.status, segment.equipment, segment.in_service, s.today - dates.date AS days_ago
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
		GROUP BY 1, 2, 3
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
