/** Imports a file of labels: all of them, or none if one line is invalid. */
import { eq, sql } from 'drizzle-orm';
import type { Database } from '../engine/database/connection.ts';
import { names } from '../engine/streams/names.ts';
import { type LabelKind, labels } from './labels.ts';
import { formatNumber } from '../shared/format.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import type { BadLine, Label, LabelLine, LabelsFile } from './labels-file.ts';

interface ImportOptions {
  readonly accountId: string;
  /** For each kind in the file, stored labels that the file lacks are removed. */
  readonly replace: boolean;
  /** When aborted, the import is rolled back. */
  readonly signal: AbortSignal;
}

const MOST_LISTED = 20;

type NamedId = Pick<Label, 'kind' | 'id'>;

/** The key separates kind and id by a space, because kinds contain none. */
const labelKey = ({ kind, id }: NamedId): string => `${kind} ${id}`;

/** Lines that occur twice, or whose parent has no name: none in the file, and none in `named`, which stays. */
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

/**
 * Throws `usage_invalid` with every invalid line, or `interrupted`; both import nothing. Importing a file twice changes
 * nothing.
 */
export async function importLabels(
  db: Database,
  { lines, kinds, unfilled, bad }: LabelsFile,
  { accountId, replace, signal }: ImportOptions,
) {
  return await db.transaction(async (tx) => {
    // One import at a time, because a parent could be removed while another import refers to it.
    await tx.execute(
      sql`select pg_advisory_xact_lock(hashtextextended(${`safety-sync:labels:${accountId}`}, 0))`,
    );
    const stored = await tx
      .select({ kind: labels.kind, id: labels.id, label: labels.label, parentId: labels.parent_id })
      .from(labels)
      .where(eq(labels.account_id, accountId));
    const named = new Set(lines.map(labelKey));
    const isGone = (one: Label) => replace && kinds.has(one.kind) && !named.has(labelKey(one));
    const byService = await tx
      .select({ kind: sql<LabelKind>`${names.kind}`, id: names.id })
      .from(names)
      .where(eq(names.account_id, accountId));
    refuse([...bad, ...checkLabels(lines, [...byService, ...stored.filter((one) => !isGone(one))])]);
    const known = new Map(stored.map((one) => [labelKey(one), one]));
    const news = lines.filter((one) => {
      const before = known.get(labelKey(one));
      return before?.label !== one.label || before.parentId !== one.parentId;
    });
    if (signal.aborted) throw new SafetySyncError('interrupted', 'stopped: no label was imported');
    await tx.execute(sql`
      insert into ${labels} (account_id, kind, id, label, parent_id)
      select ${accountId}::text, kind, id, label, "parentId" from json_to_recordset(${JSON.stringify(news)}::json)
        as r (kind text, id text, label text, "parentId" text)
      on conflict (account_id, kind, id) do update set label = excluded.label, parent_id = excluded.parent_id`);
    const gone = stored.filter(isGone);
    await tx.execute(sql`
      delete from ${labels} where account_id = ${accountId} and (kind, id) in (
        select kind, id from json_to_recordset(${JSON.stringify(gone)}::json) as r (kind text, id text))`);
    const changed = news.filter((one) => known.has(labelKey(one))).length;
    return {
      added: news.length - changed,
      changed,
      unchanged: lines.length - news.length,
      removed: gone.length,
      /** Lines without a label. */
      unfilled,
    };
  });
}
