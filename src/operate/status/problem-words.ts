/**
 * A problem, and its words. Texts of alerts consist of names, codes, counts and times only: an alert never quotes a
 * service, a database or a record, because a quote could contain personal data or secrets. The table in
 * docs/operations.md is generated from WORDS.
 */
import { streamWords } from '../../engine/streams/index.ts';
import { adviceOf, type Wait } from '../../shared/errors.ts';
import { capital, formatDuration } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';

export interface Problem {
  readonly kind: ProblemKind;
  /** null: every account. */
  readonly accountId: string | null;
  /** A stream, `reconcile of` a stream, or a stream and one of its fields; empty: the whole account. */
  readonly subject: string;
  /** `busy`: a state that passes by itself; `note`: no problem by itself. */
  readonly level: 'bad' | 'warning' | 'busy' | 'note';
  /** The data cannot be relied on: /readyz is 503. */
  readonly isReason: boolean;
  /** `status` and `alerts` end with 1. */
  readonly isFailure: boolean;
  readonly code: string | null;
  /** Names, counts and times. */
  readonly detail: string | null;
  /** Details that alerts leave out: texts of the service or the database, and figures that change from minute to minute. */
  readonly quote: string | null;
  readonly note: string | null;
  /** Empty: there is none. */
  readonly advice: string;
  /** null: unknown. */
  readonly sinceMs: number | null;
}

const MOST_NAMED = 6;
const LONGEST_FIELD = 60;

const AND = new Intl.ListFormat('en-GB');

/** `a`, `a and b`, `a, b and 3 more` */
const joinNames = (names: readonly string[]): string =>
  AND.format(
    names.length > MOST_NAMED
      ? [...names.slice(0, MOST_NAMED - 1), `${names.length - MOST_NAMED + 1} more`]
      : names,
  );

/** `the reconcile of follow-ups` for `reconcile of followups`. */
const RECONCILE = 'reconcile of ';
const subjectWords = (subject: string): string =>
  subject.startsWith(RECONCILE)
    ? `the reconcile of ${streamWords(subject.slice(RECONCILE.length))}`
    : streamWords(subject);

/** `follow-ups are stale`: the verb in the singular and the plural. */
const streams =
  (singular: string, plural: string) =>
  (subjects: readonly string[]): string => {
    const words = subjects.map(subjectWords);
    const isOne = words.length === 1 && /^the reconcile |^(?!names ).*[^s]$/.test(words[0] ?? '');
    return `${joinNames(words)} ${isOne ? singular : plural}`;
  };

/** For example `Waiting: connection refused, attempt 7 of 9, next in 13 s.` */
export function waitWords({ reason, attempt, attempts, nextMs }: Wait, nowMs: number): string {
  // The next attempt may wait for the request limit, or for its response.
  const next = nextMs <= nowMs ? 'the next one has begun' : `next in ${formatDuration(nextMs - nowMs)}`;
  return `Waiting: ${reason}, attempt ${attempt} of ${attempts}, ${next}.`;
}

export const streamNames = (subjects: readonly string[]): string => joinNames(subjects.map(streamWords));

/**
 * `severity of follow-ups` for `followups severity`. The service chooses the name, so all characters are removed that could
 * become markup or a mention in a chat.
 */
const fields = (subjects: readonly string[]): string =>
  joinNames(
    subjects.map((subject) => {
      const [stream = '', ...field] = subject.split(' ');
      const shown = field.join(' ').replace(/[^\p{L}\p{N}._[\]-]/gu, '?');
      return `${shown.slice(0, LONGEST_FIELD)} of ${streamWords(stream)}`;
    }),
  );

interface Words {
  readonly is: (subjects: readonly string[]) => string;
  /** For problems without an error code. */
  readonly advice?: string;
}

interface AlertWords extends Words {
  /** When the alert begins, for the documentation, in Markdown. */
  readonly when: string;
}

const ALERTS = {
  credentials_refused: {
    when: 'the service refuses the token, or lets it read a stream no longer',
    is: (subjects) =>
      subjects.includes('')
        ? 'the service refuses the credentials'
        : `the service does not let this token read ${streamNames(subjects)}`,
  },
  service_away: {
    when: 'requests fail for a minute, or the last run of a stream failed, because the service does not respond, and none has succeeded since',
    is: () => 'the service cannot be used',
  },
  stale: {
    when: 'a scheduled stream has not succeeded within `FRESHNESS_BUDGET_MINUTES`, and none of the other alerts says why; a first sync has no limit',
    is: streams('is stale', 'are stale'),
    advice:
      'No run failed: see on the status page and in the worker’s log whether runs take long or do not begin.',
  },
  stream_failing: {
    when: 'the last run or the last `reconcile` of a stream failed',
    is: streams('fails', 'fail'),
  },
  delete_guard: {
    when: 'a snapshot lacks a larger share of the live rows than `MAX_DELETE_RATIO`',
    is: (subjects) =>
      `so many records of ${streamNames(subjects)} are missing at the source that the delete guard marks none as deleted`,
  },
  database_away: {
    when: 'a worker cannot use the warehouse',
    is: () => 'the database is unreachable',
  },
  repaired: {
    when: 'a `reconcile` stored changes that no sync had brought; over with the next one that finds none',
    is: (subjects) => `a reconcile of ${streamNames(subjects)} stored what no sync had brought`,
    advice:
      'The data is correct now. A service may change records without a new updated_on, for example when it adds a field; if this one did not, please report it, with the line of that run in safety-sync runs.',
  },
  new_field: {
    when: 'the service sends a field that this version does not know; over when it no longer does',
    is: (subjects) => `the service sends new fields: ${fields(subjects)}`,
    advice:
      'Its values are kept in _raw, except those of people; safety-sync data-issues shows it. A column for it needs another version of safety-sync.',
  },
  report_failed: {
    when: 'the [report](#the-report) could not be made, written or sent',
    is: () => 'the report could not be made or sent, and is tried again',
  },
} satisfies Readonly<Record<string, AlertWords>>;

export type AlertEvent = keyof typeof ALERTS;
export const ALERT_WORDS: Readonly<Record<AlertEvent, AlertWords>> = ALERTS;

/** Problems that are only shown. */
const SHOWN = {
  never_synced: { is: streams('has never been synced', 'have never been synced') },
  held_up: { is: (subjects) => `runs of ${streamNames(subjects)} are held up` },
  changing: { is: () => 'a change of the account was not finished' },
  differs: { is: () => 'stored data differs from the settings' },
  request_limit: { is: () => 'the service accepts no requests for a while, because its limit was reached' },
  no_worker: {
    is: () => 'no worker has been seen',
    advice: 'None runs with this schedule, or none can connect to the database.',
  },
  alerts_refused: {
    is: (subjects) => `alerts do not arrive by ${joinNames(subjects)}`,
    advice: 'Try it: safety-sync alerts test',
  },
  migrating: { is: () => 'the warehouse is being migrated' },
  starting: { is: () => 'the worker is starting' },
  stopping: { is: () => 'the worker is stopping' },
} satisfies Readonly<Record<string, Words>>;

export type ProblemKind = AlertEvent | keyof typeof SHOWN;
const WORDS: Readonly<Record<ProblemKind, Words>> = { ...ALERTS, ...SHOWN };

export const problem = ({
  kind,
  code = null,
  ...given
}: Partial<Problem> & Pick<Problem, 'kind' | 'level'>): Problem => ({
  ...{ kind, code, accountId: null, subject: '', isReason: false, isFailure: false },
  ...{ detail: null, quote: null, note: null, sinceMs: null },
  advice: adviceOf(code ?? '') || (WORDS[kind].advice ?? ''),
  ...given,
});

/**
 * For people: problems that differ in their subjects only are one. `what`: `follow-ups and documents are stale`; `said`: with
 * the details; `text`: everything that is known, with the advice.
 */
export function describeProblems(problems: readonly Problem[]) {
  const kindOf = (one: Problem) => JSON.stringify({ ...one, subject: '', sinceMs: null });
  return groupBy(problems, kindOf).map((alike) => {
    const [one] = alike;
    const { kind, code, detail, quote, note, advice } = one;
    const what = WORDS[kind].is(alike.map(({ subject }) => subject));
    const join = (texts: readonly (string | null)[]): string =>
      texts.flatMap((text) => text?.replace(/\.$/, '') ?? []).join(': ');
    const named = `${join([what, detail])}${code === null ? '' : ` (${code})`}`;
    const said = join([named, quote]);
    const isSaid = kind === 'differs' || kind === 'request_limit';
    const sentences = isSaid ? [detail ?? ''] : [said, advice, note ?? ''].filter((text) => text !== '');
    const text = sentences.map((sentence) => capital(sentence).replace(/[^.!?…]$/, '$&.')).join(' ');
    return { problem: one, alike, what, said, text };
  });
}

export const textsOf = (problems: readonly Problem[]): string[] =>
  describeProblems(problems).map(({ text }) => text);

/** The texts of the reasons against readiness. */
export const reasonsOf = (problems: readonly Problem[]): string[] =>
  textsOf(problems.filter(({ isReason }) => isReason));
