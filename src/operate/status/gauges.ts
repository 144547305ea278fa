/** The gauges of `/metrics`: name, help text and value in a Status. */
import { Gauge, type Registry } from 'prom-client';
import type { StreamDetail } from './account-detail.ts';
import type { ProblemKind } from './problem.ts';
import type { StreamStatus } from './facts.ts';
import type { AccountStatus, Status } from './status.ts';

export const METRIC_PREFIX = 'safety_sync_';

/** null: the series is absent. */
type Value = number | boolean | null;
type GaugesOf<Subject> = Readonly<
  Record<string, readonly [help: string, value: (subject: Subject, nowMs: number) => Value]>
>;

const secondsSince = (ms: number | null, nowMs: number): number | null =>
  ms === null ? null : Math.max(0, (nowMs - ms) / 1000);

const has = ({ problems }: Pick<Status, 'problems'>, kind: ProblemKind): boolean =>
  problems.some((one) => one.kind === kind);

const OF_STREAM: GaugesOf<StreamStatus | StreamDetail> = {
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
  running: ['1 while a run of the stream is under way, by any worker.', ({ isRunning }) => isRunning],
};

const OF_ACCOUNT: GaugesOf<AccountStatus> = {
  api_requests_in_flight: ['Requests to the service under way.', ({ service }) => service?.inFlight ?? null],
  api_requests_waiting: ['Requests that wait for their turn.', ({ service }) => service?.waiting ?? null],
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

export type AccountLabel = { readonly account?: string };

/** Resets all gauges first, so that a value that is unknown disappears. */
export function createGauges(registers: Registry[]): (status: Status) => void {
  const all: Gauge[] = [];
  const setterOf = <Subject>(declared: GaugesOf<Subject>, labels: readonly string[]) => {
    const gauges = Object.entries(declared).map(([name, [help, value]]) => {
      const labelNames = [...labels, 'account'];
      const gauge = new Gauge({ name: `${METRIC_PREFIX}${name}`, help, labelNames, registers });
      all.push(gauge);
      return [gauge, value] as const;
    });
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

  return (status) => {
    for (const one of all) one.reset();
    const { nowMs, accounts } = status;
    setProcess(status, nowMs, {});
    for (const account of accounts) {
      // A single account is the default label.
      const label: AccountLabel = accounts.length > 1 ? { account: account.accountId } : {};
      setAccount(account, nowMs, label);
      for (const stream of account.detail?.streams ?? account.streams)
        setStream(stream, nowMs, { stream: stream.stream, ...label });
    }
  };
}
