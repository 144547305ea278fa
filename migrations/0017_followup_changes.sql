-- How each state of a follow-up differs from the one before it is kept with the state, written when it begins, and with a message
-- to whom the one before had handed the follow-up: the views need not hold every state and every message against another.
ALTER TABLE "safety"."followup_messages" ADD COLUMN "_handed_before" text;--> statement-breakpoint
ALTER TABLE "safety"."followup_states" ADD COLUMN "_was_open" boolean;--> statement-breakpoint
ALTER TABLE "safety"."followup_states" ADD COLUMN "_due_moved" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "safety"."followup_states" ADD COLUMN "_due_before" date;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_was_open" boolean;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_due_moved" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_due_before" date;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_due_changes" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_reopen_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "followups_deleted_idx" ON "safety"."followups" USING btree ("id") WHERE "safety"."followups"."_deleted_at" is not null;
--> statement-breakpoint
-- Of what was stored before: rows of which nothing is told beyond the defaults are not written.
UPDATE safety.followup_messages c SET _handed_before = p.handed_before
FROM (
	SELECT h.account_id, h.followup_id, h.id,
		lag(h.reassignee_id) OVER (PARTITION BY h.account_id, h.followup_id ORDER BY h.position) AS handed_before
	FROM safety.followup_messages h WHERE h.reassignee_id <> ''
) p WHERE p.account_id = c.account_id AND p.followup_id = c.followup_id AND p.id = c.id AND p.handed_before IS NOT NULL;
--> statement-breakpoint
UPDATE safety.followup_states s SET _was_open = p.was_open, _due_moved = p.due_before IS DISTINCT FROM s.due_on, _due_before = p.due_before
FROM (
	SELECT b.account_id, b.id, b.valid_from, row_number() OVER w AS place, lag(b.is_open) OVER w AS was_open,
		lag(b.due_on) OVER w AS due_before
	FROM safety.followup_states b
	WINDOW w AS (PARTITION BY b.account_id, b.id ORDER BY b.valid_from)
) p WHERE p.account_id = s.account_id AND p.id = s.id AND p.valid_from = s.valid_from AND p.place > 1;
--> statement-breakpoint
UPDATE safety.followups f SET _was_open = l.is_open, _due_moved = f.due_on IS DISTINCT FROM l.due_on, _due_before = l.due_on,
	_due_changes = l.due_changes + (f.due_on IS DISTINCT FROM l.due_on)::int,
	_reopen_count = l.reopen_count + (f.is_open IS TRUE AND l.is_open IS FALSE)::int
FROM (
	SELECT b.account_id, b.id, (array_agg(b.is_open ORDER BY b.valid_from DESC))[1] AS is_open,
		(array_agg(b.due_on ORDER BY b.valid_from DESC))[1] AS due_on, count(*) FILTER (WHERE b._due_moved) AS due_changes,
		count(*) FILTER (WHERE b.is_open AND NOT b._was_open) AS reopen_count
	FROM safety.followup_states b GROUP BY b.account_id, b.id
) l WHERE l.account_id = f.account_id AND l.id = f.id;
--> statement-breakpoint
-- Names, distances to today, and figures as they were stored with it.
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
	coalesce(f._message_count, m.message_count, 0)::bigint AS message_count,
	coalesce(f._reassignment_count, m.reassignment_count, 0)::bigint AS reassignment_count,
	coalesce(f._last_message_at, m.last_message_at) AS last_message_at,
	coalesce(form.label, f.form_id::text) AS form_label,
	(f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS created_on,
	(f.updated_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS updated_on,
	(f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS resolved_on,
	(coalesce(f._last_message_at, m.last_message_at) AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_message_on,
	CASE WHEN f.is_open THEN f.due_on - coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) END AS days_until_due,
	CASE WHEN f.is_open AND f.due_on < coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
		THEN coalesce(z.today, (now() AT TIME ZONE 'UTC')::date) - f.due_on END AS days_overdue,
	CASE WHEN f.is_open THEN
		CASE width_bucket(coalesce(z.today, (now() AT TIME ZONE 'UTC')::date)
				- (f.created_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date, ARRAY[8, 31, 61, 91])
			WHEN 0 THEN '00-07' WHEN 1 THEN '08-30' WHEN 2 THEN '31-60' WHEN 3 THEN '61-90' WHEN 4 THEN '91+' END
	END AS age_bucket,
	CASE WHEN NOT f.is_open THEN (f.resolved_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date <= f.due_on END AS closed_in_time,
	coalesce(f._first_response_at, m.first_response_at) AS first_response_at,
	(coalesce(f._first_response_at, m.first_response_at) AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS first_response_on,
	f._due_changes::bigint AS due_changes,
	f._reopen_count::bigint AS reopen_count,
	f.account_id || '/' || f.id AS followup_key, f.account_id || '/' || f.assignee_id AS assignee_key
FROM safety.followups f
LEFT JOIN safety.reporting_clock z ON z.account_id = f.account_id
LEFT JOIN safety.users observer ON observer.account_id = f.account_id AND observer.id = f.observer_id
LEFT JOIN safety.users assigner ON assigner.account_id = f.account_id AND assigner.id = f.assigner_id
LEFT JOIN safety.users assignee ON assignee.account_id = f.account_id AND assignee.id = f.assignee_id
LEFT JOIN safety.users completer ON completer.account_id = f.account_id AND completer.id = f.completer_id
LEFT JOIN (
	SELECT o.account_id, o.id, count(*) AS message_count, count(*) FILTER (WHERE c.reassignee_id <> '') AS reassignment_count,
		max(c.sent_at) AS last_message_at, min(c.sent_at) FILTER (WHERE c.user_id IS DISTINCT FROM o.observer_id) AS first_response_at
	FROM safety.followups o
	JOIN safety.followup_messages c ON c.account_id = o.account_id AND c.followup_id = o.id
	WHERE o._message_count IS NULL
	GROUP BY o.account_id, o.id
) m ON m.account_id = f.account_id AND m.id = f.id
LEFT JOIN safety.labels form ON form.account_id = f.account_id AND form.kind = 'form' AND form.id = f.form_id::text
WHERE f._deleted_at IS NULL;
--> statement-breakpoint
-- What the record and its messages tell, and what the states that were seen show: where a state differs from the one before
-- it. What was closed when it was first seen has been closed as well. Each event stands in a branch of its own, which the
-- planner leaves out where nobody asks for it. Messages and states are held against the deleted follow-ups, which are few.
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
	SELECT s.account_id, s.id, coalesce(s.resolved_at, s.valid_from), 'closed', s.completer_id, NULL, NULL
	FROM safety.followup_states s
	WHERE NOT s.is_open AND s._was_open IS NOT FALSE AND NOT EXISTS (SELECT FROM safety.followups f
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
