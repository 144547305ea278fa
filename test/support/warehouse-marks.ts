/** Marks of PostgreSQL's writes, to distinguish "no write" from "a write of equal values". */
import type { Compared } from './source-oracle.ts';

type Queried = Pick<Compared, 'query'>;

/**
 * The position of every row version in schema safety, with its creating and locking transactions: any write changes it, even
 * of equal values. The calendar is skipped, because only `migrate` writes it and its thousands of days would take most of
 * the time.
 */
export async function rowVersions(worker: Queried): Promise<Record<string, string>> {
  const tables = await worker.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'safety' and c.relkind = 'r' and c.relname <> 'calendar' order by 1`,
  );
  const marks = tables.map(
    ({ name }) =>
      `select '${name}' as name,
         count(*) || ' rows ' || coalesce(md5(string_agg(concat_ws(' ', ctid, xmin, xmax), ',' order by ctid)), '') as mark
       from safety."${name}"`,
  );
  const rows = await worker.query<{ name: string; mark: string }>(marks.join(' union all '));
  return Object.fromEntries(rows.map(({ name, mark }) => [name, mark]));
}

type Numbers = 'records_read' | 'inserted' | 'updated' | 'unchanged' | 'deleted' | 'rejected' | 'requests';
type Texts = 'error_code' | 'request_id' | 'note' | 'watermark_before' | 'watermark_after';
interface RunRow extends Readonly<Record<Numbers, number> & Record<Texts, string | null>> {
  readonly run_id: string;
  readonly status: string;
  readonly is_finished: boolean;
}

/** Newest first. */
export async function runsOf(worker: Queried, stream: string): Promise<RunRow[]> {
  return await worker.query<RunRow>(
    `select run_id::text, status, records_read::int, inserted::int, updated::int, unchanged::int, deleted::int,
       rejected::int, requests::int, error_code, request_id, note, watermark_before::text, watermark_after::text,
       finished_at is not null as is_finished
     from safety_sync.runs r where stream = '${stream}' order by r.run_id desc`,
  );
}

interface IssueRow {
  readonly record_id: string | null;
  readonly field: string | null;
  readonly kind: string;
  readonly value: unknown;
  readonly occurrences: number;
  readonly is_open: boolean;
}

/** By kind, field and record. */
export async function issuesOf(worker: Queried, stream: string): Promise<IssueRow[]> {
  const found = await worker.query<Omit<IssueRow, 'value'> & { value: string | null }>(
    `select record_id, field, kind, value::text as value, occurrences::int, resolved_at is null as is_open
     from safety_sync.data_issues where stream = '${stream}' order by kind, field, record_id`,
  );
  return found.map((row) => ({
    ...row,
    value: row.value === null ? null : (JSON.parse(row.value) as unknown),
  }));
}

/** The newest stored training list and change. */
export async function stateOf(
  worker: Queried,
  stream: string,
): Promise<{ watermark: number | null; calculatedAt: number | null }> {
  const [row] = await worker.query<{ watermark: number | null; calculated: number | null }>(
    `select (extract(epoch from watermark) * 1000)::float8 as watermark,
       (extract(epoch from calculated_at) * 1000)::float8 as calculated
     from safety_sync.stream_state where stream = '${stream}'`,
  );
  return { watermark: row?.watermark ?? null, calculatedAt: row?.calculated ?? null };
}
