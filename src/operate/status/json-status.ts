/** Converts the Status to JSON, with the field names of the log (`started_at`, `duration_ms`) and ISO times. */
import { toIso } from '../../shared/time.ts';
import { reasonsOf, textsOf } from './problem-words.ts';
import type { Problem } from './problem.ts';
import type { Status } from './status.ts';

const isTime = (name: string): boolean => name.endsWith('Ms') && name !== 'durationMs';
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

/** Problems for programs: one for each subject. */
export const toProblems = (problems: readonly Problem[]) =>
  problems.map((one) => {
    const { kind, accountId, subject, level, isReason, code, sinceMs } = one;
    return { kind, accountId, subject, level, isReason, code, sinceMs, text: textsOf([one])[0] };
  });

const ofProblems = ({ problems }: Pick<Status, 'problems'>) => ({
  notReady: reasonsOf(problems),
  problems: toProblems(problems),
});

/** A single account is flat, several are a list. */
export function toJsonStatus(status: Status): unknown {
  const { accounts, ...process } = status;
  const [account] = accounts;
  const shown = { ...process, ...ofProblems(status), accountCount: accounts.length };
  if (account?.detail === undefined)
    return toJson({ ...shown, accounts: accounts.map((one) => ({ ...one, ...ofProblems(one) })) });
  const { accountId, service, blockedUntilMs, detail } = account;
  return toJson({ ...shown, accountId, service, blockedUntilMs, ...detail });
}

/** Removes secrets from all texts. */
export function redactStatus<Value>(status: Value, redact: (text: string) => string): Value {
  const clean = (_name: string, value: unknown): unknown =>
    typeof value === 'string' ? redact(value) : value;
  return JSON.parse(JSON.stringify(status, clean)) as Value;
}
