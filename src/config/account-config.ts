/** One account of the service: the settings that differ between accounts of one warehouse. */
import { nameSome } from '../shared/format.ts';
import { isLoopback } from '../shared/loopback.ts';
import { streamNamed } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import type { ReadVariables } from './read-variables.ts';

interface ServiceConfig {
  /** Normalized: host in lower case, without the scheme's own port, without `/v1` and without a slash at the end. */
  readonly baseUrl: string;
  readonly token: string;
  /** The file with the token; absent: the configuration itself has it. */
  readonly tokenFile?: string | undefined;
}

export interface ScheduleConfig {
  readonly timezone: string;
  /** By stream; null: off. */
  readonly streams: Readonly<Record<StreamName, string | null>>;
  /** Schedule of the full refresh; null: off. */
  readonly reconcile: string | null;
}

export interface AccountConfig {
  /** `account_id` in every row. */
  readonly accountId: string;
  /** undefined: not configured; verbs that only read the warehouse do not need it. */
  readonly service: ServiceConfig | undefined;
  readonly equipmentTypes: readonly string[];
  /** The time zone of the views' days; null: not set, so the stored one stays, at first UTC. */
  readonly reportingTimezone: string | null;
  /** The organisation, for readers of its report; null: the account's name is shown. */
  readonly reportTitle: string | null;
  /** Recipients of its report by mail; undefined: those of REPORT_EMAIL_TO. */
  readonly reportEmailTo?: readonly string[] | undefined;
  readonly schedule: ScheduleConfig;
}

export type OffReason = 'no equipment types' | 'not offered' | 'not scheduled';

/** Why a stream is not synced by a schedule, so it is neither stale nor failed; null: it is. */
export function offReasonOf(
  { schedule, equipmentTypes }: Pick<AccountConfig, 'schedule' | 'equipmentTypes'>,
  /** `isOffered`: the service has the optional methods of the stream. */
  { stream, isOffered }: { readonly stream: StreamName; readonly isOffered: boolean },
): OffReason | null {
  if ((schedule.streams[stream] ?? null) === null) return 'not scheduled';
  if (isOffered) return null;
  if (streamNamed(stream).partitionedBy === undefined) return 'not offered';
  // Where the service does not list them.
  return equipmentTypes.length === 0 ? 'no equipment types' : null;
}

/** Half of what a customer of the service usually has for all its integrations. */
const USUAL_REQUESTS_PER_MINUTE = 40;

/** The request budget of a service. `setting`: API_REQUESTS_PER_MINUTE; null: off. Returns null where there is no limit. */
export function requestsPerMinuteOf(baseUrl: string, setting: number | null | undefined): number | null {
  if (setting !== undefined) return setting;
  return isLoopback(new URL(baseUrl).hostname) ? null : USUAL_REQUESTS_PER_MINUTE;
}

/** null: every account whose service is on another machine has a request budget. */
export function describeUnlimited(
  accounts: readonly Pick<AccountConfig, 'accountId' | 'service'>[],
  setting: number | null | undefined,
): string | null {
  const without = accounts.filter(
    ({ service }) => service !== undefined && !isLoopback(new URL(service.baseUrl).hostname),
  );
  if (setting !== null || without.length === 0) return null;
  const ids = without.map(({ accountId: id }) => id);
  const whose = accounts.length === 1 ? '' : ` for ${nameSome(ids, 5)}`;
  return `API_REQUESTS_PER_MINUTE=off: there is no request limit${whose}. Over its own limit the service refuses the requests of every integration of the customer`;
}

/** By plain http to another machine every host on the way can read the requests. `what` they send. */
export function requireHttps(
  { values, problems }: ReadVariables,
  name: 'SAFETY_BASE_URL' | 'ALERT_WEBHOOK_URL' | 'ALERT_HEARTBEAT_URL',
  what: string,
): void {
  const { protocol, hostname } = new URL(values[name] ?? 'https://unset');
  if (protocol === 'http:' && !isLoopback(hostname) && !values.SAFETY_ALLOW_INSECURE_HTTP)
    problems.push(
      `${name}: plain http:// to ${hostname} would send ${what} in the clear; use https://, or set SAFETY_ALLOW_INSECURE_HTTP=true`,
    );
}

/** The worker itself adds `/v1/METHOD`. Takes a usable base URL. */
export function normalizeBaseUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/(\/+v1)?\/*$/, '');
}
