/** Removes protected values from the data issues. */
import { sql } from 'drizzle-orm';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { StreamShape } from '../database/table-shape.ts';
import { Received } from '../../shared/received.ts';
import type { ReadContext } from '../streams/stream.ts';
import { isForgotten } from './find-people.ts';
import { parseRecord, toReadRecord } from '../loading/record.ts';
import { buildRejection, fingerprintOf, type StagedIssue } from '../loading/batch-issues.ts';
import type { Protection } from './protect.ts';

const PAGE_ISSUES = 500;

export interface CleaningScope {
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
}

type IssueContent = Pick<StagedIssue, 'fingerprint' | 'record_id' | 'problem' | 'identity' | 'value'>;
/** `value` and `context`: JSON. */
type StoredIssue = Omit<IssueContent, 'value'> &
  Pick<StagedIssue, 'field' | 'kind'> &
  Readonly<Record<'value' | 'context', string | null>>;

/** undefined: the issue stays as it is. null: the issue is deleted. */
function toCleaned(
  issue: StoredIssue,
  { shape, protection }: CleaningScope,
): IssueContent | null | undefined {
  const { stream } = shape;
  const value = issue.value === null ? null : (JSON.parse(issue.value) as unknown);
  const isWhole = issue.kind === 'record_rejected' && (issue.record_id === null || issue.field === null);
  if (isWhole) {
    const kept = protection.ofRecord(value);
    if (kept === value) return undefined;
    const about = (issue.context === null ? {} : JSON.parse(issue.context)) as ReadContext;
    const read = toReadRecord(Received.of(kept), { stream, about });
    return buildRejection(stream, read, parseRecord(stream, read));
  }
  const { field } = issue;
  const isUnknown = issue.kind === 'unknown_field';
  if (field !== null && (isUnknown ? protection.ofValue(field) !== field : protection.touches(field)))
    return null;
  const key = issue.record_id === null ? null : protection.ofKey(issue.record_id);
  // A record of a person is all about that person.
  const kept = stream.personal !== undefined && isForgotten(key) ? null : protection.ofValue(value);
  if (kept === value && key === issue.record_id) return undefined;
  const problem = kept === value || isUnknown ? issue.problem : 'the received value names a forgotten person';
  return { ...issue, fingerprint: fingerprintOf(issue, key), record_id: key, problem, value: kept };
}

/** One page. Returns the fingerprint after which the next one begins; undefined: there is none. */
export async function cleanIssues(
  db: Queryable,
  scope: CleaningScope,
  after: string,
): Promise<string | undefined> {
  const ofStream = sql`d.account_id = ${scope.accountId} and d.stream = ${scope.shape.stream.name}`;
  const rows = await db.execute<StoredIssue>(sql`
    select fingerprint, record_id, field, kind, problem, value::text as value, identity, context::text as context
    from safety_sync.data_issues d where ${ofStream} and fingerprint > ${after} order by fingerprint limit ${PAGE_ISSUES}`);
  for (const issue of rows) {
    const cleaned = toCleaned(issue, scope);
    if (cleaned === undefined) continue;
    const isThis = sql`${ofStream} and d.fingerprint = ${issue.fingerprint}`;
    if (cleaned !== null) {
      await db.execute(sql`update safety_sync.data_issues d set fingerprint = ${cleaned.fingerprint},
          record_id = ${cleaned.record_id}, problem = ${cleaned.problem}, value = ${JSON.stringify(cleaned.value)}::jsonb,
          identity = ${cleaned.identity}
        where ${isThis} and (d.fingerprint = ${cleaned.fingerprint} or not exists (select from safety_sync.data_issues o
          where o.account_id = d.account_id and o.stream = d.stream and o.fingerprint = ${cleaned.fingerprint}))`);
    }
    // Also if an issue with the new content exists already.
    if (cleaned?.fingerprint !== issue.fingerprint) {
      await db.execute(sql`delete from safety_sync.data_issues d where ${isThis}`);
    }
  }
  await cleanAlerts(db, scope);
  return rows.length < PAGE_ISSUES ? undefined : rows.at(-1)?.fingerprint;
}

/**
 * Deletes alerts on new fields with names that contain names of people, in the transaction that deletes the issue of the
 * field. Otherwise a message that the service no longer sends the field would show the name once more.
 */
async function cleanAlerts(db: Queryable, { accountId, shape, protection }: CleaningScope): Promise<void> {
  const prefix = `${shape.stream.name} `;
  const rows = await db.execute<{ field: string }>(sql`
    select distinct f.field from safety_sync.outbox a cross join lateral (select substr(a.subject, ${prefix.length + 1}::int) as field) f
    where a.account_id = ${accountId} and a.event = 'new_field' and starts_with(a.subject, ${prefix}) and not exists (
      select from safety_sync.data_issues d where d.account_id = a.account_id and d.stream = ${shape.stream.name}
        and d.kind = 'unknown_field' and d.resolved_at is null and d.field = f.field)`);
  const gone = rows.flatMap(({ field }) => (protection.ofValue(field) === field ? [] : [prefix + field]));
  if (gone.length === 0) return;
  await db.execute(sql`delete from safety_sync.outbox
    where account_id = ${accountId} and event = 'new_field' and subject = any (${toArrayLiteral(gone)}::text[])`);
}
