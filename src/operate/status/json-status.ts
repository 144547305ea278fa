/** Converts the Status to JSON, with the field names of the log (`started_at`, `duration_ms`) and ISO times. */
import { toIso } from '../../shared/time.ts';
import type { Status } from './build-status.ts';

/** Fields in ms that are durations; all others are times. */
const DURATIONS = ['durationMs'];

const isTime = (name: string): boolean => name.endsWith('Ms') && !DURATIONS.includes(name);
const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) =>
      isTime(name)
        ? [
            toSnakeCase(name.replace(/(At|^at)?Ms$/, (_, at?: string) => at ?? 'At')),
            typeof one === 'number' ? toIso(one) : one,
          ]
        : [toSnakeCase(name), toJson(one)],
    ),
  );
}

/** A single account is flat, several are a list. */
export function toJsonStatus(status: Status): unknown {
  const { accounts, ...process } = status;
  const [account] = accounts;
  if (account?.detail === undefined) return toJson(status);
  const { accountId, outages, refusals, service, blockedUntilMs, detail } = account;
  return toJson({
    ...process,
    accountId,
    outages: [...process.outages, ...outages],
    refusals,
    service,
    blockedUntilMs,
    ...detail,
  });
}

/** Removes secrets from all texts. */
export function redactStatus<Value>(status: Value, redact: (text: string) => string): Value {
  const clean = (_name: string, value: unknown): unknown =>
    typeof value === 'string' ? redact(value) : value;
  return JSON.parse(JSON.stringify(status, clean)) as Value;
}
