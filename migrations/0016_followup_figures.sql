-- What the messages of a follow-up amount to is counted when it is stored: who filters follow-ups does not wait until all
-- messages are counted. What was stored before is counted by the next runs, a bounded part each; until then by the view.
ALTER TABLE "safety"."followups" ADD COLUMN "_message_count" integer;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_reassignment_count" integer;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_last_message_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "safety"."followups" ADD COLUMN "_first_response_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "followups_uncounted_idx" ON "safety"."followups" USING btree ("id") WHERE "safety"."followups"."_message_count" is null;
--> statement-breakpoint
-- Names, distances to today and figures: those of messages as they were stored with it. For changes, each superseded state is
-- held against the one after it, the last of them against the present row.
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
	SELECT o.account_id, o.id, count(*) AS message_count, count(*) FILTER (WHERE c.reassignee_id <> '') AS reassignment_count,
		max(c.sent_at) AS last_message_at, min(c.sent_at) FILTER (WHERE c.user_id IS DISTINCT FROM o.observer_id) AS first_response_at
	FROM safety.followups o
	JOIN safety.followup_messages c ON c.account_id = o.account_id AND c.followup_id = o.id
	WHERE o._message_count IS NULL
	GROUP BY o.account_id, o.id
) m ON m.account_id = f.account_id AND m.id = f.id
LEFT JOIN safety.labels form ON form.account_id = f.account_id AND form.kind = 'form' AND form.id = f.form_id::text
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
