CREATE TABLE "safety_sync"."account_changes" (
	"account_id" text NOT NULL,
	"renamed_to" text,
	"began_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_changes_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "read_parts" jsonb;--> statement-breakpoint
-- Rows of parts that the last successful run did not ask for: they stay, and no run brings them up to date. All parts that one
-- run has asked for bear the same time.
CREATE OR REPLACE VIEW safety.freshness AS
SELECT t.account_id, t.stream, t.last_success_at,
	floor(extract(epoch FROM now() - t.last_success_at))::bigint AS age_seconds,
	l.status AS last_status, l.finished_at AS last_finished_at,
	CASE t.stream WHEN 'followups' THEN t.watermark WHEN 'training-employee-status' THEN t.calculated_at
		ELSE t.last_success_at END AS as_of,
	(t.last_success_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_success_on,
	(l.finished_at AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS last_finished_on,
	coalesce(u.live, 0) AS unread_rows, u.parts AS unread_types, u.since AS unread_since,
	(u.since AT TIME ZONE coalesce(z.timezone, 'UTC'))::date AS unread_since_on
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
LEFT JOIN LATERAL (
	SELECT sum(p.live)::bigint AS live, string_agg(p.part, ', ' ORDER BY p.part) AS parts,
		min((t.read_parts ->> p.part)::timestamptz) AS since
	FROM (
		SELECT coalesce(a.asked_type_id, e.equipment_type_id) AS part, count(*) AS live
		FROM safety.equipment e
		LEFT JOIN safety.equipment_asked_types a ON a.account_id = e.account_id AND a.equipment_id = e.id
		WHERE t.stream = 'equipments' AND e.account_id = t.account_id AND e._deleted_at IS NULL
		GROUP BY 1
	) p
	WHERE coalesce(t.read_parts ->> p.part, '') <> (SELECT max(m.value) FROM jsonb_each_text(t.read_parts) m)
) u ON true
WHERE (t.last_success_at IS NOT NULL OR t.backfill_started_at IS NOT NULL OR l.status IS NOT NULL OR n.is_running)
	AND (NOT row_security_active('safety.reporting_settings')
		OR t.account_id = ANY ((SELECT safety.readable_accounts())::text[]));
