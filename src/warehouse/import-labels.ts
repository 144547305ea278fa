/** Imports a file of labels: all of them, or none if one line is invalid. */
import { sql } from 'drizzle-orm';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import type { Database } from '../engine/database/connection.ts';
import { names } from '../engine/streams/names.ts';
import { labels } from './labels.ts';
import { formatNumber } from '../shared/format.ts';
import { usageError } from '../shared/errors.ts';
import type { BadLine, LabelLine, LabelsFile } from './labels-file.ts';

interface ImportOptions {
  readonly accountId: string;
  /** For each kind in the file, stored labels that the file lacks are removed. */
  readonly replace: boolean;
}

const MOST_LISTED = 20;

type NamedId = Pick<LabelLine, 'kind' | 'id'>;

/** The key separates kind and id by a space, because kinds contain none. */
const labelKey = ({ kind, id }: NamedId): string => `${kind} ${id}`;

/** Lines that occur twice, and lines with a parent that has a name neither in the file nor in `named`, the stored names that stay. */
export function checkLabels(lines: readonly LabelLine[], named: readonly NamedId[]): BadLine[] {
  const first = new Map<string, number>();
  const known = new Set([...named, ...lines].map(labelKey));
  return lines.flatMap((one): BadLine[] => {
    const { line, kind, parentId } = one;
    const key = labelKey(one);
    const before = first.get(key);
    first.set(key, before ?? line);
    if (before !== undefined)
      return [{ line, problem: `${key} is already on line ${before}; keep one of them` }];
    if (parentId === null || known.has(labelKey({ kind, id: parentId }))) return [];
    const problem = `parent_id ${parentId} of ${key} has no name; add a line ${kind},${parentId} with a label, or empty the parent_id`;
    return [{ line, problem }];
  });
}

function refuse(bad: readonly BadLine[]): void {
  if (bad.length === 0) return;
  const sorted = bad.toSorted((one, other) => one.line - other.line);
  const rest = sorted.length - MOST_LISTED;
  const list = sorted.slice(0, MOST_LISTED).map(({ line, problem }) => `  - line ${line}: ${problem}`);
  throw usageError(
    `nothing was imported: ${formatNumber(sorted.length, 'line')} of the labels file ${sorted.length === 1 ? 'is' : 'are'} not usable:\n${list.join('\n')}${rest > 0 ? `\n  and ${rest} more` : ''}`,
    'Correct these lines and import the file again.',
  );
}

/** Throws `usage_invalid` with every invalid line, and then imports nothing. Importing a file twice changes nothing. */
export async function importLabels(
  db: Database,
  { lines, kinds, unfilled, bad }: LabelsFile,
  { accountId, replace }: ImportOptions,
) {
  return await db.transaction(async (tx) => {
    // One import at a time, because a parent could be removed while another import refers to it.
    await tx.execute(
      sql`select pg_advisory_xact_lock(hashtextextended(${`safety-sync:labels:${accountId}`}, 0))`,
    );
    const file = JSON.stringify(lines);
    const records = sql`json_to_recordset(${file}::json) as r (kind text, id text, label text, "parentId" text)`;
    const isGone = sql`${replace} and l.account_id = ${accountId} and l.kind = any (${toArrayLiteral([...kinds])}::text[])
      and (l.kind, l.id) not in (select r.kind, r.id from ${records})`;
    const named = await tx.execute<NamedId & Record<string, unknown>>(sql`
      select kind, id from ${names} where account_id = ${accountId}
      union all select l.kind, l.id from ${labels} l where l.account_id = ${accountId} and not (${isGone})`);
    refuse([...bad, ...checkLabels(lines, named)]);
    const written = await tx.execute<{ is_new: boolean }>(sql`
      insert into ${labels} as l (account_id, kind, id, label, parent_id)
      select ${accountId}::text, r.kind, r.id, r.label, r."parentId" from ${records}
      on conflict (account_id, kind, id) do update set label = excluded.label, parent_id = excluded.parent_id
      where (l.label, l.parent_id) is distinct from (excluded.label, excluded.parent_id) returning (xmax = 0) as is_new`);
    const gone = await tx.execute(sql`delete from ${labels} l where ${isGone} returning 1`);
    const added = written.filter((row) => row.is_new).length;
    return {
      added,
      changed: written.length - added,
      unchanged: lines.length - written.length,
      removed: gone.length,
      /** Lines without a label. */
      unfilled,
    };
  });
}
