/**
 * The readers' real code against a sandbox over HTTP, with a warehouse in memory in place of the database. Their steps are
 * carried out in the order of engine/sync/run-steps.ts; no record is normalized.
 */
import { expect, onTestFinished } from 'vitest';
import { createRequestMeter } from '../../src/engine/api/requests.ts';
import { noCounts, type RecordCounts, type RunEnding } from '../../src/engine/control-tables/runs.ts';
import type { ReadOptions } from '../../src/engine/reading/read-request.ts';
import { differenceOf } from '../../src/engine/reading/followups.ts';
import { read } from '../../src/engine/reading/read.ts';
import type { ReadOutcome } from '../../src/engine/reading/step.ts';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { NO_STATE, type StreamState } from '../../src/engine/streams/state.ts';
import type { StreamDefinition, StreamName } from '../../src/engine/streams/stream.ts';
import { toEnding } from '../../src/engine/sync/run.ts';
import { toKnownError } from '../../src/engine/database/database-error.ts';
import { createSandbox, type Followup } from '../../src/sandbox/index.ts';
import { MemoryWarehouse } from './memory-warehouse.ts';
import { readStream } from './source-oracle.ts';
import { clockOf, NOON, type TestTime } from './test-clock.ts';
import {
  createTestClient,
  expectSucceeded,
  settingsFor,
  SMALL_SANDBOX,
  type TimedWorkerOptions,
} from './world.ts';
import { SPECIMENS } from './specimens.ts';

export type MemoryWorkerOptions = Pick<
  TimedWorkerOptions,
  'sandbox' | 'settings' | 'mostRetries' | 'ourClockOffMs' | 'serviceClockOffMs'
>;

export type MemoryRequest = Partial<ReadOptions>;

type MemoryRun = RunEnding & {
  readonly counts: Readonly<RecordCounts>;
  readonly requests: number;
};

export type MemoryWorker = Awaited<ReturnType<typeof createMemoryWorker>>;

interface Stored {
  readonly stream: StreamDefinition;
  readonly warehouse: MemoryWarehouse;
  state: { -readonly [Name in keyof StreamState]: StreamState[Name] };
  checkedAt: number;
  freshForMs: number;
}

export async function createMemoryWorker(options: MemoryWorkerOptions = {}) {
  const time: TestTime = { now: NOON };
  const serviceNow = () => time.now + (options.serviceClockOffMs ?? 0);
  const clock = clockOf(time, options.ourClockOffMs ?? 0);
  const sandbox = await createSandbox({
    seed: 7,
    clock: serviceNow,
    size: { ...SMALL_SANDBOX, followups: 130, equipment: 60 },
    ...options.sandbox,
  });
  const api = createTestClient(sandbox, clock, options);
  const settings = settingsFor(sandbox, options);
  /** Every reading of the database's clock is later than the one before it. */
  let readings = 0;
  const databaseNow = () => time.now + (readings += 1) / 1000;
  const all = new Map<StreamName, Stored>();

  function storedOf(name: StreamName): Stored {
    const stream = streamNamed(name);
    const stored = all.get(name) ?? {
      stream,
      warehouse: new MemoryWarehouse(stream, databaseNow),
      state: NO_STATE,
      checkedAt: 0,
      freshForMs: 0,
    };
    all.set(name, stored);
    return stored;
  }

  function storeState(stored: Stored, outcome: ReadOutcome): void {
    const { state: change = {} } = outcome.kind === 'read' ? outcome : {};
    const { freshForMs, completeRead, difference, isPlanDone, ...times } = change;
    const { warehouse, state } = stored;
    if (isPlanDone === true && warehouse.plan !== undefined)
      warehouse.plan = { ...warehouse.plan, watermark: null };
    stored.state = { ...state, ...times };
    if (freshForMs !== undefined) {
      stored.checkedAt = databaseNow();
      stored.freshForMs = freshForMs;
    }
    const left = { ...state.completeRead, ...(difference !== undefined && { difference }) };
    stored.state.completeRead = left;
    if (completeRead === undefined) return;
    const { tookMs, totals } = completeRead;
    const rows = warehouse.live().size;
    stored.state.completeRead = { ...left, tookMs, difference: totals ? differenceOf(rows, totals) : 0 };
  }

  /** As openStreamState reads it. */
  function readState({ state, checkedAt, freshForMs, warehouse }: Stored): StreamState {
    const agoMs = databaseNow() - checkedAt;
    const { completeReadAt } = warehouse;
    return {
      ...state,
      freshForMs: agoMs < 0 ? 0 : Math.max(0, Math.round(freshForMs - agoMs)),
      completeRead: {
        ...state.completeRead,
        agoMs: completeReadAt === undefined ? null : databaseNow() - completeReadAt,
      },
    };
  }

  async function run(name: StreamName, request: MemoryRequest = {}): Promise<MemoryRun> {
    const stored = storedOf(name);
    const { stream, warehouse } = stored;
    const meter = createRequestMeter();
    const before = warehouse.copy();
    warehouse.seen.clear();
    let committed = warehouse.copy();
    let [received, receivedBefore] = [0, 0];
    const steps = read({
      kind: 'sync',
      trigger: 'manual',
      ...request,
      stream,
      state: readState(stored),
      settings,
      service: { api: () => api, meter, clock, signal: new AbortController().signal },
      warehouse: warehouse.reads(),
    });
    const end = (ending: RunEnding): MemoryRun => ({
      ...ending,
      counts: { ...changesOf(before, warehouse), read: received },
      requests: meter.requests,
    });
    try {
      for await (const step of steps) {
        switch (step.kind) {
          case 'records':
            for (const record of step.records) warehouse.add(record, step.about);
            for (const write of step.writes ?? []) warehouse.write(write);
            received += step.records.length;
            break;
          case 'commit':
            committed = warehouse.copy();
            receivedBefore = received;
            break;
          case 'discard':
            warehouse.become(committed);
            received = receivedBefore;
            break;
          case 'end': {
            const { outcome } = step;
            if (outcome.kind === 'read' && outcome.covered !== null) warehouse.delete(outcome.covered);
            storeState(stored, outcome);
            return end(toEnding(outcome));
          }
        }
      }
      throw new TypeError('the reader ended without its last step');
    } catch (error) {
      warehouse.become(committed);
      return end({ outcome: 'failed', error: toKnownError(error) });
    }
  }

  return {
    sandbox,
    settings,
    time,
    /** By the service's clock. */
    serviceNow,
    run,
    stateOf: (stream: StreamName) => storedOf(stream).state,
    warehouseOf: (stream: StreamName) => storedOf(stream).warehouse,
    async close() {
      await api.close();
      await sandbox.close();
    },
  };
}

function changesOf(before: MemoryWarehouse, after: MemoryWarehouse): RecordCounts {
  const counts = noCounts();
  for (const [key, record] of after.records) {
    const old = before.records.get(key);
    if (old === undefined) counts.inserted += 1;
    else if (old.isLive && !record.isLive) counts.deleted += 1;
    else if (old.text !== record.text || old.isLive !== record.isLive) counts.updated += 1;
    else if (after.seen.has(key)) counts.unchanged += 1;
  }
  return counts;
}

/** Fails with the keys of the records that differ. `exceptDeleted`: the source may lack records that are live here. */
export async function expectMemoryEqualsSource(
  { sandbox, settings, ...worker }: MemoryWorker,
  name: StreamName,
  exceptDeleted = false,
): Promise<void> {
  const { keyField } = streamNamed(name);
  const found = await readStream({ sandbox, settings }, name, true);
  const source = new Map(found.map(({ record }) => [String(record[keyField]), JSON.stringify(record)]));
  const live = [...worker.warehouseOf(name).records].filter(([, { isLive }]) => isLive);
  const differing = live.filter(([key, { text }]) =>
    source.has(key) ? source.get(key) !== text : !exceptDeleted,
  );
  const stored = new Set(live.map(([key]) => key));
  expect({
    differing: differing.map(([key]) => key),
    missing: [...source.keys()].filter((key) => !stored.has(key)),
  }).toEqual({ differing: [], missing: [] });
}

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
export function touch(id: string): void {
  followups().update(id, { updated_on: worker.serviceNow(), m_assignee_id: 'moved' });
}

/** Changes the responses with a list of follow-ups; undefined: no longer. */
export function rewriteFollowups(change: ((list: Followup[]) => unknown[]) | undefined): void {
  worker.sandbox.hooks.rewriteResponse =
    change &&
    ((_entry, response) => ({ ...response, followups: change(response['followups'] as Followup[]) }));
}

export const failedBy = (code: string) => ({ outcome: 'failed', error: { code } });
