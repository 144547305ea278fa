/** What is left of a record that is too large to be held: the client makes it, and loading keeps it as a data issue. */

/** Marks such a record and says how large it may be at most, and its place in the response. No field: JSON passes it by. */
export const OVERSIZED = Symbol('oversized');

export type OversizedRecord = Readonly<Record<string, unknown>> & { readonly [OVERSIZED]: string };

export function isOversized(record: unknown): record is OversizedRecord {
  return typeof record === 'object' && record !== null && OVERSIZED in record;
}
