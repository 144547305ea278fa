/** People of the same name, told apart by their ids. Pure. */
import type { Report } from './read-report.ts';

function tell(value: unknown, shared: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => tell(one, shared));
  if (typeof value !== 'object' || value === null) return value;
  const row = value as Readonly<Record<string, unknown>>;
  const told = Object.entries(row).map(([key, one]) => {
    const id = key.endsWith('_name') ? row[key.replace(/_name$/, '_id')] : undefined;
    if (typeof one !== 'string' || typeof id !== 'string' || !shared.has(id)) return [key, tell(one, shared)];
    return [key, `${one} (${id})`];
  });
  return Object.fromEntries(told) as unknown;
}

/** Wherever an answer has `…_name` beside `…_id`. */
export function tellApart(answers: Report['answers']): Report['answers'] {
  const shared = new Set(answers.namesakes.map(({ id }) => id));
  return shared.size === 0 ? answers : (tell(answers, shared) as Report['answers']);
}
