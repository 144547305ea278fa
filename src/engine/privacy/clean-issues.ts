/** Removes data issues with protected values. */
import { sql } from 'drizzle-orm';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { IssueRow } from '../control-tables/issues.ts';
import type { StreamShape } from '../database/table-shape.ts';
import { isForgotten } from './find-people.ts';
import type { Protection } from './protect.ts';

export interface CleaningScope {
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
}

/** `value`: JSON. */
interface StoredIssue
  extends Pick<IssueRow, 'fingerprint' | 'record_id' | 'field' | 'kind'>, Record<string, unknown> {
  readonly value: string | null;
}

function isClean(
  { kind, record_id: key, field, ...issue }: StoredIssue,
  { shape, protection }: CleaningScope,
): boolean {
  const value = issue.value === null ? null : (JSON.parse(issue.value) as unknown);
  if (kind === 'record_rejected' && (key === null || field === null))
    return protection.ofRecord(value) === value;
  // A record of a person is all about that person.
  if (
    key !== null &&
    (protection.ofKey(key) !== key || (shape.stream.personal !== undefined && isForgotten(key)))
  )
    return false;
  if (field !== null && kind !== 'unknown_field' && protection.touches(field)) return false;
  return protection.ofValue(field) === field && protection.ofValue(value) === value;
}

/** The next complete read reports what may be shown of these issues, and alerts on new fields are not told again. */
export async function cleanIssues(db: Queryable, scope: CleaningScope): Promise<void> {
  const { accountId, shape, protection } = scope;
  const ofStream = sql`account_id = ${accountId} and stream = ${shape.stream.name}`;
  const issues = await db.execute<StoredIssue>(sql`
    select fingerprint, record_id, field, kind, value::text as value from safety_sync.data_issues where ${ofStream}`);
  const gone = issues.filter((issue) => !isClean(issue, scope)).map(({ fingerprint }) => fingerprint);
  await db.execute(sql`delete from safety_sync.data_issues
    where ${ofStream} and fingerprint = any (${toArrayLiteral(gone)}::text[])`);
  const alerts = await db.execute<{ subject: string }>(sql`select distinct subject from safety_sync.outbox
    where account_id = ${accountId} and event = 'new_field' and starts_with(subject, ${`${shape.stream.name} `})`);
  const named = alerts
    .map(({ subject }) => subject)
    .filter((subject) => protection.ofValue(subject) !== subject);
  await db.execute(sql`delete from safety_sync.outbox
    where account_id = ${accountId} and event = 'new_field' and subject = any (${toArrayLiteral(named)}::text[])`);
}
