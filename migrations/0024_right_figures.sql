CREATE INDEX "followups_closed_again_idx" ON "safety"."followups" USING btree ("id","account_id","resolved_at","completer_id") WHERE not "safety"."followups"."is_open" and not "safety"."followups"."_was_open";
--> statement-breakpoint
-- Right figures where the source corrects itself, or a clock is ahead.
-- A state begins no later than it was seen. Those that were stored with a time to come are moved to the last change of their
-- row here, in their order, a tick apart. Days are counted again, because they were counted with those times.
UPDATE safety.followup_states s SET valid_from = least(s.valid_from, p.latest),
	valid_to = least(s.valid_to, p.latest + interval '1 microsecond')
FROM (
	SELECT b.account_id, b.id, b.valid_from,
		f._synced_at - row_number() OVER (PARTITION BY b.account_id, b.id ORDER BY b.valid_from DESC) * interval '1 microsecond' AS latest
	FROM safety.followup_states b
	JOIN safety.followups f ON f.account_id = b.account_id AND f.id = b.id
	WHERE f._valid_from > now()
) p WHERE p.account_id = s.account_id AND p.id = s.id AND p.valid_from = s.valid_from AND s.valid_to > p.latest;
--> statement-breakpoint
UPDATE safety.followups SET _valid_from = _synced_at WHERE _valid_from > now();
--> statement-breakpoint
DELETE FROM safety.followup_days WHERE NOT is_final;
--> statement-breakpoint
-- An open follow-up has no closing time, also where the service keeps an earlier one. No age and no time to close is
-- negative: the clock of a device is not the clock of the service.
CREATE OR REPLACE VIEW safety.followup_overview AS
SELECT f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
	f.observer_id, observer.name AS observer_name, f.assigner_id, assigner.name AS assigner_name,
	f.assignee_id, assignee.name AS assignee_name, f.due_on, CASE WHEN f.is_open IS NOT TRUE THEN f.resolved_at END AS resolved_at,
	f.completer_id, completer.name AS completer_name,
	coalesce(f.is_open AND f.due_on < f.today, false) AS is_overdue,
	CASE WHEN f.is_open IS NOT TRUE THEN NULL WHEN f.created_on > f.today THEN 0 ELSE f.today - f.created_on END AS age_days,
	CASE WHEN f.is_open THEN NULL WHEN f.resolved_on < f.created_on THEN 0 ELSE f.resolved_on - f.created_on END AS days_to_resolve,
	f.message_count::bigint AS message_count, f.reassignment_count::bigint AS reassignment_count, f.last_message_at,
	coalesce(form.label, f.form_id::text) AS form_label,
	f.created_on, f.updated_on, CASE WHEN f.is_open IS NOT TRUE THEN f.resolved_on END AS resolved_on, f.last_message_on,
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
-- The present closing has the time and the completer that the source has now, as followup_overview shows them; the state
-- with which it began may have been superseded by a correction.
CREATE OR REPLACE VIEW safety.followup_events AS
SELECT e.account_id, e.followup_id, e.occurred_at, (e.occurred_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS occurred_on,
	e.event, e.user_id, e.from_value, e.to_value, u.name AS user_name, e.account_id || '/' || e.followup_id AS followup_key
FROM (
	SELECT f.account_id, f.id AS followup_id, f.created_at AS occurred_at, 'raised' AS event, f.observer_id AS user_id,
		NULL::text AS from_value, NULL::text AS to_value
	FROM safety.followups f WHERE f._deleted_at IS NULL
	UNION ALL
	SELECT c.account_id, c.followup_id, c.sent_at, 'message', c.user_id, NULL, NULL
	FROM safety.followup_messages c
	WHERE NOT EXISTS (SELECT FROM safety.followups f
		WHERE f.account_id = c.account_id AND f.id = c.followup_id AND f._deleted_at IS NOT NULL)
	UNION ALL
	SELECT c.account_id, c.followup_id, c.sent_at, 'handed_on', c.user_id,
		c._handed_before, c.reassignee_id
	FROM safety.followup_messages c
	WHERE c.reassignee_id <> '' AND NOT EXISTS (SELECT FROM safety.followups f
		WHERE f.account_id = c.account_id AND f.id = c.followup_id AND f._deleted_at IS NOT NULL)
	UNION ALL
	SELECT f.account_id, f.id, coalesce(f.resolved_at, f._valid_from), 'closed', f.completer_id, NULL, NULL
	FROM safety.followups f WHERE f._deleted_at IS NULL AND NOT f.is_open AND f._was_open IS NOT FALSE
	UNION ALL
	SELECT s.account_id, s.id, coalesce(f.resolved_at, s.resolved_at, s.valid_from), 'closed',
		CASE WHEN f.id IS NULL THEN s.completer_id ELSE f.completer_id END, NULL, NULL
	FROM (
		SELECT c.account_id, c.id, c.resolved_at, c.completer_id, c.valid_from,
			c.valid_from = max(c.valid_from) OVER (PARTITION BY c.account_id, c.id) AS is_last
		FROM safety.followup_states c WHERE NOT c.is_open AND c._was_open IS NOT FALSE
	) s
	LEFT JOIN safety.followups f
		ON f.account_id = s.account_id AND f.id = s.id AND NOT f.is_open AND NOT f._was_open AND s.is_last
	WHERE NOT EXISTS (SELECT FROM safety.followups f
		WHERE f.account_id = s.account_id AND f.id = s.id AND f._deleted_at IS NOT NULL)
	UNION ALL
	SELECT f.account_id, f.id, f._valid_from, 'reopened', NULL, NULL, NULL
	FROM safety.followups f WHERE f._deleted_at IS NULL AND f.is_open AND NOT f._was_open
	UNION ALL
	SELECT s.account_id, s.id, s.valid_from, 'reopened', NULL, NULL, NULL
	FROM safety.followup_states s
	WHERE s.is_open AND NOT s._was_open AND NOT EXISTS (SELECT FROM safety.followups f
		WHERE f.account_id = s.account_id AND f.id = s.id AND f._deleted_at IS NOT NULL)
	UNION ALL
	SELECT f.account_id, f.id, f._valid_from, 'due_moved', NULL, f._due_before::text, f.due_on::text
	FROM safety.followups f WHERE f._deleted_at IS NULL AND f._due_moved
	UNION ALL
	SELECT s.account_id, s.id, s.valid_from, 'due_moved', NULL, s._due_before::text, s.due_on::text
	FROM safety.followup_states s
	WHERE s._due_moved AND NOT EXISTS (SELECT FROM safety.followups f
		WHERE f.account_id = s.account_id AND f.id = s.id AND f._deleted_at IS NOT NULL)
) e
LEFT JOIN safety.reporting_clock z ON z.account_id = e.account_id
LEFT JOIN safety.users u ON u.account_id = e.account_id AND u.id = e.user_id;
--> statement-breakpoint
-- Today is counted from the rows as they are now, so that it agrees with them. A closed follow-up without a completion, or with
-- one that is still to come, was closed when the state began.
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
						WHEN h.is_open IS NULL OR h.closed_at < a.live_from THEN date '-infinity'
						ELSE (h.closed_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.is_open, b.created_at, b.due_on, b.valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b.valid_from END AS closed_at, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.is_open, b.created_at, b.due_on, b._valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b._valid_from END AS closed_at,
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
		SELECT b.account_id, max(b.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE b.status = 'open'), count(*) FILTER (WHERE b.status = 'overdue'),
				count(*) FILTER (WHERE b.status = 'closed'), count(*) FILTER (WHERE b.status = 'unknown')]) AS followups
		FROM (
			SELECT c.account_id, coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
				CASE WHEN c._deleted_at IS NOT NULL THEN NULL WHEN c.is_open IS NULL THEN 'unknown' WHEN NOT c.is_open THEN 'closed'
					WHEN c.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'overdue' ELSE 'open' END AS status
			FROM safety.followups c
			LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
		) b
		GROUP BY b.account_id
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
						WHEN h.is_open IS NULL OR h.closed_at < a.live_from THEN date '-infinity'
						ELSE (h.closed_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.assignee_id, b.is_open, b.created_at, b.due_on, b.valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b.valid_from END AS closed_at, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.assignee_id, b.is_open, b.created_at, b.due_on, b._valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b._valid_from END AS closed_at,
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
		SELECT b.account_id, b.id, max(b.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE b.status = 'open'), count(*) FILTER (WHERE b.status = 'overdue'),
				count(*) FILTER (WHERE b.status = 'closed'), count(*) FILTER (WHERE b.status = 'unknown')]) AS followups
		FROM (
			SELECT c.account_id, c.assignee_id AS id, coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
				CASE WHEN c._deleted_at IS NOT NULL THEN NULL WHEN c.is_open IS NULL THEN 'unknown' WHEN NOT c.is_open THEN 'closed'
					WHEN c.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'overdue' ELSE 'open' END AS status
			FROM safety.followups c
			LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
		) b
		GROUP BY b.account_id, b.id
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
						WHEN h.is_open IS NULL OR h.closed_at < a.live_from THEN date '-infinity'
						ELSE (h.closed_at AT TIME ZONE a.timezone)::date END AS closed_on,
					CASE WHEN h.due_on < a.first_live THEN a.first_live - 1 ELSE h.due_on END AS due_on,
					h.is_open IS NOT NULL AS is_known, count(*) AS states
				FROM (
					SELECT b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.due_on, b.valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b.valid_from END AS closed_at, b.valid_to
					FROM safety.followup_states b
					WHERE b.account_id = a.account_id AND b.valid_to >= a.live_from
					UNION ALL
					SELECT b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.due_on, b._valid_from,
						CASE WHEN b.resolved_at <= now() THEN b.resolved_at ELSE b._valid_from END AS closed_at,
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
		SELECT b.account_id, b.id, max(b.today) AS today, unnest(ARRAY['open', 'overdue', 'closed', 'unknown']) AS status,
			unnest(ARRAY[count(*) FILTER (WHERE b.status = 'open'), count(*) FILTER (WHERE b.status = 'overdue'),
				count(*) FILTER (WHERE b.status = 'closed'), count(*) FILTER (WHERE b.status = 'unknown')]) AS followups
		FROM (
			SELECT c.account_id, c.form_id AS id, coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) AS today,
				CASE WHEN c._deleted_at IS NOT NULL THEN NULL WHEN c.is_open IS NULL THEN 'unknown' WHEN NOT c.is_open THEN 'closed'
					WHEN c.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) THEN 'overdue' ELSE 'open' END AS status
			FROM safety.followups c
			LEFT JOIN safety.reporting_clock z ON z.account_id = c.account_id
		) b
		GROUP BY b.account_id, b.id
	) t
	WHERE t.followups > 0
) k
LEFT JOIN safety.labels form ON form.account_id = k.account_id AND form.kind = 'form' AND form.id = k.id;
--> statement-breakpoint
-- A state of which a later one shows an earlier completion, or none, was taken back or corrected: it is left out. Each other one
-- with a later completion than the one before it is an inspection, which was due when that one expired. The state just before is
-- one of the others unless its completion is later; only then the one before that is looked for.
CREATE OR REPLACE VIEW safety.inspection_completions AS
SELECT s.account_id, s.equipment_id, s.schedule_id, s.completed_at, s.was_due_at,
	CASE WHEN (s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date THEN 0
		ELSE (s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date - (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date END AS days_late,
	(s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS in_time,
	(s.completed_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS completed_on,
	(s.was_due_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS was_due_on,
	e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id) AS equipment_type_label,
	coalesce(schedule.label, s.schedule_id) AS schedule_label, s.account_id || '/' || s.equipment_id AS equipment_key
FROM (
	SELECT k.account_id, k.equipment_id, k.schedule_id, k.completed_at, k.least_from_now,
		CASE WHEN k.completed_before > k.completed_at THEN p.completed_before ELSE k.completed_before END AS completed_before,
		CASE WHEN k.completed_before > k.completed_at THEN p.due_before ELSE k.due_before END AS was_due_at
	FROM (
		SELECT h.account_id, h.equipment_id, h.schedule_id, h.completed_at, h.valid_from, min(h.completed_at) OVER w AS least_from_now,
			lag(h.completed_at) OVER w AS completed_before, lag(h.expires_at) OVER w AS due_before
		FROM (
			SELECT b.account_id, b.equipment_id, b.schedule_id, coalesce(b.last_completed_at, '-infinity') AS completed_at, b.expires_at, b.valid_from
			FROM safety.equipment_schedule_states b
			UNION ALL
			SELECT c.account_id, c.equipment_id, c.schedule_id, coalesce(c.last_completed_at, '-infinity'), c.expires_at, c._valid_from
			FROM safety.equipment_schedules c
		) h
		WINDOW w AS (PARTITION BY h.account_id, h.equipment_id, h.schedule_id ORDER BY h.valid_from
			ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
	) k
	LEFT JOIN LATERAL (
		SELECT coalesce(b.last_completed_at, '-infinity') AS completed_before, b.expires_at AS due_before
		FROM safety.equipment_schedule_states b
		WHERE k.completed_before > k.completed_at AND b.account_id = k.account_id AND b.equipment_id = k.equipment_id
			AND b.schedule_id = k.schedule_id AND b.valid_from < k.valid_from
			AND coalesce(b.last_completed_at, '-infinity') <= k.completed_at
		ORDER BY b.valid_from DESC LIMIT 1
	) p ON true
) s
JOIN safety.equipment e ON e.account_id = s.account_id AND e.id = s.equipment_id
LEFT JOIN safety.reporting_clock z ON z.account_id = e.account_id
LEFT JOIN safety.labels schedule
	ON schedule.account_id = e.account_id AND schedule.kind = 'schedule' AND schedule.id = s.schedule_id
LEFT JOIN safety.labels type
	ON type.account_id = e.account_id AND type.kind = 'equipment_type' AND type.id = e.equipment_type_id
-- As a CASE, of which the planner expects half: of comparisons it would expect few, and look each label up by itself.
WHERE CASE WHEN s.completed_at <= s.least_from_now THEN s.completed_at > coalesce(s.completed_before, '-infinity') ELSE false END
	AND e._deleted_at IS NULL;
