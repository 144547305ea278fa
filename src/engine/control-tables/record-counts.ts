/**
 * The result of a run, in records (children are not counted). read = inserted + updated + unchanged + rejected, and those of
 * the deleted ones that the service sends as deleted.
 */
export interface RecordCounts {
  read: number;
  inserted: number;
  updated: number;
  unchanged: number;
  deleted: number;
  rejected: number;
}

export function noCounts(): RecordCounts {
  return { read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };
}

export function addCounts(into: RecordCounts, more: Readonly<RecordCounts>): void {
  for (const name of Object.keys(into) as (keyof RecordCounts)[]) into[name] += more[name];
}

/** For spans. */
export function countAttributes(counts: Readonly<RecordCounts>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [`safety_sync.records.${name}`, count]),
  );
}
