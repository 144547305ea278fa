/** Statements over `safety_sync.data_issues`, from the staged issues of a run. Each function returns one statement. */
import { type SQL, sql } from 'drizzle-orm';
import { toArrayLiteral } from '../database/array-literal.ts';
import { instantOf, keyColumn, stage, type TransactionTime } from '../database/sql-names.ts';
import type { TableShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';
import type { StreamKey } from '../control-tables/control-tables.ts';
import { formatCount } from '../../shared/format.ts';

/** The stream of the issues, and the time that they get. */
type IssueWrites = StreamKey & TransactionTime;

const openIssues = ({ accountId, stream }: StreamKey): SQL =>
  sql`d.account_id = ${accountId} and d.stream = ${stream} and d.resolved_at is null`;

/** Issues that this transaction did not see: `recordIssues` runs first and gives staged issues the transaction's time. */
const notStaged = (scope: TransactionTime): SQL => sql`d.last_seen_at <> ${instantOf(scope)}`;

/** Deletes issues of copies that the merge does not store: older ones, or such that a staged copy replaces. */
export function dropReplaced(parent: TableShape, older: readonly { readonly ord: number }[]): SQL {
  return sql`delete from pg_temp.stage_issues i where i.of_row and (i.ord = any (${toArrayLiteral(older.map(({ ord }) => ord))}::bigint[])
    or exists (select from ${stage(parent)} p where p.${keyColumn(parent)} = i.record_id and p.ord <> i.ord))`;
}

/** Open issues of a stream that are listed. */
const MOST_ISSUES = 1000;
/** Identifies the issue that counts those beyond the bound. */
const REST = 'rest';

/**
 * Opens new issues, counts repeated ones, and opens returning ones again. Those beyond the bound are counted by one issue.
 */
export function recordIssues(scope: IssueWrites): SQL {
  const { accountId, stream } = scope;
  return sql`with met as materialized (
      select distinct on (fingerprint) *, sum(times) over (partition by fingerprint) as met from (
        select ord, times, coalesce(nullif(fingerprint, ''), md5(value::text), 'null') as fingerprint, record_id, field, kind, problem, value, context
        from pg_temp.stage_issues) s order by fingerprint, ord desc
    ), known as materialized (
      select d.fingerprint as known from safety_sync.data_issues d where ${openIssues(scope)}
    ), listed as (
      select *, (known is not null or (select count(*) from known)
        + row_number() over (partition by known is null order by ord, fingerprint) <= ${MOST_ISSUES}::int) as is_listed
      from met left join known on known = fingerprint
    )
    insert into safety_sync.data_issues as d
      (account_id, stream, fingerprint, record_id, field, kind, problem, value, context, occurrences, first_seen_at, last_seen_at)
    select ${accountId}::text, ${stream}::text, i.*, ${instantOf(scope)}, ${instantOf(scope)} from (
      select fingerprint, record_id, field, kind, problem, value, context, met from listed where is_listed
      union all select ${REST}, null, null, 'unknown_value', ${`more than ${formatCount(MOST_ISSUES)} data issues: the others are not listed, only counted, until a reconcile`},
        null, null, sum(met) from listed where not is_listed having count(*) > 0
    ) i
    on conflict (account_id, stream, fingerprint) do update set
      record_id = excluded.record_id, problem = excluded.problem, value = excluded.value, context = excluded.context,
      last_seen_at = excluded.last_seen_at, occurrences = d.occurrences + excluded.occurrences, resolved_at = null`;
}

/** Condition: the rejected record belongs to the partitions that were read. */
const inCoverage = ({ partitions }: Coverage): SQL =>
  partitions === null
    ? sql`true`
    : sql`(d.context->>'equipmentTypeId' = any(${toArrayLiteral(partitions)}::text[])) is not false`;

interface Resolutions {
  readonly runId: number;
  /** Every record was compared column by column, so a complete read shows all open issues again. */
  readonly fullCompare: boolean;
  /** Records that the source no longer has. */
  readonly deletedKeys: readonly string[];
  /** The coverage of a complete read, which shows all rejected records again. */
  readonly covered: Coverage | null;
}

/**
 * Resolves issues of records that are deleted, that this transaction wrote without the problem, or that a complete read did not
 * show again. The issue of an unknown field is resolved with its example, and opens again with the next record that shows the field.
 * Each issue looks its row up by the primary key, because the planner has no statistics for rows of the same transaction: a join
 * may compare every issue with every row.
 */
export function resolveIssues(parent: TableShape, scope: IssueWrites & Resolutions): SQL {
  const { accountId, runId, covered, fullCompare } = scope;
  const oneOf = (values: readonly string[]): SQL => sql`any(${toArrayLiteral(values)}::text[])`;
  const wasComplete =
    covered === null
      ? sql`false`
      : sql`${inCoverage(covered)} and ${fullCompare ? sql`true` : sql`d.kind = 'record_rejected' and (d.record_id is null or d.field is null)`} and d.last_seen_at < (
          select r.started_at from safety_sync.runs r where r.account_id = ${accountId} and r.run_id = ${runId}::bigint)`;
  return sql`update safety_sync.data_issues d set resolved_at = ${instantOf(scope)}
    where ${openIssues(scope)} and (d.record_id = ${oneOf(scope.deletedKeys)} or ${notStaged(scope)} and (${wasComplete}
      or d.record_id is not null and (select t._run_id = ${runId}::bigint and t._synced_at = ${instantOf(scope)}
        from ${parent.table} t where t.account_id = ${accountId} and t.${keyColumn(parent)} = d.record_id)))`;
}
