/** Converts the Status to JSON, with the field names of the log (`started_at`, `duration_ms`) and ISO times. */
import { toIso, toMs } from '../../shared/time.ts';
import { type Problem, reasonsOf, textsOf } from './problem-words.ts';
import type { AccountDetail } from './read-detail.ts';
import type { Status } from './status.ts';

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A row of the control tables: converts times from PostgreSQL's format to that of all JSON of the program. */
export function withIsoTimes<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]: [string, unknown]) => {
    const isTime = /_at$|^watermark_/.test(name) && typeof value === 'string';
    return [name, isTime ? toIso(toMs(value)) : value];
  });
  return Object.fromEntries(entries) as Row;
}

/** `lastSuccessMs` is a time and becomes `last_success_at`; `uptimeMs` stays a number. */
function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(withIsoTimes(value)).map(([name, one]: [string, unknown]) => {
      if (name.endsWith('Ms') && name !== 'uptimeMs')
        return [
          toSnakeCase(name.replace(/(At|^at)?Ms$/, (_, at?: string) => at ?? 'At')),
          toIso(one as number | null),
        ];
      return [toSnakeCase(name), toJson(one)];
    }),
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

/** A single account is flat, several are a list. `detail`: that of the only account. */
export function toJsonStatus(status: Status, detail: AccountDetail | null): unknown {
  const { accounts, ...process } = status;
  const [only] = accounts.length === 1 ? accounts : [];
  if (only === undefined)
    return toJson({
      ...process,
      ...ofProblems(status),
      accounts: accounts.map((one) => ({ ...one, ...ofProblems(one) })),
    });
  return toJson({ ...process, ...only, ...ofProblems(status), ...detail });
}
