/** Records that must not be marked deleted, by the source alone. */
import type { Sandbox } from '../../src/sandbox/index.ts';
import { id as toId } from '../support/source-wire.ts';

type Table = 'followups' | 'resources' | 'equipment' | 'employees';

const KEYS: ReadonlyMap<string, readonly [table: Table, keyField: string]> = new Map([
  ['followups', ['followups', 'id']],
  ['resources', ['resources', 'id']],
  ['equipments', ['equipment', 'id']],
  ['training-employee-status', ['employees', 'm_user_id']],
]);

/** Keys of a stream's records in the source now. */
export function presentAt(sandbox: Sandbox, stream: string): Set<string> {
  const known = KEYS.get(stream);
  if (known === undefined) return new Set();
  const [table, keyField] = known;
  const keys = new Set<string>();
  for (const record of sandbox.store[table].values()) {
    const key = toId((record as unknown as Record<string, unknown>)[keyField]);
    if (key !== null) keys.add(key);
  }
  return keys;
}

export interface RowMark {
  readonly version: string;
  readonly isDeleted: boolean;
}

interface Span {
  readonly before: ReadonlyMap<string, RowMark>;
  readonly after: ReadonlyMap<string, RowMark>;
  /** Present in the source at the start and at the end of the run. */
  readonly presentBefore: ReadonlySet<string>;
  readonly presentAfter: ReadonlySet<string>;
  /** Absent from the source for some time, or present where a run could not find them. */
  readonly excused: ReadonlySet<string>;
}

/** Rows that a run marked deleted although the source had their records all the time. */
export function wronglyDeleted(span: Span): string[] {
  return [...span.after]
    .filter(
      ([key, { isDeleted }]) =>
        isDeleted &&
        span.before.get(key)?.isDeleted !== true &&
        span.presentBefore.has(key) &&
        span.presentAfter.has(key) &&
        !span.excused.has(key),
    )
    .map(([key]) => key);
}
