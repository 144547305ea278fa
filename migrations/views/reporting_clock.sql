-- Days and events of follow-ups, quicker. What they show stays the same.
-- A day is worked out in one of three ways. Kept days that are over are read; one may not be over any more, where the server's
-- clock was set back. Today is counted from the states that hold now, with no look at those before them; only a follow-up that
-- the service dates beyond today (its clock may be ahead) is counted as the state that today ends with. Days between the last
-- kept one and today, of which there are mostly none, are worked out from all states. Those are read under a LIMIT that lets all
-- of them through, or none: the planner expects a tenth of the rows behind a limit it cannot know, and the whole view would look
-- expensive enough for jit to inline and optimize it, for longer than it runs, for days that are not there.
-- The columns of the union stand in the order in which the view shows them, because rows would be copied otherwise.
create or replace view safety.reporting_clock as
select s.account_id, max(s.timezone) as timezone, (now() at time zone max(s.timezone))::date as today,
  ((now() at time zone max(s.timezone))::date + 1)::timestamp at time zone max(s.timezone) as today_until
from safety.reporting_settings s group by s.account_id;
