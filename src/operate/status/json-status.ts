/** Converts the Status to JSON, with the field names of the log (`started_at`, `duration_ms`) and ISO times. */
import { toIso } from '../../shared/time.ts';
import type { Status } from './status.ts';

/** Fields in ms that are durations, not times. */
type Duration = 'durationMs' | 'longestWaitMs';

/** Names of all fields in ms, at any depth. */
type MsNames<Value> = Value extends readonly (infer One)[]
  ? MsNames<One>
  : Value extends object
    ? {
        [Name in keyof Value]-?: (Name extends `${string}Ms` ? Name : never) | MsNames<Value[Name]>;
      }[keyof Value]
    : never;

/** Maps each time of a Status to its name in JSON; a missing one is a compile error. */
const TIMES = {
  atMs: 'at',
  calculatedMs: 'calculated_at',
  coolingUntilMs: 'cooling_until_at',
  currentToMs: 'current_to_at',
  currentUntilMs: 'current_until_at',
  firstSeenMs: 'first_seen_at',
  lastSuccessMs: 'last_success_at',
  nextRunMs: 'next_run_at',
  nextTryMs: 'next_try_at',
  nowMs: 'now_at',
  readAtMs: 'read_at',
  retainedMs: 'retained_at',
  rowsCountedMs: 'rows_counted_at',
  sinceMs: 'since_at',
  startedMs: 'started_at',
  watermarkMs: 'watermark_at',
} as const satisfies Record<Exclude<MsNames<Status>, Duration>, string>;

const isTime = (name: string): name is keyof typeof TIMES => Object.hasOwn(TIMES, name);

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) =>
      isTime(name)
        ? [TIMES[name], typeof one === 'number' ? toIso(one) : one]
        : [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), toJson(one)],
    ),
  );
}

/** A single account is flat, several are a list. */
export function toJsonStatus(status: Status): unknown {
  const { accounts, ...process } = status;
  const [account] = accounts;
  if (account?.detail === undefined) return toJson(status);
  const { accountId, outages, openCircuits, service, detail } = account;
  return toJson({
    ...process,
    accountId,
    outages: [...process.outages, ...outages],
    openCircuits,
    service,
    ...detail,
  });
}

/** Removes secrets from all texts. */
export function redactStatus<Value>(status: Value, redact: (text: string) => string): Value {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one)]));
  };
  return clean(status) as Value;
}
