/** Plays a history against the real worker, holds what must always hold after every run, and what must hold in the end. */
import { expect } from 'vitest';
import { createApiClient } from '../../src/api/client.ts';
import { createSandbox, type Fault } from '../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/streams/index.ts';
import type { StreamName } from '../../src/streams/stream.ts';
import type { RunRequest, RunResult } from '../../src/sync/run.ts';
import { runStream } from '../../src/sync/run-stream.ts';
import { openConnection } from '../../src/warehouse/connection.ts';
import type { Cli } from '../support/cli.ts';
import { createSaboteur, terminateSession } from '../support/saboteur.ts';
import { type CompareOptions, expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { clockOf, NOON, type TestTime } from '../support/test-clock.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { stateOf } from '../support/warehouse-marks.ts';
import { makeChange, noteNewestUpdate, type Source } from './source-change.ts';
import type { FaultName, History, Step } from './step.ts';

const SIZE = { followups: 45, employees: 8, equipment: 10, resources: 5, users: 8 };
const SLICE_RECORDS = 12;
const STEP_MS = 30_000;
const OWNER = 'model';
/**
 * The training cache is over, also by a clock of ours that a history has put back by all that it may: time passes here
 * without PostgreSQL's clock, which would tell in earnest.
 */
const PEACE_MS = 10 * HOUR_MS + 16 * MINUTE_MS;
const ENTITY_TABLES: Readonly<Record<StreamName, string>> = {
  followups: 'followups',
  resources: 'resources',
  equipments: 'equipment',
  'training-employee-status': 'training_employee_status',
  users: 'users',
};

/** What happened over all histories of a soak. */
export interface Tally {
  histories: number;
  runs: number;
  failedRuns: number;
  kills: number;
  terminated: number;
}

export function noTally(): Tally {
  return { histories: 0, runs: 0, failedRuns: 0, kills: 0, terminated: 0 };
}

function toFault(name: FaultName): Fault {
  switch (name) {
    case 'token_inactive':
    case 'parameter_invalid':
      return { kind: 'error', error: name };
    case 'slow':
      return { kind: 'slow', durationMs: 20, pieces: 3 };
    default:
      return { kind: name };
  }
}

/** What hangs is a failure like any other. */
async function withDeadline(work: Promise<void>, what: unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end of ${JSON.stringify(what)}`)), STEP_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export async function play(history: History, tally: Tally, cli?: Cli): Promise<void> {
  const time: TestTime = { now: NOON };
  const serviceNow = () => time.now + history.serviceClockOffHours * HOUR_MS;
  let ourOffMs = 0;
  const clock = { now: () => clockOf(time, ourOffMs).now(), monotonicMs: () => performance.now() };
  const sandbox = await createSandbox({
    seed: history.seed,
    size: SIZE,
    clock: serviceNow,
    readings: { largestPage: history.largestPage, followupBounds: history.bounds },
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
    readers: history.readers,
    sliceRecords: SLICE_RECORDS,
  };
  const createApi = (requestTimeoutMs: number, retryAttempts: number) =>
    createApiClient({
      baseUrl: sandbox.url,
      token: sandbox.token,
      concurrency: history.readers,
      requestsPerMinute: undefined,
      requestTimeoutMs,
      retryAttempts,
      retryMinDelayMs: 1,
      retryMaxDelayMs: 5,
      clock,
      userAgent: 'safety-sync-model',
    });
  let api = createApi(400, 3);
  const source: Source = { sandbox, now: serviceNow, deleted: new Map(), newestUpdate: 0, made: 0 };
  /** What waits for requests of the next run. */
  let waiting: { left: number; happen: () => void | Promise<void> }[] = [];
  let isStill = true;
  /** What the comparison asks is answered, whatever waits for the worker. */
  let isComparing = false;

  sandbox.hooks.beforeAnswer = async () => {
    for (const one of waiting) {
      one.left -= 1;
      if (one.left === 0) await one.happen();
    }
  };

  const compared = { sandbox, settings, query };
  async function compare(options?: CompareOptions): Promise<void> {
    isComparing = true;
    try {
      await expectWarehouseEqualsSource(compared, options);
    } finally {
      isComparing = false;
    }
  }
  const versions = async (stream: StreamName): Promise<Map<string, string>> => {
    const key = stream === 'training-employee-status' ? 'user_id' : 'id';
    const rows = await query<{ key: string; version: string }>(
      `select ${key} as key, xmin::text as version from safety.${ENTITY_TABLES[stream]}`,
    );
    return new Map(rows.map((row) => [row.key, row.version]));
  };

  async function run(stream: StreamName, request: Partial<RunRequest>): Promise<RunResult> {
    noteNewestUpdate(source);
    const startedAt = serviceNow();
    const before = await versions(stream);
    isStill = true;
    const result = await runStream(
      {
        settings,
        databaseUrl: database.url,
        db: connection.db,
        api: () => api,
        clock,
        owner: OWNER,
        signal: new AbortController().signal,
        events: {},
      },
      { stream, kind: 'sync', trigger: 'manual', force: false, allowMassDelete: false, ...request },
    );
    waiting = [];
    await saboteur.disarm();
    tally.runs += 1;
    if (result.outcome === 'failed') {
      tally.failedRuns += 1;
      if (result.error.code === 'internal_error') throw result.error;
    }
    await holdInvariants({ stream, startedAt, before, result, kind: request.kind ?? 'sync' });
    return result;
  }

  interface Ended {
    readonly stream: StreamName;
    readonly kind: RunRequest['kind'];
    readonly startedAt: number;
    readonly before: ReadonlyMap<string, string>;
    readonly result: RunResult;
  }

  async function holdInvariants({ stream, startedAt, before, result, kind }: Ended): Promise<void> {
    const { watermark } = await stateOf(compared, 'followups');
    if (watermark !== null) expect(watermark, 'watermark').toBeLessThanOrEqual(startedAt);
    // A run that loses its session before it has begun leaves the run of a killed worker to the one after it.
    const own = result.outcome === 'failed' ? `and owner = '${OWNER}'` : '';
    const [open] = await query<{ count: number }>(
      `select count(*)::int as count from safety_sync.runs where status = 'running' and stream = '${stream}' ${own}`,
    );
    expect(open?.count, `runs of ${stream} left running`).toBe(0);
    const { counts } = result;
    const after = await versions(stream);
    const written = [...after].filter(([key, version]) => before.get(key) !== version).length;
    const told = counts.inserted + counts.updated + counts.deleted;
    expect(written, `rows of ${stream} written`).toBeLessThanOrEqual(told);
    if (result.outcome !== 'succeeded') return;
    if (written !== told && kind === 'sync' && stream !== 'followups') expect(written).toBe(told);
    expect(counts.read, 'read').toBe(counts.inserted + counts.updated + counts.unchanged + counts.rejected);
    const isAsked = stream !== 'users' && result.note === null;
    const isPart = kind === 'backfill' && stream === 'followups';
    if (isStill && isAsked && !isPart) {
      await compare({
        tables: TABLES_OF[stream] ?? [],
        exceptDeletedFollowups: kind === 'sync',
      });
    }
  }

  async function kill(step: Extract<Step, { kind: 'kill' }>): Promise<void> {
    if (cli === undefined) return;
    const running = cli.start([step.run, step.stream], {
      SAFETY_BASE_URL: sandbox.url,
      SAFETY_TOKEN: sandbox.token,
      SAFETY_EQUIPMENT_TYPES: sandbox.equipmentTypes.join(','),
      DATABASE_URL: database.url,
      FOLLOWUPS_OVERLAP_MS: String(history.overlapMs),
      RETRY_ATTEMPTS: '2',
      RETRY_MIN_DELAY_MS: '1',
      RETRY_MAX_DELAY_MS: '5',
      REQUEST_TIMEOUT_MS: '1000',
    });
    waiting.push({
      left: step.request,
      happen: () => void setTimeout(() => running.kill('SIGKILL'), step.delayMs),
    });
    const { signal } = await running.finished;
    waiting = [];
    await saboteur.disarm();
    if (signal === 'SIGKILL') tally.kills += 1;
  }

  function createdAt(share: number | null): number | null {
    const times = [...sandbox.store.followups.values()].map((one) => one.created_on);
    const usable = times.filter((one) => typeof one === 'number').toSorted((a, b) => a - b);
    return share === null ? null : (usable[Math.floor((usable.length - 1) * share)] ?? null);
  }

  async function take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'pass':
        time.now += step.minutes * MINUTE_MS + 1;
        return;
      case 'our-clock':
        ourOffMs = step.hours * HOUR_MS;
        return;
      case 'fault': {
        let skip = step.skip;
        sandbox.faults.next(() => !isComparing && (skip -= 1) < 0, toFault(step.fault), step.times);
        return;
      }
      case 'between':
        waiting.push({
          left: step.after + 1,
          happen: () => {
            isStill = false;
            makeChange(source, step.change);
          },
        });
        return;
      case 'sabotage':
        await saboteur.arm(step.write, step.how);
        return;
      case 'terminate':
        waiting.push({
          left: step.request,
          happen: async () => {
            for (const stream of STREAM_NAMES)
              if (await terminateSession({ query }, stream)) tally.terminated += 1;
          },
        });
        return;
      case 'restart':
        await api.close();
        api = createApi(400, 3);
        return;
      case 'kill':
        await kill(step);
        return;
      case 'run': {
        const [from, to] = [createdAt(step.from), createdAt(step.to)];
        const isRange = from !== null && to !== null && from >= to;
        await run(step.stream, {
          kind: step.run,
          force: step.force,
          restart: step.restart,
          ...(isRange || step.stream !== 'followups' ? {} : { range: { fromMs: from, toMs: to } }),
        });
        return;
      }
      default:
        makeChange(source, step);
    }
  }

  /** Peace: what was armed is gone, a new worker with patience, and the training cache has run out. */
  async function endInPeace(): Promise<void> {
    sandbox.faults.clear();
    await saboteur.disarm();
    waiting = [];
    await api.close();
    api = createApi(20_000, 8);
    time.now += PEACE_MS;
    for (const stream of STREAM_NAMES.filter((name) => name !== 'users')) await succeed(stream, {});
    const tables = Object.entries(TABLES_OF).flatMap(([stream, names]) => (stream === 'users' ? [] : names));
    await compare({ tables, exceptDeletedFollowups: true });
    await succeed('followups', { kind: 'reconcile' });
    await succeed('users', { kind: 'reconcile' });
    await compare();
    const open = await query(`select run_id from safety_sync.runs where status = 'running'`);
    expect(open, 'runs left running').toEqual([]);
  }

  async function succeed(stream: StreamName, request: Partial<RunRequest>): Promise<void> {
    const result = await run(stream, request);
    if (result.outcome === 'failed') throw result.error;
  }

  try {
    for (const step of history.steps) await withDeadline(take(step), step);
    await withDeadline(endInPeace(), 'the end');
    tally.histories += 1;
  } finally {
    await api.close();
    await connection.close();
    await sandbox.close();
    await database.drop();
  }
}
