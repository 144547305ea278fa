-- Views that read whole tables, quicker. What they show stays the same.
-- Of each follow-up the local days are worked out once, in the branch of the union that it comes from, and what is made of them
-- reads them there; only follow-ups whose figures are not stored yet are held against their messages.
CREATE OR REPLACE VIEW safety.followup_overview AS
SELECT f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
	f.observer_id, observer.name AS observer_name, f.assigner_id, assigner.name AS assigner_name,
	f.assignee_id, assignee.name AS assignee_name, f.due_on, f.resolved_at,
	f.completer_id, completer.name AS completer_name,
	coalesce(f.is_open AND f.due_on < f.today, false) AS is_overdue,
	CASE WHEN f.is_open THEN f.today - f.created_on END AS age_days,
	f.resolved_on - f.created_on AS days_to_resolve,
	f.message_count::bigint AS message_count, f.reassignment_count::bigint AS reassignment_count, f.last_message_at,
	coalesce(form.label, f.form_id::text) AS form_label,
	f.created_on, f.updated_on, f.resolved_on, f.last_message_on,
	CASE WHEN f.is_open THEN f.due_on - f.today END AS days_until_due,
	CASE WHEN f.is_open AND f.due_on < f.today THEN f.today - f.due_on END AS days_overdue,
	CASE WHEN f.is_open THEN
		CASE width_bucket(f.today - f.created_on, ARRAY[8, 31, 61, 91])
			WHEN 0 THEN '00-07' WHEN 1 THEN '08-30' WHEN 2 THEN '31-60' WHEN 3 THEN '61-90' WHEN 4 THEN '91+' END
	END AS age_bucket,
	CASE WHEN NOT f.is_open THEN f.resolved_on <= f.due_on END AS closed_in_time,
	f.first_response_at, f.first_response_on,
	f.due_changes::bigint AS due_changes, f.reopen_count::bigint AS reopen_count,
	f.account_id || '/' || f.id AS followup_key, f.account_id || '/' || f.assignee_id AS assignee_key
FROM (
	SELECT c.account_id, c.id, c.form_id, c.response_id, c.is_open, c.created_at, c.updated_at, c.observer_id, c.assigner_id,
		c.assignee_id, c.due_on, c.resolved_at, c.completer_id, c._message_count AS message_count,
		c._reassignment_count AS reassignment_count, c._last_message_at AS last_message_at, c._first_response_at AS first_response_at,
		c._due_changes AS due_changes, c._reopen_count AS reopen_count,
		coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
		(c.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
		(c.updated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS updated_on,
		(c.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS resolved_on,
		(c._last_message_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_message_on,
		(c._first_response_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS first_response_on
	FROM safety.followups c
	LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
	WHERE c._deleted_at IS NULL AND c._message_count IS NOT NULL
	UNION ALL
	SELECT c.account_id, c.id, c.form_id, c.response_id, c.is_open, c.created_at, c.updated_at, c.observer_id, c.assigner_id,
		c.assignee_id, c.due_on, c.resolved_at, c.completer_id, coalesce(m.message_count, 0), coalesce(m.reassignment_count, 0), m.last_message_at,
		m.first_response_at, c._due_changes, c._reopen_count,
		coalesce(z.today, (now() AT TIME ZONE 'UTC')::date),
		(c.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date,
		(c.updated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date,
		(c.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date,
		(m.last_message_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date,
		(m.first_response_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date
	FROM safety.followups c
	LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
	LEFT JOIN (
		SELECT o.account_id, o.id, count(*)::int AS message_count, (count(*) FILTER (WHERE c.reassignee_id <> ''))::int AS reassignment_count,
			max(c.sent_at) AS last_message_at, min(c.sent_at) FILTER (WHERE c.user_id IS DISTINCT FROM o.observer_id) AS first_response_at
		FROM safety.followups o
		JOIN safety.followup_messages c ON c.account_id = o.account_id AND c.followup_id = o.id
		WHERE o._message_count IS NULL
		GROUP BY o.account_id, o.id
	) m ON m.account_id = c.account_id AND m.id = c.id
	WHERE c._deleted_at IS NULL AND c._message_count IS NULL
) f
LEFT JOIN safety.users observer ON observer.account_id = f.account_id AND observer.id = f.observer_id
LEFT JOIN safety.users assigner ON assigner.account_id = f.account_id AND assigner.id = f.assigner_id
LEFT JOIN safety.users assignee ON assignee.account_id = f.account_id AND assignee.id = f.assignee_id
LEFT JOIN safety.users completer ON completer.account_id = f.account_id AND completer.id = f.completer_id
LEFT JOIN safety.labels form ON form.account_id = f.account_id AND form.kind = 'form' AND form.id = f.form_id::text;
--> statement-breakpoint
-- Kept days are unnested in the select list, because rows of a function in FROM are stored before they are read.
CREATE OR REPLACE VIEW safety.followup_daily AS
SELECT k.account_id, k.date, k.status, k.followups,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, unnest(o.ids) AS id, unnest(o.statuses) AS status, unnest(o.followups)::bigint AS followups,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
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
CREATE OR REPLACE VIEW safety.followup_daily_by_assignee AS
SELECT k.account_id, k.date, k.status, k.followups, k.id AS assignee_id, u.name AS assignee_name,
	k.days_ago,
	k.account_id || '/' || k.id AS assignee_key
FROM (
	SELECT o.account_id, o.date, unnest(o.ids) AS id, unnest(o.statuses) AS status, unnest(o.followups)::bigint AS followups,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
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
CREATE OR REPLACE VIEW safety.followup_daily_by_form AS
SELECT k.account_id, k.date, k.status, k.followups, k.id::bigint AS form_id, coalesce(form.label, k.id) AS form_label,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, unnest(o.ids) AS id, unnest(o.statuses) AS status, unnest(o.followups)::bigint AS followups,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
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
