import { z } from 'zod';
import { day, number, question, text, textOrNull } from '../question.ts';

export const documentsNow = question(
  'How many documents are there, and how many of their newest versions are approved?',
  `
select count(*) as documents, count(*) filter (where approved_at is null) as not_approved,
  count(*) filter (where created_at < now() - interval '2 years') as older_than_two_years
from safety.current_resource_versions
where account_id = $1`,
  z.object({ documents: number, not_approved: number, older_than_two_years: number }),
);

export const notApproved = question(
  'Which documents are not approved, longest first?',
  `
select resource_id, title, version, creator_id, creator_name,
  (created_at at time zone safety.reporting_timezone($1))::date as created_on
from safety.current_resource_versions
where account_id = $1 and approved_at is null
order by created_at, resource_id limit 15`,
  z.object({
    resource_id: text,
    title: textOrNull,
    version: textOrNull,
    creator_id: textOrNull,
    creator_name: textOrNull,
    created_on: day.nullable(),
  }),
);
