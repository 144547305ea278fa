/** The gauges of `/metrics`: name, help text and value in a Status. */
import { Gauge, type Registry } from 'prom-client';
import type { StreamDetail } from './account-detail.ts';
import type { AccountStatus, Status } from './build-status.ts';
import type { Level, StreamStatus } from './status.ts';

export const METRIC_PREFIX = 'safety_sync_';

/**
 * With more accounts than this, a time series per account and stream would overload Prometheus. Counters are then summed
 * over all accounts (label `account` is empty), and gauges show unhealthy accounts only.
 */
export const MOST_LABELLED_ACCOUNTS = 200;
/** Most unhealthy accounts with gauges of their own, for outages that affect all accounts. */
const MOST_UNHEALTHY_ACCOUNTS = 500;
const LEVELS: readonly Level[] = ['good', 'busy', 'warning', 'bad'];

/** null: the series is absent. */
type Value = number | boolean | null;
type GaugesOf<Subject> = Readonly<
  Record<string, readonly [help: string, value: (subject: Subject, nowMs: number) => Value]>
>;

const secondsSince = (ms: number | null, nowMs: number): number | null =>
  ms === null ? null : Math.max(0, (nowMs - ms) / 1000);

const OF_STREAM: GaugesOf<StreamStatus | StreamDetail> = {
  last_success_timestamp_seconds: [
    'When the stream last succeeded, by any worker; absent when never.',
    ({ lastSuccessMs }) => (lastSuccessMs === null ? null : lastSuccessMs / 1000),
  ],
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
  live_rows: [
    'Records in the warehouse; estimated for large tables.',
    (stream) => ('rows' in stream ? stream.rows : null),
  ],
  running: ['1 while a run of the stream is under way, by any worker.', ({ running }) => running !== null],
};

const OF_ACCOUNT: GaugesOf<AccountStatus> = {
  api_requests_in_flight: ['Requests to the service under way.', ({ service }) => service?.inFlight ?? null],
  api_requests_waiting: ['Requests that wait for their turn.', ({ service }) => service?.waiting ?? null],
  api_blocked: [
    '1 while no request starts because the service responded rate_limit_exceeded.',
    ({ blockedUntilMs }, nowMs) => blockedUntilMs !== null && blockedUntilMs > nowMs,
  ],
  credentials_refused: [
    '1 while the service refuses the credentials, for all streams or one.',
    ({ refusals }) => refusals.length > 0,
  ],
  service_outage: [
    '1 while runs fail because the service cannot be reached or used.',
    ({ outages }) => outages.some(({ dependency }) => dependency === 'service'),
  ],
};

const OF_PROCESS: GaugesOf<Status> = {
  database_up: [
    '1 while the warehouse responds; 0 also when its state could not be read for two minutes.',
    ({ database }) => database.isUp && !database.isTooOld,
  ],
  pending_migrations: [
    'Migrations of this program that the warehouse lacks; absent when unknown.',
    ({ database }) => database.pendingMigrations,
  ],
  ready: ['Whether /readyz reports ready.', ({ isReady }) => isReady],
  alerts_open: ['Open alerts, sent or not yet sent.', ({ alerts }) => alerts.open],
  alerts_waiting: [
    'Alerts that a webhook or mail server has not accepted yet.',
    ({ alerts }) => alerts.channels.reduce((sum, { waiting }) => sum + waiting, 0),
  ],
  alerts_arrive: [
    '0 while a webhook or mail server accepts no alerts; absent without channels.',
    ({ alerts: { channels } }) =>
      channels.length === 0 ? null : channels.every(({ problem }) => problem === null),
  ],
  run_slots: ['Most runs at once in this worker.', ({ queue }) => queue.slots],
  runs_active: ['Runs of this worker under way.', ({ queue }) => queue.running],
  runs_waiting: ['Runs of this worker that wait for a slot.', ({ queue }) => queue.waiting],
};

export type AccountLabel = { readonly account?: string };

/** Resets all gauges first, so that series of recovered accounts disappear. */
export function createGauges(registers: Registry[]): (status: Status) => void {
  const all: Gauge[] = [];
  const gauge = (name: string, help: string, labels: readonly string[]): Gauge => {
    const made = new Gauge({
      name: `${METRIC_PREFIX}${name}`,
      help,
      labelNames: [...labels, 'account'],
      registers,
    });
    all.push(made);
    return made;
  };
  const setterOf = <Subject>(declared: GaugesOf<Subject>, labels: readonly string[]) => {
    const gauges = Object.entries(declared).map(
      ([name, [help, value]]) => [gauge(name, help, labels), value] as const,
    );
    return (subject: Subject, nowMs: number, label: Readonly<Record<string, string>>): void => {
      for (const [one, value] of gauges) {
        const now = value(subject, nowMs);
        if (now !== null) one.set(label, Number(now));
      }
    };
  };
  const setStream = setterOf(OF_STREAM, ['stream']);
  const setAccount = setterOf(OF_ACCOUNT, []);
  const setProcess = setterOf(OF_PROCESS, []);
  const states = gauge('accounts', 'Accounts of this worker, by their state.', ['state']);

  return (status) => {
    for (const one of all) one.reset();
    const { nowMs, accounts, accountCount, counts } = status;
    setProcess(status, nowMs, {});
    // A single account uses the default label; of several, the unhealthy ones are shown with their own labels.
    const isMany = accountCount > 1;
    for (const state of isMany ? LEVELS : []) states.set({ state }, counts[state]);
    const shown =
      accountCount <= MOST_LABELLED_ACCOUNTS
        ? accounts
        : accounts.filter(({ verdict }) => verdict.level === 'bad').slice(0, MOST_UNHEALTHY_ACCOUNTS);
    for (const account of shown) {
      const label: AccountLabel = isMany ? { account: account.accountId } : {};
      setAccount(account, nowMs, label);
      for (const stream of account.detail?.streams ?? account.streams) {
        setStream(stream, nowMs, { stream: stream.stream, ...label });
      }
    }
  };
}
