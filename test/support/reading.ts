/** The worker of the present test of reading, and changes of its source. Such tests run one after the other. */
import { onTestFinished } from 'vitest';
import type { Followup } from '../../src/sandbox/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import {
  createMemoryWorker,
  expectMemoryEqualsSource,
  type MemoryRequest,
  type MemoryWorker,
  type MemoryWorkerOptions,
} from './memory-worker.ts';
import { SPECIMENS } from './specimens.ts';
import { expectSucceeded } from './timed-worker.ts';

export let worker: MemoryWorker;

export async function startWorker(options: MemoryWorkerOptions): Promise<void> {
  const started = await createMemoryWorker(options);
  onTestFinished(() => started.close());
  worker = started;
}

/** A run that succeeds. */
export async function sync(stream: StreamName = 'followups', request: MemoryRequest = {}) {
  const result = await worker.run(stream, request);
  expectSucceeded(result);
  return result;
}
export const reconcile = () => sync('followups', { kind: 'reconcile' });
export const isEqual = (stream: StreamName = 'followups') => expectMemoryEqualsSource(worker, stream);
/** Accepts stored follow-ups that were deleted, because only a reconcile finds them. */
export const isEqualExceptDeleted = () => expectMemoryEqualsSource(worker, 'followups', true);

export const followups = () => worker.sandbox.store.followups;
export const stored = (stream: StreamName = 'followups') => worker.warehouseOf(stream).live();
export const idAt = (place: number): string => [...followups().keys()][place] ?? '';
export const watermark = (): number | null => worker.stateOf('followups').watermark;

export function raise(id: string, created = worker.serviceNow()): void {
  followups().put({ ...SPECIMENS.followups.build(id), created_on: created, updated_on: worker.serviceNow() });
}

/** Changes a follow-up now. */
export function touch(id: string, assignee = 'moved'): void {
  followups().update(id, { updated_on: worker.serviceNow(), m_assignee_id: assignee });
}

/** Changes the responses with a list of follow-ups; undefined: no longer. */
export function rewriteFollowups(change: ((list: Followup[]) => unknown[]) | undefined): void {
  worker.sandbox.hooks.rewriteResponse =
    change &&
    ((_entry, response) => ({ ...response, followups: change(response['followups'] as Followup[]) }));
}

export const failedBy = (code: string) => ({ outcome: 'failed', error: { code } });
