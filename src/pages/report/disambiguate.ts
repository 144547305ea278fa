/** Adds ids where people share a name or ids share a label, and shortens pseudonyms. Pure. */
import { shortenPseudonyms } from '../../shared/pseudonym.ts';
import type { Report } from './read-report.ts';

/** For example `user/10001` or `form/1201`. */
type Shared = ReadonlySet<string>;

/** The key for a column pair, for example `form/1201` for `form_label` and `form_id`; every name belongs to a user. */
function nameKey(column: string, row: Readonly<Record<string, unknown>>): string | undefined {
  const [, kind = '', what] = /^(.+)_(name|label)$/.exec(column) ?? [];
  const id = row[`${kind}_id`];
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  return `${what === 'name' ? 'user' : kind}/${id}`;
}

function addIds(value: unknown, shared: Shared): unknown {
  if (typeof value === 'string') return shortenPseudonyms(value);
  if (Array.isArray(value)) return value.map((one) => addIds(one, shared));
  if (typeof value !== 'object' || value === null) return value;
  const row = value as Readonly<Record<string, unknown>>;
  const columns = Object.entries(row).map(([column, one]) => {
    const key = typeof one === 'string' ? nameKey(column, row) : undefined;
    if (key === undefined || !shared.has(key)) return [column, addIds(one, shared)];
    return [column, shortenPseudonyms(`${String(one)} (${key.slice(key.indexOf('/') + 1)})`)];
  });
  return Object.fromEntries(columns) as unknown;
}

/** Applies to every `…_name` or `…_label` column with an `…_id` column. */
export function disambiguate(answers: Report['answers']): Report['answers'] {
  const shared = new Set([
    ...answers.namesakes.map(({ id }) => `user/${id}`),
    ...answers.sharedLabels.map(({ kind, id }) => `${kind}/${id}`),
  ]);
  return addIds(answers, shared) as Report['answers'];
}
