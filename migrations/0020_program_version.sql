-- Without a default: a program that does not know the column cannot open a run, and so stores nothing.
ALTER TABLE "safety_sync"."runs" ADD COLUMN "program_version" text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE "safety_sync"."runs" ALTER COLUMN "program_version" DROP DEFAULT;--> statement-breakpoint
-- An older program that stored beside a newer one left the figures of follow-ups, messages and states as they had been, and the
-- checksum of the record said afterwards that nothing had changed. What is as it should be is not written.
UPDATE safety.followups f SET _message_count = c.message_count, _reassignment_count = c.reassignment_count,
	_last_message_at = c.last_message_at, _first_response_at = c.first_response_at
FROM (
	SELECT o.account_id, o.id, count(m.id) AS message_count, count(*) FILTER (WHERE m.reassignee_id <> '') AS reassignment_count,
		max(m.sent_at) AS last_message_at, min(m.sent_at) FILTER (WHERE m.user_id IS DISTINCT FROM o.observer_id) AS first_response_at
	FROM safety.followups o
	LEFT JOIN safety.followup_messages m ON m.account_id = o.account_id AND m.followup_id = o.id
	WHERE o._message_count IS NOT NULL
	GROUP BY o.account_id, o.id, o.observer_id
) c WHERE c.account_id = f.account_id AND c.id = f.id AND (f._message_count, f._reassignment_count, f._last_message_at, f._first_response_at)
	IS DISTINCT FROM (c.message_count, c.reassignment_count, c.last_message_at, c.first_response_at);
--> statement-breakpoint
UPDATE safety.followup_messages c SET _handed_before = p.handed_before
FROM (
	SELECT h.account_id, h.followup_id, h.id,
		lag(h.reassignee_id) OVER (PARTITION BY h.account_id, h.followup_id ORDER BY h.position) AS handed_before
	FROM safety.followup_messages h WHERE h.reassignee_id <> ''
) p WHERE p.account_id = c.account_id AND p.followup_id = c.followup_id AND p.id = c.id
	AND p.handed_before IS DISTINCT FROM c._handed_before;
--> statement-breakpoint
UPDATE safety.followup_states s SET _was_open = p.was_open, _due_moved = p.due_moved, _due_before = p.due_before
FROM (
	SELECT b.account_id, b.id, b.valid_from, lag(b.is_open) OVER w AS was_open, lag(b.due_on) OVER w AS due_before,
		row_number() OVER w > 1 AND b.due_on IS DISTINCT FROM lag(b.due_on) OVER w AS due_moved
	FROM safety.followup_states b
	WINDOW w AS (PARTITION BY b.account_id, b.id ORDER BY b.valid_from)
) p WHERE p.account_id = s.account_id AND p.id = s.id AND p.valid_from = s.valid_from
	AND (s._was_open, s._due_moved, s._due_before) IS DISTINCT FROM (p.was_open, p.due_moved, p.due_before);
--> statement-breakpoint
UPDATE safety.followups f SET _was_open = p.was_open, _due_moved = p.due_moved, _due_before = p.due_before,
	_due_changes = p.due_changes, _reopen_count = p.reopen_count
FROM (
	SELECT l.account_id, l.id, l.is_open AS was_open, l.due_on AS due_before, o.due_on IS DISTINCT FROM l.due_on AS due_moved,
		l.due_changes + (o.due_on IS DISTINCT FROM l.due_on)::int AS due_changes,
		l.reopen_count + (o.is_open IS TRUE AND l.is_open IS FALSE)::int AS reopen_count
	FROM (
		SELECT b.account_id, b.id, (array_agg(b.is_open ORDER BY b.valid_from DESC))[1] AS is_open,
			(array_agg(b.due_on ORDER BY b.valid_from DESC))[1] AS due_on, count(*) FILTER (WHERE b._due_moved) AS due_changes,
			count(*) FILTER (WHERE b.is_open AND NOT b._was_open) AS reopen_count
		FROM safety.followup_states b GROUP BY b.account_id, b.id
	) l JOIN safety.followups o ON o.account_id = l.account_id AND o.id = l.id
) p WHERE p.account_id = f.account_id AND p.id = f.id AND (f._was_open, f._due_moved, f._due_before, f._due_changes, f._reopen_count)
	IS DISTINCT FROM (p.was_open, p.due_moved, p.due_before, p.due_changes, p.reopen_count);
