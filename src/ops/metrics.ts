/** Everything that `/metrics` says. Counters grow with the runs of this process; gauges are set from the Status value. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { RunResult } from '../sync/run.ts';
import type { RunKind } from '../warehouse/control-tables.ts';
import { freshnessSeconds } from './build-status.ts';
import type { Status } from './status.ts';

export type SkippedFiring = 'running' | 'missed' | 'credentials_refused';

export interface Metrics {
  noteRun(kind: RunKind, result: RunResult): void;
  noteSkippedFiring(stream: StreamName, reason: SkippedFiring): void;
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
  readonly accountId: string;
}

function buildCounters(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter<Label>({ name: `${PREFIX}${name}`, help, labelNames: [...labelNames], registers });
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
    refusals: counter('rate_limit_refusals_total', 'Answers of the service that said rate_limit_exceeded.', [
      'stream',
    ]),
    repaired: counter(
      'repaired_by_reconcile_total',
      'Changes that a reconcile found and an earlier sync should have brought. Should stay 0.',
      ['stream'],
    ),
    skipped: counter(
      'skipped_firings_total',
      'Firings of a schedule that led to no run: still running, missed (made up for at once), credentials refused.',
      ['stream', 'reason'],
    ),
    duration: new Histogram({
      name: `${PREFIX}run_duration_seconds`,
      help: 'How long runs took that succeeded or failed.',
      labelNames: ['stream', 'kind'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    }),
  };
}

function buildGauges(registers: Registry[]) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `${PREFIX}${name}`, help, labelNames, registers });
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
    openIssues: gauge('open_data_issues', 'Data issues that have not come right.', ['stream']),
    rows: gauge('live_rows', 'Records in the warehouse; estimated for large tables.', ['stream']),
    running: gauge('running', '1 while a run of the stream is under way, by any worker.', ['stream']),
    concurrency: gauge('api_concurrency_now', 'Most requests in flight at present; lower after rate limits.'),
    inFlight: gauge('api_requests_in_flight', 'Requests to the service under way.'),
    waiting: gauge('api_requests_waiting', 'Requests that wait for their turn.'),
    cooling: gauge('api_cooling', '1 while nothing is asked because the service said rate_limit_exceeded.'),
    databaseUp: gauge('database_up', '1 when the warehouse answered the last time it was asked.'),
    pending: gauge('pending_migrations', 'Migrations of this program that the warehouse lacks.'),
    refused: gauge(
      'credentials_refused',
      '1 while the service refuses the credentials, for all streams or one.',
    ),
    serviceOutage: gauge(
      'service_outage',
      '1 while runs fail because the service cannot be reached or used.',
    ),
    schedulerUp: gauge('scheduler_up', '1 while schedules fire.'),
    ready: gauge('ready', 'What /readyz says.'),
    build: gauge('build_info', 'Always 1; the labels tell the version.', ['version', 'node']),
  };
}

type Gauges = ReturnType<typeof buildGauges>;

function setGauges(gauges: Gauges, status: Status): void {
  const flag = (value: boolean): number => (value ? 1 : 0);
  for (const stream of status.streams) {
    const labels = { stream: stream.stream };
    const seconds = freshnessSeconds(stream, status.nowMs);
    if (stream.lastSuccessMs !== null) gauges.lastSuccess.set(labels, stream.lastSuccessMs / 1000);
    if (seconds !== undefined) gauges.freshness.set(labels, seconds);
    gauges.stale.set(labels, flag(stream.isScheduled && stream.freshness !== 'fresh'));
    if (stream.watermarkMs !== null) {
      gauges.watermarkAge.set(labels, Math.max(0, (status.nowMs - stream.watermarkMs) / 1000));
    }
    gauges.openIssues.set(labels, stream.openIssues);
    if (stream.rows !== null) gauges.rows.set(labels, stream.rows);
    gauges.running.set(labels, flag(stream.running !== null));
  }
  gauges.concurrency.set(status.service.concurrencyNow);
  gauges.inFlight.set(status.service.inFlight);
  gauges.waiting.set(status.service.waiting);
  gauges.cooling.set(flag(status.service.coolingUntilMs !== null));
  gauges.databaseUp.set(flag(status.database.isUp));
  gauges.pending.set(status.database.pendingMigrations ?? 0);
  gauges.refused.set(flag(status.refusals.length > 0));
  gauges.serviceOutage.set(flag(status.outages.some(({ dependency }) => dependency === 'service')));
  gauges.schedulerUp.set(flag(status.isSchedulerAlive));
  gauges.ready.set(flag(status.isReady));
}

export function createMetrics({ version, accountId }: MetricsOptions): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ account: accountId });
  collectDefaultMetrics({ register: registry });
  const counters = buildCounters([registry]);
  const gauges = buildGauges([registry]);
  gauges.build.set({ version, node: process.version }, 1);
  // A counter that is not there until it counts cannot be alarmed on: its first step would be missed.
  for (const stream of STREAM_NAMES) {
    for (const status of ['succeeded', 'failed', 'skipped'])
      counters.runs.inc({ stream, kind: 'sync', status }, 0);
    for (const op of ROW_OPERATIONS) counters.rows.inc({ stream, op }, 0);
    for (const one of [counters.requests, counters.retries, counters.refusals, counters.repaired])
      one.inc({ stream }, 0);
    counters.skipped.inc({ stream, reason: 'running' }, 0);
  }

  return {
    noteRun(kind, result) {
      const { stream, outcome, counts } = result;
      counters.runs.inc({ stream, kind, status: outcome });
      for (const op of ROW_OPERATIONS) counters.rows.inc({ stream, op }, counts[op]);
      counters.requests.inc({ stream }, result.requests);
      counters.retries.inc({ stream }, result.retries);
      counters.refusals.inc({ stream }, result.refusals);
      counters.repaired.inc({ stream }, result.repaired ?? 0);
      if (outcome !== 'skipped') counters.duration.observe({ stream, kind }, result.durationMs / 1000);
    },
    noteSkippedFiring: (stream, reason) => counters.skipped.inc({ stream, reason }),
    async render(status) {
      setGauges(gauges, status);
      return await registry.metrics();
    },
    contentType: registry.contentType,
    close: () => registry.clear(),
  };
}
