/** The metrics of `/metrics`: counters of this worker's runs, gauges of the Status, and those of the process itself. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { RunResult } from '../../engine/sync/run.ts';
import type { RunKind } from '../../engine/streams/state.ts';
import { VERSION } from '../../version.ts';
import { type AccountLabel, createGauges, METRIC_PREFIX } from './gauges.ts';
import type { Status } from './status.ts';

type SkippedTick = 'running' | 'waiting' | 'credentials_refused';

const DURATION_BUCKETS_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400];
const ROW_OPERATIONS = ['inserted', 'updated', 'unchanged', 'deleted', 'rejected'] as const;

function buildCounters(registers: Registry[]) {
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Counter<Label | 'account'>({
      name: `${METRIC_PREFIX}${name}`,
      help,
      labelNames: [...labels, 'account'],
      registers,
    });
  const ofStream = (name: string, help: string) => counter(name, help, ['stream']);
  return {
    runs: counter('runs_total', 'Runs of this worker that ended, by stream, kind and how they ended.', [
      'stream',
      'kind',
      'status',
    ]),
    rows: counter('rows_total', 'Records of ended runs, by what was done with them.', ['stream', 'op']),
    requests: ofStream('requests_total', 'Requests to the service in ended runs, repeated ones included.'),
    retries: ofStream('retries_total', 'Requests to the service that repeated a failed one.'),
    throttled: ofStream('throttled_responses_total', 'Responses of the service with rate_limit_exceeded.'),
    repaired: ofStream(
      'repaired_by_reconcile_total',
      'Changes that an earlier sync missed and a reconcile found. Should stay 0.',
    ),
    skipped: counter(
      'skipped_ticks_total',
      'Ticks of a schedule that led to no run: still running, still waiting for a slot, credentials refused.',
      ['stream', 'reason'],
    ),
    duration: new Histogram({
      name: `${METRIC_PREFIX}run_duration_seconds`,
      help: 'How long runs took that succeeded or failed.',
      labelNames: ['stream', 'kind', 'account'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(accountIds: readonly string[]) {
  const registry = new Registry();
  const [only] = accountIds.length === 1 ? accountIds : [];
  if (only !== undefined) registry.setDefaultLabels({ account: only });
  collectDefaultMetrics({ register: registry });
  const counters = buildCounters([registry]);
  const setGauges = createGauges([registry]);
  new Gauge({
    name: `${METRIC_PREFIX}build_info`,
    help: 'Always 1; the labels show the version.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: VERSION, node: process.version }, 1);
  const labelOf = (account: string): AccountLabel => (only === undefined ? { account } : {});
  // Counters start at 0, because alert rules would miss the first increment of a new series.
  for (const accountId of accountIds) startCounters(counters, labelOf(accountId));

  return {
    recordRun(accountId: string, kind: RunKind, result: RunResult) {
      const { stream, outcome, counts } = result;
      const label = labelOf(accountId);
      counters.runs.inc({ stream, kind, status: outcome, ...label });
      for (const op of ROW_OPERATIONS) counters.rows.inc({ stream, op, ...label }, counts[op]);
      const labels = { stream, ...label };
      counters.requests.inc(labels, result.requests);
      counters.retries.inc(labels, result.retries);
      counters.throttled.inc(labels, result.throttled);
      counters.repaired.inc(labels, result.repaired ?? 0);
      if (outcome !== 'skipped')
        counters.duration.observe({ stream, kind, ...label }, result.durationMs / 1000);
    },
    recordSkippedTick: (accountId: string, stream: StreamName, reason: SkippedTick) =>
      counters.skipped.inc({ stream, reason, ...labelOf(accountId) }),
    /** Renders the Prometheus text format. */
    async render(status: Status) {
      setGauges(status);
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
