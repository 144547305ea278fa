-- Few follow-ups are deleted, reopened or moved to another day, and few states end in the future: who asks for those finds them in
-- an index that holds little else.
DROP INDEX "safety"."followups_deleted_idx";--> statement-breakpoint
CREATE INDEX "followup_states_ended_idx" ON "safety"."followup_states" USING btree ("valid_to");--> statement-breakpoint
CREATE INDEX "followups_reopened_idx" ON "safety"."followups" USING btree ("id") WHERE "safety"."followups"."is_open" and not "safety"."followups"."_was_open";--> statement-breakpoint
CREATE INDEX "followups_due_moved_idx" ON "safety"."followups" USING btree ("id") WHERE "safety"."followups"."_due_moved";--> statement-breakpoint
CREATE INDEX "followups_deleted_idx" ON "safety"."followups" USING btree ("id","account_id") WHERE "safety"."followups"."_deleted_at" is not null;
--> statement-breakpoint
-- Days and events of follow-ups, quicker. What they show stays the same.
-- A day is worked out in one of three ways. Kept days that are over are read; one may not be over any more, where the server's
-- clock was set back. Today is counted from the states that hold now, with no look at those before them; only a follow-up that
-- the service dates beyond today (its clock may be ahead) is counted as the state that today ends with. Days between the last
-- kept one and today, of which there are mostly none, are worked out from all states. Those are read under a LIMIT that lets all
-- of them through, or none: the planner expects a tenth of the rows behind a limit it cannot know, and the whole view would look
-- expensive enough for jit to inline and optimize it, for longer than it runs, for days that are not there.
-- The columns of the union stand in the order in which the view shows them, because rows would be copied otherwise.
CREATE OR REPLACE VIEW safety.reporting_clock AS
SELECT s.account_id, max(s.timezone) AS timezone, (now() AT TIME ZONE max(s.timezone))::date AS today,
	((now() AT TIME ZONE max(s.timezone))::date + 1)::timestamp AT TIME ZONE max(s.timezone) AS today_until
FROM safety.reporting_settings s GROUP BY s.account_id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.followup_daily AS
SELECT k.account_id, k.date, k.status, k.followups::bigint AS followups,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, unnest(o.statuses) AS status, unnest(o.followups) AS followups, unnest(o.ids) AS id,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	WHERE o.counted_by = 'all' AND o.date < n.today
	UNION ALL
	SELECT s.account_id, dates.date, counted.status, counted.followups, NULL::text, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::int AS open, (sum(d.overdue) OVER w)::int AS overdue,
			(sum(d.closed) OVER w)::int AS closed, (sum(d.unknown) OVER w)::int AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from
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
			) b
			WHERE coalesce(b.kept_to + 1, date '-infinity') < b.today
			GROUP BY 1, 2, 3, 4, 5, 6
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
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id
					ORDER BY b.id, b.valid_from
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
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
			WHERE step.day < a.today
			GROUP BY step.day
		) d
		WINDOW w AS (PARTITION BY a.account_id ORDER BY d.day)
	) s
	JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day, s.today) - 1
	CROSS JOIN LATERAL (VALUES
		('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
	) AS counted (status, followups)
	WHERE counted.followups > 0 OR counted.status <> 'unknown'
	UNION ALL
	SELECT t.account_id, t.today, t.status, t.followups::int, NULL::text, 0
	FROM (
		SELECT h.account_id, max(h.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE h.status = 'open'), count(*) FILTER (WHERE h.status = 'overdue'),
				count(*) FILTER (WHERE h.status = 'closed'), count(*) FILTER (WHERE h.status = 'unknown')]) AS followups
		FROM (
			SELECT b.account_id, b.today,
				CASE WHEN (b._deleted_at IS NULL OR greatest(b._deleted_at, b._valid_from + interval '1 microsecond') >= b.today_until)
						AND (b._valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from IS NULL)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END AS status
			FROM (
				SELECT c.account_id, c.id, c.is_open, c.created_at, c.resolved_at, c.due_on, c._valid_from, c._deleted_at, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followups c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
			) b
			UNION ALL
			SELECT b.account_id, b.today,
				CASE WHEN b.valid_to >= b.today_until
						AND (b.valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from = b.valid_from)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END
			FROM (
				SELECT c.account_id, c.id, c.is_open, c.created_at, c.resolved_at, c.due_on, c.valid_from, c.valid_to, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followup_states c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
				WHERE c.valid_to > now()
			) b
		) h
		GROUP BY h.account_id
	) t
	WHERE t.followups > 0 OR t.status <> 'unknown'
) k;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.followup_daily_by_assignee AS
SELECT k.account_id, k.date, k.status, k.followups::bigint AS followups, k.id AS assignee_id, u.name AS assignee_name,
	k.days_ago,
	k.account_id || '/' || k.id AS assignee_key
FROM (
	SELECT o.account_id, o.date, unnest(o.statuses) AS status, unnest(o.followups) AS followups, unnest(o.ids) AS id,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	WHERE o.counted_by = 'assignee' AND o.date < n.today
	UNION ALL
	SELECT s.account_id, dates.date, counted.status, counted.followups, s.id, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.id, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::int AS open, (sum(d.overdue) OVER w)::int AS overdue,
			(sum(d.closed) OVER w)::int AS closed, (sum(d.unknown) OVER w)::int AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from
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
			) b
			WHERE coalesce(b.kept_to + 1, date '-infinity') < b.today
			GROUP BY 1, 2, 3, 4, 5, 6
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
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id
					ORDER BY b.id, b.valid_from
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 1, 2, 3, 4, 5, 6
			) t CROSS JOIN LATERAL (VALUES
				(t.from_day, 1, 0, 0),
				(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
				(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
				(t.to_day, 0, 0, -1)
			) AS step (day, open, overdue, closed)
			WHERE step.day < a.today
			GROUP BY t.id, step.day
		) d
		WINDOW w AS (PARTITION BY a.account_id, d.id ORDER BY d.day)
	) s
	JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day, s.today) - 1
	CROSS JOIN LATERAL (VALUES
		('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
	) AS counted (status, followups)
	WHERE counted.followups > 0
	UNION ALL
	SELECT t.account_id, t.today, t.status, t.followups::int, t.id, 0
	FROM (
		SELECT h.account_id, h.id, max(h.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE h.status = 'open'), count(*) FILTER (WHERE h.status = 'overdue'),
				count(*) FILTER (WHERE h.status = 'closed'), count(*) FILTER (WHERE h.status = 'unknown')]) AS followups
		FROM (
			SELECT b.account_id, b.assignee_id AS id, b.today,
				CASE WHEN (b._deleted_at IS NULL OR greatest(b._deleted_at, b._valid_from + interval '1 microsecond') >= b.today_until)
						AND (b._valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from IS NULL)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END AS status
			FROM (
				SELECT c.account_id, c.id, c.assignee_id, c.is_open, c.created_at, c.resolved_at, c.due_on, c._valid_from, c._deleted_at, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followups c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
			) b
			UNION ALL
			SELECT b.account_id, b.assignee_id, b.today,
				CASE WHEN b.valid_to >= b.today_until
						AND (b.valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from = b.valid_from)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END
			FROM (
				SELECT c.account_id, c.id, c.assignee_id, c.is_open, c.created_at, c.resolved_at, c.due_on, c.valid_from, c.valid_to, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followup_states c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
				WHERE c.valid_to > now()
			) b
		) h
		GROUP BY h.account_id, h.id
	) t
	WHERE t.followups > 0
) k
LEFT JOIN safety.users u ON u.account_id = k.account_id AND u.id = k.id;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.followup_daily_by_form AS
SELECT k.account_id, k.date, k.status, k.followups::bigint AS followups, k.id::bigint AS form_id, coalesce(form.label, k.id) AS form_label,
	k.days_ago
FROM (
	SELECT o.account_id, o.date, unnest(o.statuses) AS status, unnest(o.followups) AS followups, unnest(o.ids) AS id,
		n.today - o.date AS days_ago
	FROM safety.followup_days o
	JOIN safety.reporting_clock n ON n.account_id = o.account_id AND (n.timezone = o.timezone OR o.is_final)
	WHERE o.counted_by = 'form' AND o.date < n.today
	UNION ALL
	SELECT s.account_id, dates.date, counted.status, counted.followups, s.id, s.today - dates.date
	FROM (
		SELECT a.account_id, a.today, d.id, d.day, lead(d.day) OVER w AS next_day,
			(sum(d.open) OVER w)::int AS open, (sum(d.overdue) OVER w)::int AS overdue,
			(sum(d.closed) OVER w)::int AS closed, (sum(d.unknown) OVER w)::int AS unknown
		FROM (
			SELECT b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') AS first_live,
				coalesce(b.kept_to + 1, date '-infinity')::timestamp AT TIME ZONE b.timezone AS live_from
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
			) b
			WHERE coalesce(b.kept_to + 1, date '-infinity') < b.today
			GROUP BY 1, 2, 3, 4, 5, 6
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
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
				) h
				LEFT JOIN (
					SELECT DISTINCT ON (b.id) b.account_id, b.id, b.valid_from AS first_from
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id
					ORDER BY b.id, b.valid_from
					LIMIT CASE WHEN a.first_live < a.today THEN NULL ELSE 0 END
				) f ON f.account_id = h.account_id AND f.id = h.id
				GROUP BY 1, 2, 3, 4, 5, 6
			) t CROSS JOIN LATERAL (VALUES
				(t.from_day, 1, 0, 0),
				(greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
				(greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
				(t.to_day, 0, 0, -1)
			) AS step (day, open, overdue, closed)
			WHERE step.day < a.today
			GROUP BY t.id, step.day
		) d
		WINDOW w AS (PARTITION BY a.account_id, d.id ORDER BY d.day)
	) s
	JOIN safety.calendar dates ON dates.date BETWEEN s.day AND coalesce(s.next_day, s.today) - 1
	CROSS JOIN LATERAL (VALUES
		('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
	) AS counted (status, followups)
	WHERE counted.followups > 0
	UNION ALL
	SELECT t.account_id, t.today, t.status, t.followups::int, t.id::text, 0
	FROM (
		SELECT h.account_id, h.id, max(h.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE h.status = 'open'), count(*) FILTER (WHERE h.status = 'overdue'),
				count(*) FILTER (WHERE h.status = 'closed'), count(*) FILTER (WHERE h.status = 'unknown')]) AS followups
		FROM (
			SELECT b.account_id, b.form_id AS id, b.today,
				CASE WHEN (b._deleted_at IS NULL OR greatest(b._deleted_at, b._valid_from + interval '1 microsecond') >= b.today_until)
						AND (b._valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from IS NULL)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END AS status
			FROM (
				SELECT c.account_id, c.id, c.form_id, c.is_open, c.created_at, c.resolved_at, c.due_on, c._valid_from, c._deleted_at, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followups c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
			) b
			UNION ALL
			SELECT b.account_id, b.form_id, b.today,
				CASE WHEN b.valid_to >= b.today_until
						AND (b.valid_from < b.today_until OR b.created_at < b.today_until AND b.first_from = b.valid_from)
					THEN CASE WHEN b.is_open IS NULL THEN 'unknown'
						WHEN NOT b.is_open AND (b.resolved_at < b.today_until) IS NOT FALSE THEN 'closed'
						WHEN b.due_on < b.today THEN 'overdue' ELSE 'open' END
				END
			FROM (
				SELECT c.account_id, c.id, c.form_id, c.is_open, c.created_at, c.resolved_at, c.due_on, c.valid_from, c.valid_to, s.first_from,
					coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
					coalesce(z.today_until, ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC') AS today_until
				FROM safety.followup_states c
				LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
				LEFT JOIN (
					SELECT e.account_id, e.id, min(e.valid_from) AS first_from
					FROM safety.followup_states e WHERE e.valid_to > now() GROUP BY e.account_id, e.id
				) s ON s.account_id = c.account_id AND s.id = c.id
				WHERE c.valid_to > now()
			) b
		) h
		GROUP BY h.account_id, h.id
	) t
	WHERE t.followups > 0
) k
LEFT JOIN safety.labels form ON form.account_id = k.account_id AND form.kind = 'form' AND form.id = k.id;
