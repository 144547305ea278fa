/** Plays a history against the real worker, with checks after every run and at the end. */
import { createSandbox, type RequestLogEntry } from '../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS, withTimeout } from '../../src/shared/time.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import { openConnection } from '../../src/engine/database/connection.ts';
import { clientFor } from '../support/api-client.ts';
import type { Cli } from '../support/cli.ts';
import { createSaboteur, terminateSession } from '../support/saboteur.ts';
import { type CompareOptions, expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { clockOf, NOON, type TestTime } from '../support/test-clock.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createDepartures, isTotalSent } from './create-departures.ts';
import { createPeace } from './peace.ts';
import { createRunChecks } from './run-checks.ts';
import { makeChange, recordNewestUpdate, type Source } from './source-change.ts';
import { type History, type Step, toFault } from './step.ts';

const SIZE = { followups: 45, employees: 8, equipment: 10, resources: 5, users: 8 };
/** Longer than all attempts of a request without a response, also on a cluster and a busy machine. */
const STEP_MS = 180_000;
const OWNER = 'model';
/** Names are those of lists that the histories do not change. */
export const PLAYED: readonly StreamName[] = Object.keys(SPECIMENS);
/** Counts of events in all histories of a soak. */
interface Tally {
  histories: number;
  runs: number;
  failedRuns: number;
  kills: number;
  terminated: number;
}

export function noTally(): Tally {
  return { histories: 0, runs: 0, failedRuns: 0, kills: 0, terminated: 0 };
}

/** A hanging run fails like any other. */
async function withDeadline(work: Promise<void>, what: unknown): Promise<void> {
  const { inTime } = await withTimeout(work, STEP_MS);
  if (!inTime) throw new Error(`no end of ${JSON.stringify(what)}`);
}

interface PlayOptions {
  /** Runs the workers that are killed. */
  readonly cli?: Cli | undefined;
  /** Streams with checks at the end; default: all. */
  readonly streams?: readonly StreamName[];
}

export async function play(
  history: History,
  tally: Tally,
  { cli, streams = PLAYED }: PlayOptions = {},
): Promise<void> {
  const time: TestTime = { now: NOON };
  const clock = { now: () => clockOf(time, 0).now(), monotonicMs: () => performance.now() };
  const sandbox = await createSandbox({
    seed: history.seed,
    size: SIZE,
    clock: () => time.now + history.serviceClockOffHours * HOUR_MS,
    readings: { ...history.readings, largestPage: history.largestPage, followupBounds: history.bounds },
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
      concurrency: history.readers,
      requestTimeoutMs,
      mostRetries,
      retryMaxDelayMs: 5,
      clock,
    });
  const impatientMs = 400;
  let api = createApi(impatientMs, 3);
  const source: Source = {
    sandbox,
    now: () => time.now + history.serviceClockOffHours * HOUR_MS,
    deleted: new Map(),
    newestUpdate: 0,
    made: 0,
    everDeleted: new Set(),
    deletedInRun: new Set(),
    movesInRun: new Map(),
  };
  /** Faults that wait for requests of the next run. */
  let waiting: { left: number; happen: () => void | Promise<void> }[] = [];
  let isStill = true;
  /** Faults for the worker do not affect requests of the comparison. */
  let isComparing = false;
  const departures = createDepartures(sandbox, () => isComparing);

  sandbox.hooks.beforeResponse = async () => {
    for (const one of waiting) {
      one.left -= 1;
      if (one.left === 0) await one.happen();
    }
  };

  const compared = { sandbox, settings, query };
  const checks = createRunChecks({
    sandbox,
    source,
    query,
    owner: OWNER,
    compare,
  });
  async function compare(options?: CompareOptions): Promise<void> {
    isComparing = true;
    const { unrenderable } = sandbox.readings;
    sandbox.readings.unrenderable = [];
    try {
      await expectWarehouseEqualsSource(compared, options);
    } finally {
      sandbox.readings.unrenderable = unrenderable;
      isComparing = false;
    }
  }

  async function run(stream: StreamName, request: Partial<RunRequest>): Promise<RunResult> {
    recordNewestUpdate(source);
    isStill = true;
    source.deletedInRun.clear();
    source.movesInRun.clear();
    const before = await checks.before(stream);
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
      { stream, kind: 'sync', trigger: 'manual', ...request },
    );
    waiting = [];
    await saboteur.disarm();
    tally.runs += 1;
    if (result.outcome === 'failed') {
      tally.failedRuns += 1;
      if (result.error.code === 'internal_error') throw result.error;
    }
    const kind = request.kind ?? 'sync';
    await checks.hold({ stream, kind, isRetry: request.retryIssues === true, isStill, before, result });
    return result;
  }

  async function kill(step: Extract<Step, { kind: 'kill' }>): Promise<void> {
    if (cli === undefined) return;
    const running = cli.start([step.run, step.stream], {
      SAFETY_BASE_URL: sandbox.url,
      SAFETY_TOKEN: sandbox.token,
      SAFETY_EQUIPMENT_TYPES: sandbox.equipmentTypes.join(','),
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
    const { signal } = await running.finished;
    waiting = [];
    await saboteur.disarm();
    await query('delete from safety_sync.request_budget');
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
      case 'fault': {
        let skip = step.skip;
        // Without a total, the refusal of a further page means the end of the list: no worker could detect more.
        const isMeant = ({ method, params }: RequestLogEntry): boolean =>
          step.fault !== 'parameter_invalid' ||
          params['page'] === undefined ||
          isTotalSent(sandbox.readings, method);
        sandbox.faults.next(
          (entry) => !isComparing && isMeant(entry) && (skip -= 1) < 0,
          toFault(step.fault),
          step.times,
        );
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
            for (const stream of PLAYED) if (await terminateSession({ query }, stream)) tally.terminated += 1;
          },
        });
        return;
      case 'restart':
        await api.close();
        api = createApi(impatientMs, 3);
        return;
      case 'kill':
        await kill(step);
        return;
      case 'retry':
        await run(step.stream, { retryIssues: true });
        return;
      case 'put-right':
      case 'reading':
      case 'type-fails':
      case 'followup-fails':
      case 'access':
        departures.take(step);
        return;
      case 'run': {
        const range = { fromMs: createdAt(step.from) ?? -Infinity, toMs: createdAt(step.to) ?? Infinity };
        const isEmpty = range.fromMs >= range.toMs;
        await run(step.stream, {
          kind: step.run,
          force: step.force,
          restart: step.restart,
          ...(isEmpty || step.stream !== 'followups' ? {} : { range }),
        });
        return;
      }
      default:
        if (step.kind === 'recalculate') checks.recordOddReport();
        makeChange(source, step);
    }
  }

  const peace = createPeace({
    streams,
    sandbox,
    source,
    departures,
    query,
    run,
    compare,
    async disarm() {
      await saboteur.disarm();
      waiting = [];
    },
    async startWithLongTimeouts() {
      await api.close();
      api = createApi(20_000, 8);
    },
    pass(ms) {
      time.now += ms;
    },
  });

  try {
    for (const step of history.steps) await withDeadline(take(step), step);
    await withDeadline(peace.end(), 'the end');
    tally.histories += 1;
  } finally {
    await api.close();
    await connection.close();
    await sandbox.close();
    await database.drop();
  }
}
