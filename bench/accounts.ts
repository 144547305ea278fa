/**
 * The cost of thousands of accounts for one worker: reading the configuration, schedules (also with a hypothetical cron
 * task for each account and stream), locks, the read of the warehouse, the pages, and real runs against a sandbox. `npx tsx
 * bench/accounts.ts [10 100 1000 10000]`, with DATABASE_URL for a server on which it may create databases; default: the
 * embedded one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import cron from 'node-cron';
import pLimit from 'p-limit';
import { type App, createApp } from '../src/app.ts';
import { type Config, loadConfig } from '../src/config/load-config.ts';
import { createMetrics } from '../src/operate/status/metrics.ts';
import { buildStatus, pageOf } from '../src/operate/status/build-status.ts';
import type { AccountFacts } from '../src/operate/status/status.ts';
import { renderStatus } from '../src/pages/status/render-status.ts';
import { createSandbox, type Sandbox } from '../src/sandbox/index.ts';
import { createRunQueue } from '../src/operate/worker/run-queue.ts';
import { createScheduler, type Scheduler } from '../src/operate/worker/scheduler.ts';
import type { NextSync } from '../src/operate/health/account-health.ts';
import { systemClock } from '../src/shared/time.ts';
import { STREAM_NAMES } from '../src/engine/streams/index.ts';
import { runStream } from '../src/engine/sync/run-stream.ts';
import { type Connection, openConnection } from '../src/engine/database/connection.ts';
import { readLastRuns } from '../src/engine/control-tables/runs.ts';
import { readAccounts } from '../src/operate/status/read-accounts.ts';
import { countRows } from '../src/operate/status/read-volumes.ts';
import { openStreamSession } from '../src/engine/control-tables/stream-session.ts';
import { startServer } from './support/database.ts';

const SLOTS = 20;
const RUNS_OF_A_STREAM = 10;
const WATCHED_MS = 10_000;
/** Maximum number of accounts for real runs and locks, because each costs the same. */
const MOST_REAL = 400;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

async function timed<T>(work: () => T | Promise<T>): Promise<{ value: T; ms: number }> {
  const began = performance.now();
  const value = await work();
  return { value, ms: performance.now() - began };
}

/** Does the work and prints how long it took. */
async function sayTime<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  const { value, ms: tookMs } = await timed(work);
  say(what, ms(tookMs));
  return value;
}

const say = (what: string, value: string) => process.stdout.write(`  ${what.padEnd(52)} ${value}\n`);
const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const pause = (forMs: number) => new Promise((resolve) => setTimeout(resolve, forMs));

/** CPU of this process while it only waits, ms a minute. */
async function idleCpuMs(): Promise<number> {
  const before = process.cpuUsage();
  await pause(WATCHED_MS);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1000) * (60_000 / WATCHED_MS);
}

function startSchedule(config: Config, run: () => Promise<readonly NextSync[]>): Scheduler {
  const scheduler = createScheduler({
    accounts: config.accounts.map((account) => ({ id: account.accountId, offReasons: {}, config: account })),
    spreadMs: 300_000,
    queue: createRunQueue({ slots: SLOTS, clock: systemClock }),
    clock: systemClock,
    run,
    onSkippedTick: () => undefined,
  });
  scheduler.start();
  return scheduler;
}

async function measureSchedules(config: Config): Promise<void> {
  const before = heapMb();
  let done = 0;
  const scheduler = await sayTime('schedules: start', () =>
    startSchedule(config, () => {
      done += 1;
      return Promise.resolve([]);
    }),
  );
  say('schedules: memory', `${(heapMb() - before).toFixed(1)} MB`);
  say('schedules: CPU a minute while nothing is due', ms(await idleCpuMs()));
  const all = config.accounts.length * STREAM_NAMES.length;
  await sayTime(`schedules: ${all} triggers at once, until all had their turn`, async () => {
    for (const { accountId } of config.accounts) {
      for (const stream of STREAM_NAMES) scheduler.trigger(accountId, stream);
    }
    await scheduler.idle();
  });
  if (done !== all) throw new Error(`${done} of ${all} triggers led to a run`);
  await sayTime('schedules: next runs of one account', () =>
    scheduler.nextRuns(config.accounts[0]?.accountId ?? ''),
  );
  await scheduler.stop();
}

/** One cron task for each account and stream, without reconciliations: the cost without grouping. */
async function measureUngrouped(count: number): Promise<void> {
  const before = heapMb();
  const tasks = await sayTime('ungrouped: start', () =>
    Array.from({ length: count * STREAM_NAMES.length }, (_, index) =>
      cron.schedule('*/15 * * * *', () => undefined, { name: String(index), suppressMissedWarning: true }),
    ),
  );
  say('ungrouped: memory', `${(heapMb() - before).toFixed(1)} MB`);
  say('ungrouped: CPU a minute while nothing is due', ms(await idleCpuMs()));
  for (const task of tasks) await task.destroy();
}

async function fill(connection: Connection, names: string): Promise<void> {
  const query = (text: string, values?: readonly string[]) => connection.query(text, values);
  await query(`truncate safety_sync.runs, safety_sync.stream_state, safety_sync.data_issues`);
  await query(
    `insert into safety_sync.stream_state (account_id, stream, last_success_at, watermark)
     select a, s, now() - interval '1 minute', now() from unnest($1::text[]) a, unnest($2::text[]) s`,
    [names, `{${STREAM_NAMES.join(',')}}`],
  );
  await query(
    `insert into safety_sync.runs (account_id, stream, kind, trigger, status, started_at, finished_at, owner, program_version)
     select a, s, 'sync', 'schedule', case when r % 7 = 0 then 'failed' else 'succeeded' end, now() - r * interval '15 minutes', now(), 'bench', '1.0.0'
     from generate_series(${RUNS_OF_A_STREAM}, 1, -1) r, unnest($1::text[]) a, unnest($2::text[]) s`,
    [names, `{${STREAM_NAMES.join(',')}}`],
  );
  await query('vacuum analyze safety_sync.runs, safety_sync.stream_state');
}

async function measureStatus(connection: Connection, config: Config): Promise<void> {
  const ids = config.accounts.map(({ accountId }) => accountId);
  await fill(connection, `{${ids.join(',')}}`);
  await readAccounts(connection, ids);
  const seen = await sayTime('look at the warehouse', () => readAccounts(connection, ids));
  const accounts = ids.map((id): AccountFacts => ({
    account: {
      id,
      offReasons: {},
      health: { outage: undefined, openCircuits: [] },
      config: {
        service: undefined,
        equipmentTypes: [],
        reportingTimezone: null,
        schedule: { timezone: 'UTC' },
      },
    },
    progress: new Map(),
    pressure: null,
  }));
  const build = () =>
    buildStatus({
      freshnessBudgetMinutes: 60,
      owner: 'bench',
      nowMs: Date.now(),
      startedMs: Date.now(),
      worker: 'running',
      isSchedulerAlive: true,
      warehouse: { accountsRead: seen, counted: null, countedAtMs: null, problem: null, isSlow: false },
      databaseOutage: undefined,
      alerts: { open: 0, channels: [], failedReports: [] },
      keeping: { deletedDays: null, runsDays: null, issuesDays: null, omitted: [], pseudonyms: [] },
      queue: { slots: SLOTS, running: 0, unhealthy: 0, waiting: 0, longestWaitMs: 0 },
      accounts,
      nextRuns: null,
    });
  const status = await sayTime('status', build);
  const { value: page, ms: pageMs } = await timed(() => renderStatus(pageOf(status, 1, 50), 'n'));
  say('status page', `${ms(pageMs)}, ${(page.length / 1024).toFixed(0)} kB`);
  const metrics = createMetrics({ accountIds: ids });
  const { value: text, ms: metricsMs } = await timed(() => metrics.render(status));
  say('metrics', `${ms(metricsMs)}, ${(text.length / 1024).toFixed(0)} kB`);
  metrics.close();
  await sayTime('`status` of all accounts', () =>
    Promise.all([
      readAccounts(connection, ids),
      readLastRuns(connection.db, ids),
      countRows(connection.db, ids),
    ]),
  );
}

async function measureLocks(databaseUrl: string, config: Config): Promise<void> {
  const some = config.accounts.slice(0, MOST_REAL);
  const limit = pLimit(SLOTS);
  const { ms: tookMs } = await timed(() =>
    Promise.all(
      some.map(({ accountId }) =>
        limit(async () => {
          const session = await openStreamSession({
            databaseUrl,
            accountId,
            stream: 'users',
            whenBusy: 'skip',
          });
          await session?.close();
        }),
      ),
    ),
  );
  say('sessions with a lock, opened and closed', `${((some.length / tookMs) * 1000).toFixed(0)} a second`);
}

/** Two syncs of every account; the second one finds no change, like most syncs. */
async function measureRuns(app: App): Promise<void> {
  const some = app.accounts.slice(0, MOST_REAL);
  const limit = pLimit(SLOTS);
  for (const what of ['first', 'unchanged']) {
    const cpu = process.cpuUsage();
    const { ms: tookMs } = await timed(() =>
      Promise.all(
        some.map((account) =>
          limit(async () => {
            const result = await runStream(account.runContext(), {
              stream: 'resources',
              kind: 'sync',
              trigger: 'schedule',
            });
            if (result.outcome !== 'succeeded') throw new Error(`${account.id}: ${result.outcome}`);
          }),
        ),
      ),
    );
    const { user, system } = process.cpuUsage(cpu);
    const each = `${((user + system) / 1000 / some.length).toFixed(1)} ms CPU each, sandbox included`;
    say(`runs of 25 records, ${what}`, `${((some.length / tookMs) * 1000).toFixed(0)} a second; ${each}`);
  }
}

async function measure(
  count: number,
  fixture: { folder: string; url: string; sandbox: Sandbox },
): Promise<void> {
  process.stdout.write(`${count} accounts\n`);
  const path = join(fixture.folder, `accounts-${count}.json`);
  const entries = Array.from({ length: count }, (_, index) => ({
    name: `account-${index}`,
    base_url: fixture.sandbox.url,
    token: fixture.sandbox.token,
    equipment_types: fixture.sandbox.equipmentTypes,
  }));
  await writeFile(path, JSON.stringify(entries));
  const env = { SAFETY_ACCOUNTS_FILE: path, DATABASE_URL: fixture.url, LOG_LEVEL: 'silent' };
  const before = heapMb();
  const config = await sayTime('configuration', () =>
    loadConfig(env, { needsService: true, isTerminal: false }),
  );
  const { signal } = new AbortController();
  const { value: app, ms: appMs } = await timed(() => createApp({ config, signal, say: () => undefined }));
  say('accounts made', `${ms(appMs)}, ${(heapMb() - before).toFixed(1)} MB with the configuration`);
  await sayTime('migrate (nothing to do but time zones)', () => app.migrate());
  await measureSchedules(config);
  await measureUngrouped(count);
  const connection = openConnection({ url: fixture.url, applicationName: 'bench', max: 3 });
  await measureStatus(connection, config);
  await measureLocks(fixture.url, config);
  await measureRuns(app);
  say(
    'memory after that',
    `${heapMb().toFixed(0)} MB heap, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB in all`,
  );
  await connection.close();
  await app.close();
}

const counts = process.argv.slice(2).map(Number);
const folder = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
const server = await startServer();
const warehouse = await server.createWarehouse();
const sandbox = await createSandbox({
  size: { followups: 10, employees: 10, equipment: 10, resources: 25, users: 10 },
});
try {
  for (const count of counts.length > 0 ? counts : [10, 100, 1_000, 10_000]) {
    await measure(count, { folder, url: warehouse.url, sandbox });
  }
} finally {
  await sandbox.close();
  await warehouse.drop();
  await server.close();
  await rm(folder, { recursive: true, force: true });
}
