/** The metrics of `/metrics`: counters of this worker's runs, gauges of the Status, and those of the process itself. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { RunResult } from '../../engine/sync/run.ts';
import type { RunKind } from '../../engine/streams/state.ts';
import { VERSION } from '../../version.ts';
import type { StreamStatus } from './facts.ts';
import type { ProblemKind } from './problem-words.ts';
import type { AccountStatus, Status } from './status.ts';

const PREFIX = 'safety_sync_';
const DURATION_BUCKETS_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400];
const ROW_OPERATIONS = ['inserted', 'updated', 'unchanged', 'deleted', 'rejected'] as const;

/** Counters, with their labels besides the account. */
const COUNTERS = {
  runs: [['stream', 'kind', 'status'], 'Runs of this worker that ended, by stream, kind and how they ended.'],
  rows: [['stream', 'op'], 'Records of ended runs, by what was done with them.'],
  requests: [['stream'], 'Requests to the service in ended runs, repeated ones included.'],
  retries: [['stream'], 'Requests to the service that repeated a failed one.'],
  throttled_responses: [['stream'], 'Responses of the service with rate_limit_exceeded.'],
  repaired_by_reconcile: [
    ['stream'],
    'Changes that a reconcile found and no sync had brought. Should stay 0.',
  ],
  skipped_ticks: [
    ['stream', 'reason'],
    'Ticks of a schedule that led to no run: running (still), credentials_refused.',
  ],
} as const;

/** null: the series is absent. */
type Value = number | boolean | null;
type GaugesOf<Subject> = Readonly<
  Record<string, readonly [help: string, value: (subject: Subject, nowMs: number) => Value]>
>;

const secondsSince = (ms: number | null, nowMs: number): number | null =>
  ms === null ? null : Math.max(0, (nowMs - ms) / 1000);

const has = ({ problems }: Pick<Status, 'problems'>, kind: ProblemKind): boolean =>
  problems.some((one) => one.kind === kind);

const OF_STREAM: GaugesOf<StreamStatus> = {
  freshness_seconds: [
    'Time since the last success; absent when there was none.',
    ({ lastSuccessMs }, nowMs) => secondsSince(lastSuccessMs, nowMs),
  ],
  stale: [
    '1 when a scheduled stream never succeeded or its last success is older than FRESHNESS_BUDGET_MINUTES.',
    ({ isScheduled, freshness }) => isScheduled && freshness !== 'fresh',
  ],
  watermark_age_seconds: [
    'Age of the newest change known to be stored. Grows also while the source does not change.',
    ({ watermarkMs }, nowMs) => secondsSince(watermarkMs, nowMs),
  ],
  open_data_issues: ['Open data issues.', ({ openIssues }) => openIssues],
  running: ['1 while a run of the stream is under way, by any worker.', ({ isRunning }) => isRunning],
};

const OF_ACCOUNT: GaugesOf<AccountStatus> = {
  api_blocked: [
    '1 while no request starts because the service responded rate_limit_exceeded.',
    (account) => has(account, 'request_limit'),
  ],
  credentials_refused: [
    '1 while the service refuses the credentials, for all streams or one.',
    (account) => has(account, 'credentials_refused'),
  ],
  service_outage: [
    '1 while the service cannot be reached or used.',
    (account) => has(account, 'service_away'),
  ],
};

const OF_PROCESS: GaugesOf<Status> = {
  database_up: ['1 while the warehouse responds.', ({ database }) => database.isUp],
  pending_migrations: [
    'Migrations of this program that the warehouse lacks; absent when unknown.',
    ({ database }) => database.pendingMigrations,
  ],
  ready: ['Whether /readyz reports ready.', ({ isReady }) => isReady],
  alerts_arrive: [
    '1 while every channel of alerts accepts them; absent without channels.',
    (status) => (status.alerts.channels.length === 0 ? null : !has(status, 'alerts_refused')),
  ],
};

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(accountIds: readonly string[]) {
  const registry = new Registry();
  const registers = [registry];
  // A single account is the default label.
  const [only] = accountIds.length === 1 ? accountIds : [];
  if (only !== undefined) registry.setDefaultLabels({ account: only });
  const labelOf = (account: string): { account?: string } => (only === undefined ? { account } : {});
  collectDefaultMetrics({ register: registry });
  const counters = Object.fromEntries(
    Object.entries(COUNTERS).map(([name, [labels, help]]) => [
      name,
      new Counter({ name: `${PREFIX}${name}_total`, help, labelNames: [...labels, 'account'], registers }),
    ]),
  ) as Record<keyof typeof COUNTERS, Counter>;
  const duration = new Histogram({
    name: `${PREFIX}run_duration_seconds`,
    help: 'How long runs took that succeeded or failed.',
    labelNames: ['stream', 'kind', 'account'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1; the labels show the version.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: VERSION, node: process.version }, 1);

  let shown: Status | null = null;
  /** `subjectsOf`: with the labels of each; an unknown value disappears. */
  function addGauges<Subject>(
    declared: GaugesOf<Subject>,
    labels: readonly string[],
    subjectsOf: (status: Status) => readonly (readonly [Subject, Readonly<Record<string, string>>])[],
  ): void {
    for (const [name, [help, value]] of Object.entries(declared))
      new Gauge({
        ...{ name: `${PREFIX}${name}`, help, labelNames: [...labels, 'account'], registers },
        collect() {
          this.reset();
          if (shown === null) return;
          for (const [subject, label] of subjectsOf(shown)) {
            const now = value(subject, shown.nowMs);
            if (now !== null) this.set(label, Number(now));
          }
        },
      });
  }
  addGauges(OF_PROCESS, [], (status) => [[status, {}]]);
  addGauges(OF_ACCOUNT, [], ({ accounts }) => accounts.map((one) => [one, labelOf(one.accountId)]));
  addGauges(OF_STREAM, ['stream'], ({ accounts }) =>
    accounts.flatMap(({ accountId, streams }) =>
      streams.map((one) => [one, { stream: one.stream, ...labelOf(accountId) }] as const),
    ),
  );

  // They start at 0, because alert rules would miss the first increment of a new series.
  for (const accountId of accountIds)
    for (const stream of STREAM_NAMES) {
      const label = { stream, ...labelOf(accountId) };
      for (const status of ['succeeded', 'failed']) counters.runs.inc({ ...label, kind: 'sync', status }, 0);
      counters.throttled_responses.inc(label, 0);
      counters.repaired_by_reconcile.inc(label, 0);
      counters.skipped_ticks.inc({ ...label, reason: 'running' }, 0);
    }

  return {
    recordRun(accountId: string, kind: RunKind, result: RunResult) {
      const { stream, outcome, counts } = result;
      const label = { stream, ...labelOf(accountId) };
      counters.runs.inc({ ...label, kind, status: outcome });
      for (const op of ROW_OPERATIONS) counters.rows.inc({ ...label, op }, counts[op]);
      counters.requests.inc(label, result.requests);
      counters.retries.inc(label, result.retries);
      counters.throttled_responses.inc(label, result.throttled);
      counters.repaired_by_reconcile.inc(label, result.repaired ?? 0);
      if (outcome !== 'skipped') duration.observe({ ...label, kind }, result.durationMs / 1000);
    },
    recordSkippedTick: (accountId: string, stream: StreamName, reason: 'running' | 'credentials_refused') =>
      counters.skipped_ticks.inc({ stream, reason, ...labelOf(accountId) }),
    /** Renders the Prometheus text format. */
    async render(status: Status) {
      shown = status;
      return await registry.metrics();
    },
    contentType: registry.contentType,
    close: () => registry.clear(),
  };
}
