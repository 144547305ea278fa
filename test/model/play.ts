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
import { makeChange, noteNewestUpdate, type Source } from './source-change.ts';
import { createDepartures } from './departure.ts';
import { createRunChecks, isTimeTold } from './run-checks.ts';
import type { FaultName, History, Step } from './step.ts';

const SIZE = { followups: 45, employees: 8, equipment: 10, resources: 5, users: 8 };
const SLICE_RECORDS = 12;
/** Longer than all attempts of a request that is never answered. */
const STEP_MS = 60_000;
const OWNER = 'model';
/**
 * The training cache is over, also by a clock of ours that a history has put back by all that it may: time passes here
 * without PostgreSQL's clock, which would tell in earnest.
 */
const CACHE_MS = 16 * MINUTE_MS;
const MOST_CLOCK_STEP_MS = 10 * HOUR_MS;
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
  let ourOffMs = 0;
  const clock = { now: () => clockOf(time, ourOffMs).now(), monotonicMs: () => performance.now() };
  const sandbox = await createSandbox({
    seed: history.seed,
    size: SIZE,
    clock: () => time.now + history.serviceClockOffHours * HOUR_MS,
    readings: { ...history.readings, largestPage: history.largestPage, followupBounds: history.bounds },
  });
  const serviceNow = () => time.now + history.serviceClockOffHours * HOUR_MS + sandbox.serviceClock.aheadMs;
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
  // An answer of 17 MiB takes its time on a busy machine.
  const isLarge = history.steps.some((step) => step.kind === 'odd-record' && step.how === 'too-large');
  const impatientMs = isLarge ? 4_000 : 400;
  let api = createApi(impatientMs, 3);
  const source: Source = {
    sandbox,
    now: serviceNow,
    deleted: new Map(),
    newestUpdate: 0,
    made: 0,
    everDeleted: new Set(),
    deletedInRun: new Set(),
    movesInRun: new Map(),
  };
  /** What waits for requests of the next run. */
  let waiting: { left: number; happen: () => void | Promise<void> }[] = [];
  let isStill = true;
  /** What the comparison asks is answered, whatever waits for the worker. */
  let isComparing = false;
  /** Clocks that stepped since follow-ups were read. */
  const stepped = new Set<string>();
  const departures = createDepartures(sandbox, () => isComparing);
  sandbox.hooks.beforeAnswer = async () => {
    for (const one of waiting) {
      one.left -= 1;
      if (one.left === 0) await one.happen();
    }
  };

  const compared = { sandbox, settings, query };
  const checks = createRunChecks({ sandbox, source, query, owner: OWNER, compare });
  async function compare(options?: CompareOptions): Promise<void> {
    isComparing = true;
    try {
      await expectWarehouseEqualsSource(compared, options);
    } finally {
      isComparing = false;
    }
  }
  async function run(stream: StreamName, request: Partial<RunRequest>): Promise<RunResult> {
    noteNewestUpdate(source);
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
      { stream, kind: 'sync', trigger: 'manual', force: false, allowMassDelete: false, ...request },
    );
    waiting = [];
    await saboteur.disarm();
    tally.runs += 1;
    if (result.outcome === 'failed') {
      tally.failedRuns += 1;
      if (result.error.code === 'internal_error') throw result.error;
    }
    const kind = request.kind ?? 'sync';
    if (stream === 'followups' && result.outcome === 'succeeded' && kind === 'sync') stepped.clear();
    await checks.hold({ stream, kind, isRetry: request.retryIssues === true, isStill, before, result });
    return result;
  }

  async function kill(step: Extract<Step, { kind: 'kill' }>): Promise<void> {
    // The process goes by the machine's clock, months away from the service's: with no other clock to go by, it is lost.
    if (cli === undefined || !isTimeTold(sandbox) || !mayStep('ours')) return;
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

  /**
   * Whether a clock was put right is told by the others: of ours, the service's and its Date header, only one may step
   * between two reads of follow-ups. One that is off will step when it is put right.
   */
  function mayStep(clock: 'ours' | 'service' | 'header'): boolean {
    const { serviceClock, readings } = sandbox;
    const others = new Set(stepped);
    if (serviceClock.aheadMs !== 0) others.add('service');
    if (readings.dateHeaderAheadMs !== 0) others.add('header');
    others.delete(clock);
    if (others.size > 0) return false;
    stepped.add(clock);
    return true;
  }

  async function take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'pass':
        time.now += step.minutes * MINUTE_MS + 1;
        return;
      case 'our-clock':
        if (mayStep('ours')) ourOffMs = step.hours * HOUR_MS;
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
        api = createApi(impatientMs, 3);
        return;
      case 'kill':
        await kill(step);
        return;
      case 'retry':
        await run(step.stream, { retryIssues: true });
        return;
      case 'put-right':
        if (sandbox.serviceClock.aheadMs !== 0) stepped.add('service');
        if (sandbox.readings.dateHeaderAheadMs !== 0) stepped.add('header');
        departures.take(step);
        return;
      case 'service-clock':
        if (mayStep('service')) departures.take(step);
        return;
      case 'last-updated':
      case 'date-header':
        if (mayStep('header')) departures.take(step);
        return;
      case 'reading':
        if (!('dateHeader' in step.reading) || mayStep('header')) departures.take(step);
        return;
      case 'type-fails':
      case 'user-fails':
      case 'access':
      case 'odd-record':
      case 'odd-answer':
      case 'odd-http':
        departures.take(step);
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
        if (step.kind === 'recalculate') checks.noteOddCalculation();
        makeChange(source, step);
    }
  }

  /** Peace: what was armed is gone, a new worker with patience, and the training cache has run out. */
  async function endInPeace(): Promise<void> {
    departures.putRight();
    await saboteur.disarm();
    waiting = [];
    await api.close();
    api = createApi(20_000, 8);
    time.now += MINUTE_MS;
    changeInPeace();
    // Only then can our own clock keep the training cache waiting for longer.
    const isOursRestless = history.steps.some(({ kind }) => kind === 'our-clock');
    time.now += CACHE_MS + (isOursRestless ? MOST_CLOCK_STEP_MS : 0);
    for (const stream of STREAM_NAMES.filter((name) => name !== 'users')) await succeed(stream, {});
    const tables = Object.entries(TABLES_OF).flatMap(([stream, names]) => (stream === 'users' ? [] : names));
    const isPassedBy = checks.mayLack.has('followups');
    await compare({
      tables: isPassedBy ? tables.filter((name) => !name.startsWith('followup')) : tables,
      exceptDeletedFollowups: true,
    });
    await succeed('followups', { kind: 'reconcile' });
    await succeed('users', { kind: 'reconcile' });
    await compare();
    await standStill();
    await unknownFieldsAreTold();
    const open = await query(`select run_id from safety_sync.runs where status = 'running'`);
    expect(open, 'runs left running').toEqual([]);
  }

  /** What changes right after everything was put right is what clocks that were wrong would pass by. */
  function changeInPeace(): void {
    makeChange(source, { kind: 'followup', action: 'reassign', at: 3 });
    for (const table of ['resources', 'equipment', 'employees'] as const) {
      makeChange(source, { kind: 'change', table, action: 'update', at: 1 });
    }
  }

  /** What the service sends that nobody knows is an open issue of every stream, for as long as it sends it. */
  async function unknownFieldsAreTold(): Promise<void> {
    const open = await query<{ stream: string }>(
      `select distinct stream from safety_sync.data_issues
       where kind = 'unknown_field' and field like 'x%extra%' and resolved_at is null and stream <> 'users' order by 1`,
    );
    const { followups, resources, employees, equipment } = sandbox.store;
    const sizes = [
      ['equipments', equipment.size],
      ['followups', followups.size],
      ['resources', resources.size],
      ['training-employee-status', employees.size],
    ] as const;
    const isSent = sandbox.readings.extraFields !== false;
    const expected = isSent ? sizes.filter(([, size]) => size > 0).map(([stream]) => stream) : [];
    expect(
      open.map(({ stream }) => stream),
      'streams with open issues of unknown fields',
    ).toEqual(expected);
  }

  /** Of a source that stands still nothing is written. */
  async function standStill(): Promise<void> {
    for (const stream of STREAM_NAMES.filter((name) => name !== 'users')) {
      const { counts } = await run(stream, { force: true });
      const { inserted, updated, deleted } = counts;
      expect({ inserted, updated, deleted }, `${stream} once more`).toEqual({
        inserted: 0,
        updated: 0,
        deleted: 0,
      });
    }
  }

  /** Users whose look-up always fails keep nobody else from a name. */
  async function nameTheOthers(): Promise<void> {
    if (departures.failingUsers.size === 0) return;
    departures.putRight({ exceptUsers: true });
    await saboteur.disarm();
    for (let times = 0; times < 3; times += 1) await run('users', {});
    const met = await query<{ id: string }>(
      `select l.user_id as id from safety_sync.user_lookups l
       where not exists (select from safety.users u where u.account_id = l.account_id and u.id = l.user_id)`,
    );
    const nameless = met
      .map(({ id }) => id)
      .filter((id) => sandbox.store.users.has(id) && !checks.unluckyUsers.has(id) && !everDeletedUser(id));
    expect(nameless, 'users without a name, kept from it by others that fail').toEqual([]);
  }

  /** The service did not know them for a while: they are asked for again after a month. */
  const everDeletedUser = (id: string): boolean => source.everDeleted.has(`users/${id}`);

  async function succeed(stream: StreamName, request: Partial<RunRequest>): Promise<void> {
    const result = await run(stream, request);
    if (result.outcome === 'failed') throw result.error;
  }

  try {
    for (const step of history.steps) await withDeadline(take(step), step);
    await withDeadline(nameTheOthers(), 'users that fail');
    await withDeadline(endInPeace(), 'the end');
    tally.histories += 1;
  } finally {
    await api.close();
    await connection.close();
    await sandbox.close();
    await database.drop();
  }
}
