/** Records that must not be marked deleted, by the source alone. */
import type { Sandbox } from '../../src/sandbox/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { id as toId, type WireObject } from '../support/source-wire.ts';
import { specimenOf } from '../support/specimens.ts';

/** Keys of a stream's records in the source now. */
export function presentAt(sandbox: Sandbox, stream: StreamName): Set<string> {
  const specimen = specimenOf(stream);
  const keys = [...specimen.records({ sandbox }).values()].map((one) =>
    toId((one as WireObject)[specimen.keyField]),
  );
  return new Set(keys.filter((key) => key !== null));
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
