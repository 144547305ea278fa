/** One account of the service: the settings that differ between accounts of one warehouse. */
import { isIP } from 'node:net';
import type { TokenSource } from '../shared/token-source.ts';
import { STREAMS } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';

interface ServiceConfig {
  /** Without `/v1` and without a slash at the end. */
  readonly baseUrl: string;
  readonly token: string;
  /** The file with the token; absent: the configuration itself has it. */
  readonly tokenFile?: string | undefined;
  /** The account's name in the accounts file; absent where the variables describe the account. */
  readonly entry?: string | undefined;
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

export type OffReason = 'no equipment types' | 'not scheduled';
export type OffReasons = Readonly<Partial<Record<StreamName, OffReason>>>;

/** Streams without a schedule, with the reason: they are neither stale nor failed. */
export function offReasonsOf({
  schedule,
  equipmentTypes,
}: Pick<AccountConfig, 'schedule' | 'equipmentTypes'>): OffReasons {
  const reasons: Partial<Record<StreamName, OffReason>> = {};
  for (const { name, readMode } of STREAMS) {
    const isByType = readMode.kind === 'snapshot' && readMode.per === 'equipment_type';
    if (isByType && equipmentTypes.length === 0) reasons[name] = 'no equipment types';
    else if ((schedule.streams[name] ?? null) === null) reasons[name] = 'not scheduled';
  }
  return reasons;
}

/** For advice: without the token. */
export const tokenSourceOf = ({ service }: Pick<AccountConfig, 'service'>): TokenSource => ({
  entry: service?.entry,
  tokenFile: service?.tokenFile,
});

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Plain http to another machine: every host on the way can read the requests. */
export const isPlainHttp = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !isLoopback(hostname);

/** Problems with a base URL that is a URL. `permission` names the setting that would allow plain http. */
export function baseUrlProblems(
  text: string,
  { allowsInsecureHttp, permission }: { readonly allowsInsecureHttp: boolean; readonly permission: string },
): string[] {
  const url = new URL(text);
  const problems: string[] = [];
  if (url.username !== '' || url.password !== '') problems.push('leave user and password out');
  if (/[?#]/.test(text)) problems.push('leave out what follows ? or #');
  if (/\/v1(\/|$)/.test(url.pathname)) {
    problems.push('leave /v1 out; the worker adds /v1/METHOD itself');
  }
  if (isPlainHttp(url) && !allowsInsecureHttp) {
    problems.push(
      `plain http:// to ${url.hostname} would send the token in the clear; use https://, or set ${permission}`,
    );
  }
  return problems;
}

export const withoutSlash = (baseUrl: string): string => baseUrl.replace(/\/+$/, '');
