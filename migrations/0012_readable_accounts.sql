-- What safety.freshness needs to know of its reader: it reads the control tables as its owner, for whom no policy holds.
-- A function runs as whoever asks, so the policies on this table say which accounts that one may see. Each account that a
-- worker was started for has its row there.
CREATE OR REPLACE FUNCTION safety.readable_accounts() RETURNS text[] LANGUAGE sql STABLE AS $$
	SELECT coalesce(array_agg(s.account_id), '{}') FROM safety.reporting_settings s
$$;
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
WHERE (t.last_success_at IS NOT NULL OR t.backfill_started_at IS NOT NULL OR l.status IS NOT NULL OR n.is_running)
	AND (NOT row_security_active('safety.reporting_settings')
		OR t.account_id = ANY ((SELECT safety.readable_accounts())::text[]));
