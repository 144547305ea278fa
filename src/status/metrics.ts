/** Everything that `/metrics` says. Counters grow with the runs of this process; gauges are set from the Status value. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { RunResult } from '../sync/run.ts';
import type { RunKind } from '../streams/state.ts';
import type { AccountStatus, Level, ProcessStatus, Status } from './status.ts';

export type SkippedTick = 'running' | 'waiting' | 'missed' | 'credentials_refused';

export interface Metrics {
  recordRun(accountId: string, kind: RunKind, result: RunResult): void;
  recordSkippedTick(accountId: string, stream: StreamName, reason: SkippedTick): void;
  /** The text that Prometheus reads. */
  render(status: Status): Promise<string>;
  readonly contentType: string;
  close(): void;
}

const PREFIX = 'safety_sync_';
const DURATION_BUCKETS_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400];
const ROW_OPERATIONS = ['inserted', 'updated', 'unchanged', 'deleted', 'rejected'] as const;

export interface MetricsOptions {
  readonly version: string;
  readonly accountIds: readonly string[];
}

/**
 * With more accounts than this a time series for each account and stream would be more than Prometheus wants: counters
 * then count all accounts together (label `account` is empty), and gauges tell of unhealthy accounts only.
 */
export const MOST_LABELLED_ACCOUNTS = 200;
/** When the service or the network is down for all of them. */
const MOST_UNHEALTHY_ACCOUNTS = 500;
const LEVELS: readonly Level[] = ['good', 'busy', 'warning', 'bad'];

function buildCounters(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter<Label | 'account'>({
      name: `${PREFIX}${name}`,
      help,
      labelNames: [...labelNames, 'account'],
      registers,
    });
  return {
    runs: counter('runs_total', 'Runs of this worker that ended, by stream, kind and how they ended.', [
      'stream',
      'kind',
      'status',
    ]),
    rows: counter('rows_total', 'Records of ended runs, by what was done with them.', ['stream', 'op']),
    requests: counter('requests_total', 'Requests to the service in ended runs, repeated ones included.', [
      'stream',
    ]),
    retries: counter('retries_total', 'Requests to the service that repeated a failed one.', ['stream']),
    throttled: counter(
      'throttled_responses_total',
      'Responses of the service that said rate_limit_exceeded.',
      ['stream'],
    ),
    repaired: counter(
      'repaired_by_reconcile_total',
      'Changes that an earlier sync missed and a reconcile found. Should stay 0.',
      ['stream'],
    ),
    skipped: counter(
      'skipped_ticks_total',
      'Ticks of a schedule that led to no run: still running, still waiting for a slot, missed (made up for at once), credentials refused.',
      ['stream', 'reason'],
    ),
    duration: new Histogram({
      name: `${PREFIX}run_duration_seconds`,
      help: 'How long runs took that succeeded or failed.',
      labelNames: ['stream', 'kind', 'account'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    }),
  };
}

function buildGauges(registers: Registry[]) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `${PREFIX}${name}`, help, labelNames: [...labelNames, 'account'], registers });
  return {
    lastSuccess: gauge(
      'last_success_timestamp_seconds',
      'When the stream last succeeded, by any worker; absent when never.',
      ['stream'],
    ),
    freshness: gauge('freshness_seconds', 'Time since the last success; absent when there was none.', [
      'stream',
    ]),
    stale: gauge(
      'stale',
      '1 when a scheduled stream never succeeded or its last success is older than FRESHNESS_BUDGET_MINUTES.',
      ['stream'],
    ),
    watermarkAge: gauge(
      'watermark_age_seconds',
      'Age of the newest change known to be stored. Grows also while the source stands still.',
      ['stream'],
    ),
    openIssues: gauge('open_data_issues', 'Open data issues.', ['stream']),
    rows: gauge('live_rows', 'Records in the warehouse; estimated for large tables.', ['stream']),
    running: gauge('running', '1 while a run of the stream is under way, by any worker.', ['stream']),
    concurrency: gauge('api_concurrency_now', 'Most requests in flight at present; lower after rate limits.'),
    inFlight: gauge('api_requests_in_flight', 'Requests to the service under way.'),
    waiting: gauge('api_requests_waiting', 'Requests that wait for their turn.'),
    cooling: gauge('api_cooling', '1 while nothing is asked because the service said rate_limit_exceeded.'),
    databaseUp: gauge(
      'database_up',
      '1 while the warehouse answers; 0 also when its state could not be read for two minutes.',
    ),
    pending: gauge('pending_migrations', 'Migrations of this program that the warehouse lacks.'),
    refused: gauge(
      'credentials_refused',
      '1 while the service refuses the credentials, for all streams or one.',
    ),
    serviceOutage: gauge(
      'service_outage',
      '1 while runs fail because the service cannot be reached or used.',
    ),
    schedulerUp: gauge('scheduler_up', '1 while schedules start runs.'),
    ready: gauge('ready', 'What /readyz says.'),
    runSlots: gauge('run_slots', 'Most runs at once in this worker: SYNC_CONCURRENCY.'),
    runsActive: gauge('runs_active', 'Runs of this worker under way.'),
    runsUnhealthy: gauge(
      'runs_unhealthy',
      'Of those, runs whose service does not respond; their slots are given to others.',
    ),
    runsWaiting: gauge('runs_waiting', 'Runs of this worker that wait for a slot.'),
    longestWait: gauge('run_longest_wait_seconds', 'How long the run that has waited longest has waited.'),
    accounts: gauge('accounts', 'Accounts of this worker, by their state.', ['state']),
    build: gauge('build_info', 'Always 1; the labels tell the version.', ['version', 'node']),
  };
}

type Gauges = ReturnType<typeof buildGauges>;

const flag = (value: boolean): number => (value ? 1 : 0);

type AccountLabel = { readonly account?: string };

function setAccountGauges(
  gauges: Gauges,
  account: AccountStatus,
  { nowMs, label }: { readonly nowMs: number; readonly label: AccountLabel },
): void {
  for (const stream of account.streams) {
    const labels = { stream: stream.stream, ...label };
    if (stream.lastSuccessMs !== null) {
      gauges.lastSuccess.set(labels, stream.lastSuccessMs / 1000);
      gauges.freshness.set(labels, Math.max(0, (nowMs - stream.lastSuccessMs) / 1000));
    }
    gauges.stale.set(labels, flag(stream.isScheduled && stream.freshness !== 'fresh'));
    if (stream.watermarkMs !== null) {
      gauges.watermarkAge.set(labels, Math.max(0, (nowMs - stream.watermarkMs) / 1000));
    }
    gauges.openIssues.set(labels, stream.openIssues);
    gauges.running.set(labels, flag(stream.running !== null));
  }
  for (const { stream, rows } of account.detail?.streams ?? []) {
    if (rows !== null) gauges.rows.set({ stream, ...label }, rows);
  }
  if (account.service !== null) {
    gauges.concurrency.set(label, account.service.concurrencyNow);
    gauges.inFlight.set(label, account.service.inFlight);
    gauges.waiting.set(label, account.service.waiting);
    gauges.cooling.set(label, flag(account.service.coolingUntilMs !== null));
  }
  gauges.refused.set(label, flag(account.openCircuits.length > 0));
  gauges.serviceOutage.set(label, flag(account.outages.some(({ dependency }) => dependency === 'service')));
}

function setProcessGauges(gauges: Gauges, status: ProcessStatus): void {
  gauges.databaseUp.set(flag(status.database.isUp && !status.database.isTooOld));
  gauges.pending.set(status.database.pendingMigrations ?? 0);
  gauges.schedulerUp.set(flag(status.isSchedulerAlive));
  gauges.ready.set(flag(status.isReady));
  gauges.runSlots.set(status.queue.slots);
  gauges.runsActive.set(status.queue.running);
  gauges.runsUnhealthy.set(status.queue.unhealthy);
  gauges.runsWaiting.set(status.queue.waiting);
  gauges.longestWait.set(status.queue.longestWaitMs / 1000);
}

/** Of one account everything is told, under the default label; of many the unhealthy ones, each under its own. */
function setGauges(gauges: Gauges, status: Status): void {
  const { accounts, accountCount, counts, nowMs } = status;
  // Series of accounts that recovered must not stay: all are set anew.
  for (const gauge of Object.values(gauges)) if (gauge !== gauges.build) gauge.reset();
  setProcessGauges(gauges, status);
  const [only] = accounts;
  if (accountCount === 1 && only !== undefined) {
    setAccountGauges(gauges, only, { nowMs, label: {} });
    return;
  }
  for (const level of LEVELS) gauges.accounts.set({ state: level }, counts[level]);
  const told =
    accountCount <= MOST_LABELLED_ACCOUNTS
      ? accounts
      : accounts.filter(({ verdict }) => verdict.level === 'bad').slice(0, MOST_UNHEALTHY_ACCOUNTS);
  for (const account of told) {
    setAccountGauges(gauges, account, { nowMs, label: { account: account.accountId } });
  }
}

export function createMetrics({ version, accountIds }: MetricsOptions): Metrics {
  const registry = new Registry();
  const [only] = accountIds;
  const isSingle = accountIds.length === 1;
  // Of one account everything is told, the process included.
  if (isSingle && only !== undefined) registry.setDefaultLabels({ account: only });
  collectDefaultMetrics({ register: registry });
  const counters = buildCounters([registry]);
  const gauges = buildGauges([registry]);
  gauges.build.set({ version, node: process.version }, 1);
  const labelOf = (accountId: string): AccountLabel => {
    if (isSingle) return {};
    return { account: accountIds.length <= MOST_LABELLED_ACCOUNTS ? accountId : '' };
  };
  // A counter that is not there until it counts cannot be alarmed on: its first step would be missed.
  const labelled = new Map(accountIds.map((accountId) => [labelOf(accountId).account, labelOf(accountId)]));
  for (const label of labelled.values()) startCounters(counters, label);

  return {
    recordRun(accountId, kind, result) {
      const { stream, outcome, counts } = result;
      const label = labelOf(accountId);
      counters.runs.inc({ stream, kind, status: outcome, ...label });
      for (const op of ROW_OPERATIONS) counters.rows.inc({ stream, op, ...label }, counts[op]);
      const labels = { stream, ...label };
      counters.requests.inc(labels, result.requests);
      counters.retries.inc(labels, result.retries);
      counters.throttled.inc(labels, result.refusals);
      counters.repaired.inc(labels, result.repaired ?? 0);
      if (outcome !== 'skipped')
        counters.duration.observe({ stream, kind, ...label }, result.durationMs / 1000);
    },
    recordSkippedTick: (accountId, stream, reason) =>
      counters.skipped.inc({ stream, reason, ...labelOf(accountId) }),
    async render(status) {
      setGauges(gauges, status);
      return await registry.metrics();
    },
    contentType: registry.contentType,
    close: () => registry.clear(),
  };
}

function startCounters(counters: ReturnType<typeof buildCounters>, label: AccountLabel): void {
  for (const stream of STREAM_NAMES) {
    for (const status of ['succeeded', 'failed', 'skipped'])
      counters.runs.inc({ stream, kind: 'sync', status, ...label }, 0);
    for (const op of ROW_OPERATIONS) counters.rows.inc({ stream, op, ...label }, 0);
    for (const one of [counters.requests, counters.retries, counters.throttled, counters.repaired])
      one.inc({ stream, ...label }, 0);
    counters.skipped.inc({ stream, reason: 'running', ...label }, 0);
  }
}
