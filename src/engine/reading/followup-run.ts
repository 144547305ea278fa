/** One run of follow-ups, and a walk as steps of it. */
import { toLedger } from './creation-time.ts';
import type { Received } from '../../shared/received.ts';
import type { TimeSlice } from '../streams/state.ts';
import { recordKey } from '../streams/wire.ts';
import type { FollowupList } from './followup-list.ts';
import type { ReadRequest } from './read-request.ts';
import { timeOf } from './record-fields.ts';
import { records, type RecordsStep, type Steps, writes } from './step.ts';
import { type FailedRange, walk, type WalkRecords, type WalkStart } from './walk.ts';
import type { FirstResponse } from './watermark.ts';

export interface FollowupRun {
  readonly read: ReadRequest;
  readonly list: FollowupList;
  /** Ranges that the service does not return. */
  failed: readonly FailedRange[];
  readonly notes: string[];
  /** Texts of the records without a usable key: another walk of this run would count each of them again. */
  readonly keyless: Set<string>;
}

interface WalkRead {
  readonly first: FirstResponse | undefined;
  /** The latest `updated_on` of all its records. */
  readonly newestMs: number;
}

/** `toStep`: of the records of a response. */
export async function* readWalk(
  run: FollowupRun,
  range: TimeSlice,
  start: WalkStart = {},
  toStep: (step: WalkRecords) => RecordsStep = (step) => records(step.records),
): Steps<WalkRead> {
  let newestMs = -Infinity;
  const isNews = (record: Received): boolean => {
    if (recordKey(record, run.list.keyField) !== null) return true;
    const { size } = run.keyless;
    return run.keyless.add(record.text).size > size;
  };
  const steps = walk(run.list, range, start);
  let next = await steps.next();
  for (; next.done !== true; next = await steps.next()) {
    const step = next.value;
    if (step.kind === 'failed') {
      run.failed = [...run.failed, step];
      yield writes({ kind: 'failed', slice: toLedger(step.range) });
    } else {
      for (const record of step.records)
        newestMs = Math.max(newestMs, timeOf(record, 'updated_on') ?? -Infinity);
      yield toStep({ ...step, records: step.records.filter(isNews) });
    }
  }
  const { first, note } = next.value;
  if (note !== null) run.notes.push(note);
  return { first, newestMs };
}
