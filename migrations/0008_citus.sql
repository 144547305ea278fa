-- Views and rows that make every statement one that Citus can plan too; on one PostgreSQL they show the same.
CREATE OR REPLACE VIEW safety.training_assignments AS
SELECT s.account_id, s.user_id, ids.training_id, list.is_complete
FROM safety.training_employee_status s
CROSS JOIN LATERAL (VALUES (true, s.complete_training_ids), (false, s.incomplete_training_ids)) AS list (is_complete, training_ids)
CROSS JOIN LATERAL unnest(list.training_ids) AS ids (training_id)
WHERE s._deleted_at IS NULL;
--> statement-breakpoint
-- Every stream that ever began a run has its row: the runs of all streams are looked up from there.
INSERT INTO safety_sync.stream_state (account_id, stream)
SELECT DISTINCT r.account_id, r.stream FROM safety_sync.runs r ON CONFLICT DO NOTHING;
--> statement-breakpoint
CREATE OR REPLACE VIEW safety.freshness AS
SELECT t.account_id, t.stream, t.last_success_at,
	floor(extract(epoch FROM now() - t.last_success_at))::bigint AS age_seconds,
	l.status AS last_status, l.finished_at AS last_finished_at,
	CASE t.stream WHEN 'followups' THEN t.watermark WHEN 'training-employee-status' THEN t.calculated_at
		ELSE t.last_success_at END AS as_of
FROM safety_sync.stream_state t
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
WHERE t.last_success_at IS NOT NULL OR t.backfill_started_at IS NOT NULL OR l.status IS NOT NULL OR n.is_running;
