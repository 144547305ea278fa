/**
 * The result of a run, in records (children are not counted). read = inserted + updated + unchanged + rejected, and those of
 * the deleted ones that the service sends as deleted.
 */
export type RecordCounts = ReturnType<typeof noCounts>;
export const noCounts = () => ({ read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 });

export function addCounts(into: RecordCounts, more: Readonly<RecordCounts>): void {
  for (const name of Object.keys(into) as (keyof RecordCounts)[]) into[name] += more[name];
}

/** For spans. */
export const countAttributes = (counts: Readonly<RecordCounts>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [`safety_sync.records.${name}`, count]));
