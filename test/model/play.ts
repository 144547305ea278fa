/** Plays a history against the real worker, with checks after every run and at the end. */
import { expect } from 'vitest';
import { createSandbox, defaultReadings, type RequestLogEntry } from '../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS, withTimeout } from '../../src/shared/time.ts';
import { WHOLE_TIME } from '../../src/engine/streams/state.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import { openConnection } from '../../src/engine/database/connection.ts';
import { clientFor } from '../support/api-client.ts';
import type { Cli } from '../support/cli.ts';
import { createSaboteur, terminateSession } from '../support/saboteur.ts';
import { type CompareOptions, expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { clockOf, NOON, type TestTime } from '../support/test-clock.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { expectSucceeded } from '../support/world.ts';
import { createRunChecks } from './run-checks.ts';
import { makeChange, type Source } from './source-change.ts';
import type { History, Step } from './step.ts';

const SIZE = { followups: 45, employees: 8, equipment: 10, resources: 5, users: 8 };
/** Longer than all attempts of a request without a response, also on a cluster and a busy machine. */
const STEP_MS = 180_000;
const CACHE_MS = 16 * MINUTE_MS;
const OWNER = 'model';
/** Names are those of lists that the histories do not change. */
const STREAMS: readonly StreamName[] = Object.keys(SPECIMENS);

/** A process that waits for so long is killed while it waits. */
const LATE_MS = 20_000;

/** Counts of events in all histories. */
export const noTally = () => ({ histories: 0, runs: 0, failedRuns: 0, kills: 0, terminated: 0 });

/** `cli` runs the workers that are killed. */
export async function play(history: History, tally: ReturnType<typeof noTally>, cli?: Cli): Promise<void> {
  const time: TestTime = { now: NOON };
  const clock = clockOf(time);
  const serviceNow = () => time.now + history.serviceClockOffHours * HOUR_MS;
  const { largestPage, followups } = history;
  const sandbox = await createSandbox({
    ...{ seed: history.seed, size: SIZE, clock: serviceNow, readings: { largestPage, followups } },
  });
  const database = await createTestDatabase();
  const connection = openConnection({ url: database.url, applicationName: 'test', max: 2 });
  const query = <Row>(text: string): Promise<Row[]> => connection.query<Row>(text);
  const saboteur = await createSaboteur({ query });
  const settings = {
    accountId: 'default',
    equipmentTypes: sandbox.equipmentTypes,
    followupsOverlapMs: history.overlapMs,
    maxDeleteRatio: 1,
    sliceConcurrency: history.readers,
  };
  const createApi = (requestTimeoutMs: number, mostRetries: number) =>
    clientFor(sandbox, {
      ...{ concurrency: history.readers, requestTimeoutMs, mostRetries, retryMaxDelayMs: 5, clock },
    });
  let api = createApi(400, 3);
  const source: Source = {
    ...{ sandbox, now: serviceNow, made: 0 },
    deleted: new Map(),
    everDeleted: new Set(),
    movesInRun: new Map(),
  };
  /** What happens before responses of the next run. */
  let waiting: { left: number; happen: () => void | Promise<void> }[] = [];
  let isStill = true;
  /** Faults for the worker do not affect requests of the comparison. */
  let isComparing = false;
  const { hooks, readings, store, faults, access } = sandbox;
  hooks.beforeResponse = async () => {
    for (const one of waiting) {
      one.left -= 1;
      if (one.left === 0) await one.happen();
    }
  };
  async function disarm(): Promise<void> {
    waiting = [];
    await saboteur.disarm();
  }

  async function compare(options: CompareOptions): Promise<void> {
    isComparing = true;
    const { unrenderable } = readings;
    readings.unrenderable = [];
    try {
      await expectWarehouseEqualsSource({ sandbox, settings, query }, options);
    } finally {
      readings.unrenderable = unrenderable;
      isComparing = false;
    }
  }
  const beginChecks = createRunChecks({ source, query, owner: OWNER, compare });

  async function run(stream: StreamName, request: Partial<RunRequest>): Promise<RunResult> {
    isStill = true;
    source.movesInRun.clear();
    const check = await beginChecks(stream);
    const { signal } = new AbortController();
    const { db } = connection;
    const result = await runStream(
      {
        ...{ settings, databaseUrl: database.url, db, api: () => api, clock, owner: OWNER, signal },
        ...{ privacy: { omit: [], pseudonymize: [] }, retention: {}, events: {} },
      },
      { stream, kind: 'sync', trigger: 'manual', ...request },
    );
    await disarm();
    tally.runs += 1;
    if (result.outcome === 'failed') {
      tally.failedRuns += 1;
      if (result.error.code === 'internal_error') throw result.error;
    }
    await check({ kind: request.kind ?? 'sync', isRetry: request.retryIssues === true, isStill, result });
    return result;
  }

  async function kill(step: Extract<Step, { kind: 'kill' }>): Promise<void> {
    if (cli === undefined) return;
    const running = cli.start([step.run, step.stream], {
      SAFETY_BASE_URL: sandbox.url,
      SAFETY_TOKEN: sandbox.token,
      DATABASE_URL: database.url,
      FOLLOWUPS_OVERLAP_MS: String(history.overlapMs),
      // A refused request would be repeated a minute later.
      RETRY_ATTEMPTS: '0',
      RETRY_MIN_DELAY_MS: '1',
      RETRY_MAX_DELAY_MS: '5',
      REQUEST_TIMEOUT_MS: '1000',
    });
    waiting.push({
      left: step.request,
      happen: () => void setTimeout(() => running.kill('SIGKILL'), step.delayMs),
    });
    // After a refusal the others of its requests wait a minute.
    const late = setTimeout(() => running.kill('SIGKILL'), LATE_MS);
    const { signal } = await running.finished;
    clearTimeout(late);
    await disarm();
    await query('delete from safety_sync.request_budget');
    if (signal === 'SIGKILL') tally.kills += 1;
  }

  function createdAt(share: number | null): number | null {
    const times = [...store.followups.values()].map((one) => one.created_on);
    const usable = times.filter((one) => typeof one === 'number').toSorted((a, b) => a - b);
    return share === null ? null : (usable[Math.floor((usable.length - 1) * share)] ?? null);
  }

  function putRight(): void {
    faults.clear();
    readings.unrenderable = defaultReadings.unrenderable;
    access.set('active');
  }

  async function take(step: Step): Promise<void> {
    const inNextRun = (left: number, happen: () => void | Promise<void>) => waiting.push({ left, happen });
    switch (step.kind) {
      case 'pass':
        time.now += step.minutes * MINUTE_MS + 1;
        return;
      case 'fault': {
        let skip = step.skip;
        faults.next(() => !isComparing && (skip -= 1) < 0, step.fault, step.times);
        return;
      }
      case 'between':
        inNextRun(step.after + 1, () => {
          isStill = false;
          makeChange(source, step.change);
        });
        return;
      case 'sabotage':
        await saboteur.arm(step.write, step.how);
        return;
      case 'terminate':
        inNextRun(step.request, async () => {
          // If the connection that closes the run for it ends as well, the row stays open until the next run.
          await saboteur.disarm();
          for (const stream of STREAMS) if (await terminateSession({ query }, stream)) tally.terminated += 1;
        });
        return;
      case 'kill':
        await kill(step);
        return;
      case 'retry':
        await run(step.stream, { retryIssues: true });
        return;
      case 'reading':
        Object.assign(readings, step.reading);
        return;
      case 'type-fails': {
        const type = sandbox.equipmentTypes[step.at % sandbox.equipmentTypes.length];
        const isMeant = ({ params }: RequestLogEntry) => !isComparing && params['equipmentType_id'] === type;
        faults.next(isMeant, { kind: 'error', error: step.error }, step.times);
        return;
      }
      case 'followup-fails':
        readings.unrenderable = [[...store.followups.keys()][step.at % store.followups.size] ?? ''];
        return;
      case 'access':
        access.set(step.state);
        return;
      case 'put-right':
        putRight();
        return;
      case 'run': {
        const [fromMs, toMs] = [createdAt(step.from), createdAt(step.to)];
        const range = { fromMs: fromMs ?? WHOLE_TIME.fromMs, toMs: toMs ?? WHOLE_TIME.toMs };
        const hasRange = step.run === 'backfill' && step.stream === 'followups' && range.fromMs < range.toMs;
        const request = { kind: step.run, force: step.force, restart: step.restart };
        await run(step.stream, hasRange ? { ...request, range } : request);
        return;
      }
      default:
        makeChange(source, step);
    }
  }

  /** After all departures are reverted, the next sync makes the warehouse equal to the source. */
  async function end(): Promise<void> {
    putRight();
    await disarm();
    await api.close();
    api = createApi(20_000, 8);
    time.now += MINUTE_MS;
    // Changes right after the correction are those that a wrong clock would skip.
    makeChange(source, { kind: 'followup', action: 'reassign', at: 3 });
    for (const of of ['resources', 'equipments', 'training-employee-status'] as const)
      makeChange(source, { kind: 'change', of, action: 'update', at: 1 });
    time.now += CACHE_MS;
    const lists = STREAMS.filter((name) => name !== 'users');
    for (const stream of lists) expectSucceeded(await run(stream, { force: true }));
    await compare({
      tables: lists.flatMap((stream) => TABLES_OF[stream] ?? []),
      exceptDeletedFollowups: true,
    });
    for (const stream of ['followups', 'users'] as const)
      expectSucceeded(await run(stream, { kind: 'reconcile' }));
    await compare({});
    for (const stream of lists) {
      // Its passes read each record twice: copies in other bytes within one batch are written.
      if (stream === 'completed-trainings' && readings.bytes !== 'plain') continue;
      const { inserted, updated, deleted } = (await run(stream, { force: true })).counts;
      expect([stream, inserted, updated, deleted], 'a source that stands still').toEqual([stream, 0, 0, 0]);
    }
    expect(await query(`select run_id from safety_sync.runs where status = 'running'`)).toEqual([]);
  }

  /** A hanging run fails like any other. */
  async function withDeadline(work: Promise<void>, what: unknown): Promise<void> {
    const { inTime } = await withTimeout(work, STEP_MS);
    if (!inTime) throw new Error(`no end of ${JSON.stringify(what)}`);
  }
  try {
    for (const step of history.steps) await withDeadline(take(step), step);
    await withDeadline(end(), 'the end');
    tally.histories += 1;
  } finally {
    await api.close();
    await connection.close();
    await sandbox.close();
    await database.drop();
  }
}
