/** One entry of the accounts file → one account, or everything that is wrong with it. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import {
  type AccountConfig,
  baseUrlProblems,
  type ScheduleConfig,
  toServiceConfig,
} from './account-config.ts';
import { shownPath, withoutUserinfo } from './shown.ts';
import { accountName, cron, EXPECTED, flag, namedTimezone, timezone, token, url } from './variables.ts';

/** What an entry that does not say otherwise takes from the variables. */
export interface AccountDefaults {
  readonly schedule: ScheduleConfig;
  readonly reportingTimezone: string;
  readonly allowsInsecureHttp: boolean;
}

export interface ParsedEntry {
  /** null: it has no usable one. */
  readonly name: string | null;
  /** null: something is wrong with it. */
  readonly account: AccountConfig | null;
  /** `key: what was expected, what there is`. */
  readonly problems: readonly string[];
  /** As it was read, right or wrong. */
  readonly token: string | null;
}

const KEYS = [
  'name',
  'base_url',
  'token',
  'token_file',
  'equipment_types',
  'schedule',
  'reporting_timezone',
  'allow_insecure_http',
] as const;
const SCHEDULE_KEYS = ['all', ...STREAM_NAMES, 'reconcile', 'timezone'] as const;
const baseUrl = url('https:', 'http:');
const types = z.union([
  z.array(z.string().min(1)),
  z.string().transform((text) =>
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  ),
]);

type Fields = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads keys of one map; an absent or empty one counts as not set. */
function createReader(fields: Fields, prefix: string, problems: string[]) {
  return {
    has: (key: string) => fields[key] != null && fields[key] !== '',
    text: (key: string) => (typeof fields[key] === 'string' ? fields[key] : null),
    read<T>(key: string, schema: z.ZodType<T>, expected: string): T | undefined {
      const value = fields[key];
      if (value == null || value === '') return undefined;
      const parsed = schema.safeParse(value);
      if (parsed.success) return parsed.data;
      const shown = typeof value === 'string' ? withoutUserinfo(JSON.stringify(value)) : 'something else';
      const got = key === 'token' ? 'something else (not shown)' : shown;
      problems.push(`${prefix}${key}: expected ${expected}, got ${got}`);
      return undefined;
    },
    /** A token under a key that is none would be shown as its name only. */
    refuseOthers(keys: readonly string[]) {
      for (const key of Object.keys(fields)) {
        if (!keys.includes(key)) problems.push(`${prefix}${key}: no such key; there are ${keys.join(', ')}`);
      }
    },
  };
}

type Reader = ReturnType<typeof createReader>;

function readToken(
  reader: Reader,
  folder: string,
  problems: string[],
): { text: string | null; token: string | undefined } {
  if (reader.has('token') && reader.has('token_file')) {
    problems.push('token: token_file is set, too: keep one of them');
    return { text: reader.text('token'), token: undefined };
  }
  if (reader.has('token'))
    return { text: reader.text('token'), token: reader.read('token', token, EXPECTED.token) };
  const path = reader.read(
    'token_file',
    z.string().regex(/^[^\0]+$/),
    'the path of a file that holds the token',
  );
  if (path === undefined) {
    if (!reader.has('token_file'))
      problems.push('token: expected a token, or token_file: the path of a file that holds it');
    return { text: null, token: undefined };
  }
  const file = resolve(folder, path);
  let text: string;
  try {
    text = readFileSync(file, 'utf8').replace(/\s+$/, '');
  } catch (error) {
    problems.push(
      `token_file: cannot read ${shownPath(path, file)} (${String((error as { code?: unknown }).code)})`,
    );
    return { text: null, token: undefined };
  }
  const parsed = token.safeParse(text);
  if (!parsed.success)
    problems.push(`token_file: expected ${EXPECTED.token} in ${file}, got something else (not shown)`);
  return { text, token: parsed.success ? parsed.data : undefined };
}

function readSchedule(value: unknown, defaults: ScheduleConfig, problems: string[]): ScheduleConfig {
  if (value == null || value === '') return defaults;
  // `schedule: off` is short for an account that is synced by hand only.
  const fields = value === 'off' ? { all: 'off', reconcile: 'off' } : value;
  if (!isMap(fields)) {
    problems.push('schedule: expected off, or a map from streams to cron expressions');
    return defaults;
  }
  const reader = createReader(fields, 'schedule.', problems);
  reader.refuseOthers(SCHEDULE_KEYS);
  const all = reader.read('all', cron, EXPECTED.cron);
  const streamCron = (stream: StreamName): string | null => {
    const own = reader.read(stream, cron, EXPECTED.cron);
    if (own !== undefined) return own;
    return all === undefined ? defaults.streams[stream] : all;
  };
  const streams = Object.fromEntries(STREAM_NAMES.map((stream) => [stream, streamCron(stream)]));
  const reconcile = reader.read('reconcile', cron, EXPECTED.cron);
  return {
    timezone: reader.read('timezone', timezone, EXPECTED.timezone) ?? defaults.timezone,
    streams: streams as ScheduleConfig['streams'],
    reconcile: reconcile === undefined ? defaults.reconcile : reconcile,
  };
}

export function parseAccountEntry(
  content: unknown,
  defaults: AccountDefaults & { readonly folder: string },
): ParsedEntry {
  const problems: string[] = [];
  if (!isMap(content)) {
    return {
      name: null,
      account: null,
      problems: ['expected a map with name, base_url and token'],
      token: null,
    };
  }
  const reader = createReader(content, '', problems);
  reader.refuseOthers(KEYS);
  const name = reader.read('name', accountName, EXPECTED.account);
  if (!reader.has('name')) problems.push(`name: expected ${EXPECTED.account}, it is not set`);
  const address = reader.read('base_url', baseUrl, EXPECTED.baseUrl);
  if (!reader.has('base_url')) problems.push(`base_url: expected ${EXPECTED.baseUrl}, it is not set`);
  const allowsInsecureHttp =
    reader.read('allow_insecure_http', flag, EXPECTED.flag) ?? defaults.allowsInsecureHttp;
  if (address !== undefined) {
    const found = baseUrlProblems(address, { allowsInsecureHttp, permission: 'allow_insecure_http: true' });
    problems.push(...found.map((problem) => `base_url: ${problem}`));
  }
  const secret = readToken(reader, defaults.folder, problems);
  const equipmentTypes = reader.read('equipment_types', types, 'a list of equipmentType_id values') ?? [];
  const schedule = readSchedule(content['schedule'], defaults.schedule, problems);
  const reportingTimezone =
    reader.read('reporting_timezone', namedTimezone, EXPECTED.namedTimezone) ?? defaults.reportingTimezone;
  const isUsable =
    problems.length === 0 && name !== undefined && address !== undefined && secret.token !== undefined;
  return {
    name: name ?? null,
    problems,
    token: secret.text,
    account: isUsable
      ? {
          accountId: name,
          service: toServiceConfig(address, secret.token ?? '', name),
          equipmentTypes,
          reportingTimezone,
          schedule,
        }
      : null,
  };
}
