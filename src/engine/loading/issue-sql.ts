/** Statements over `safety_sync.data_issues`, from the staged issues of a run. Each function returns one statement. */
import { type SQL, sql } from 'drizzle-orm';
import { toArrayLiteral } from '../database/array-literal.ts';
import {
  instantOf,
  keyColumn,
  stage,
  syncedAtOf,
  taken,
  target,
  type TransactionTime,
  type WriteTime,
} from '../database/sql-names.ts';
import type { TableShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';
import type { StreamKey } from '../control-tables/control-tables.ts';
import { MOST_UNKNOWN_FIELDS, UNLISTED } from './batch-issues.ts';

/** The stream of the issues, and the time that they get. */
export type IssueWrites = StreamKey & TransactionTime;

const openIssues = ({ accountId, stream }: StreamKey): SQL =>
  sql`d.account_id = ${accountId} and d.stream = ${stream} and d.resolved_at is null`;

/** Issues that this transaction did not see: `recordIssues` runs first and gives staged issues the transaction's time. */
const notStaged = (scope: TransactionTime): SQL => sql`d.last_seen_at <> ${instantOf(scope)}`;

/** Deletes issues of copies that the merge does not store: dropped from the staging tables, or replaced by the staged copy. */
export function dropOrphanIssues(parent: TableShape): SQL {
  return sql`delete from pg_temp.stage_issues i where i.of_row and case
    when i.is_staged then not exists (select from ${stage(parent)} p where p.ord = i.ord)
    else exists (select from ${stage(parent)} p where p.${keyColumn(parent)} = i.record_id) end`;
}

/** Opens new issues, counts repeated ones, and opens returning ones again. */
export function recordIssues(scope: IssueWrites): SQL {
  const { accountId, stream } = scope;
  return sql`insert into safety_sync.data_issues as d
      (account_id, stream, fingerprint, record_id, field, kind, problem, value, identity, context, occurrences,
        first_seen_at, last_seen_at)
    select distinct on (fingerprint) ${accountId}::text, ${stream}::text, fingerprint, record_id, field, kind, problem,
      value, identity, context, sum(times) over (partition by fingerprint),
      ${instantOf(scope)}, ${instantOf(scope)}
    from pg_temp.stage_issues order by fingerprint, ord desc
    on conflict (account_id, stream, fingerprint) do update set
      record_id = excluded.record_id, problem = excluded.problem, value = excluded.value, context = excluded.context,
      identity = excluded.identity, last_seen_at = excluded.last_seen_at, occurrences = d.occurrences + excluded.occurrences,
      resolved_at = null`;
}

/** Condition: the rejected record belongs to the partitions that were read. */
const inCoverage = ({ partitions }: Coverage): SQL =>
  partitions === null
    ? sql`true`
    : sql`d.context->>'equipmentTypeId' = any(${toArrayLiteral(partitions)}::text[])`;

/** Keys of rejected records that a complete read did not show. A set operation, because no plan turns it into a loop. */
export function readVanishedRejections(covered: Coverage, scope: IssueWrites): SQL {
  return sql`select d.record_id as key from safety_sync.data_issues d
    where ${openIssues(scope)} and d.kind = 'record_rejected' and d.record_id is not null and d.field is null
      and ${inCoverage(covered)} and ${notStaged(scope)}
    except select s.key from ${taken('stage_seen', ['key'])} s`;
}

interface Resolutions {
  readonly runId: number;
  /** Records that the source no longer has. */
  readonly deletedKeys: readonly string[];
  /** Rejected records that were now received as they are stored, or that a complete read did not show. */
  readonly resolvedKeys: readonly string[];
  /** Identities of records that had no key before and arrived with one. */
  readonly resolvedIdentities: readonly string[];
  /** The coverage of a complete read, which shows all records without a key. */
  readonly covered: Coverage | null;
}

/**
 * Unknown fields that are not in `_raw` are resolved with their example; the others by `resolveUnknownFields`.
 *
 * Resolves issues of records that are deleted, that this transaction wrote without the problem, or that are no longer
 * received as the issue shows them. Each issue looks its row up by the primary key, because the planner has no statistics for
 * rows of the same transaction: a join may compare every issue with every row.
 */
export function resolveIssues(parent: TableShape, scope: IssueWrites & WriteTime & Resolutions): SQL {
  const { accountId, runId, covered } = scope;
  const oneOf = (values: readonly string[]): SQL => sql`any(${toArrayLiteral(values)}::text[])`;
  return sql`update safety_sync.data_issues d set resolved_at = ${instantOf(scope)}
    where ${openIssues(scope)} and (d.kind <> 'unknown_field' or not d.context ? 'path') and (d.record_id = ${oneOf(scope.deletedKeys)}
      or ${notStaged(scope)} and case
        when d.record_id is null then d.identity = ${oneOf(scope.resolvedIdentities)}
          or d.kind = 'record_rejected' and ${covered === null ? sql`false` : inCoverage(covered)} and d.last_seen_at < (
            select r.started_at from safety_sync.runs r where r.account_id = ${accountId} and r.run_id = ${runId}::bigint)
        else (d.kind = 'unknown_field' or d.kind = 'record_rejected' and d.field is null) and d.record_id = ${oneOf(scope.resolvedKeys)}
          or (select t._run_id = ${runId}::bigint and t._synced_at = ${syncedAtOf(scope)}
            from ${target(parent)} t where t.account_id = ${accountId} and t.${keyColumn(parent)} = d.record_id) end)`;
}

/** Number of resolved issues that are kept for each stream and each kind without another bound. */
const MOST_RESOLVED = 100;

/**
 * Keeps only the last resolved issues of records without a key and of unknown fields: their content or name identifies them,
 * so each change creates a new issue. Other issues need no limit, because they are at most as many as records and fields,
 * and are opened again.
 */
export function deleteResolved(what: 'keyless' | 'unknown_field', { accountId, stream }: StreamKey): SQL {
  const kind =
    what === 'keyless' ? sql`record_id is null and kind = 'record_rejected'` : sql`kind = 'unknown_field'`;
  const resolved = sql`account_id = ${accountId} and stream = ${stream} and ${kind} and resolved_at is not null`;
  return sql`delete from safety_sync.data_issues where ${resolved} and (resolved_at, fingerprint) < (
    select resolved_at, fingerprint from safety_sync.data_issues where ${resolved}
    order by resolved_at desc, fingerprint desc offset ${MOST_RESOLVED - 1}::int limit 1)`;
}

/**
 * Number of unknown fields that one transaction searches in all rows, at most: if hundreds disappear at once, later
 * transactions search the rest.
 */
const MOST_LOOKED_FOR = 50;

/**
 * Closes unknown fields that no live record has. If only the example record has lost the field, the issue refers to another
 * record that has it.
 */
export function resolveUnknownFields(parent: TableShape, scope: IssueWrites): SQL {
  const key = keyColumn(parent);
  const rowsWith = (path: string): SQL => sql`from ${target(parent)} t where t.account_id = ${scope.accountId}
    and t._deleted_at is null and jsonb_path_exists(t._raw, (${sql.raw(path)})::jsonpath)`;
  return sql`with stale as materialized (
      select d.fingerprint, d.context->>'path' as path from safety_sync.data_issues d
      where ${openIssues(scope)} and d.kind = 'unknown_field' and d.context->>'path' is not null
        and not exists (select ${rowsWith("d.context->>'path'")} and t.${key} = d.record_id)
      order by d.last_seen_at, d.fingerprint limit ${MOST_LOOKED_FOR}::int),
    found as materialized (
      select s.fingerprint, (select t.${key} ${rowsWith('s.path')} limit 1) as key from stale s)
    update safety_sync.data_issues d set record_id = coalesce(f.key, d.record_id),
      resolved_at = case when f.key is null then ${instantOf(scope)} end
    from found f where ${openIssues(scope)} and d.fingerprint = f.fingerprint`;
}

/**
 * Resolves the issue about unknown fields beyond the bound, when the bound has room again and no such field was received.
 */
export function resolveUnlisted(scope: IssueWrites): SQL {
  return sql`update safety_sync.data_issues d set resolved_at = ${instantOf(scope)}
    where ${openIssues(scope)} and d.fingerprint = ${UNLISTED} and ${notStaged(scope)}
      and (select count(*) from safety_sync.data_issues i where i.account_id = ${scope.accountId}
        and i.stream = ${scope.stream} and i.kind = 'unknown_field' and i.resolved_at is null) <= ${MOST_UNKNOWN_FIELDS}::int`;
}
