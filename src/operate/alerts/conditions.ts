/**
 * The conditions that need an alert now. They are derived from the database alone, so that all workers agree: an open
 * circuit or an outage, which only one worker knows, appears there as a failed run. Pure.
 */
import type { OffReasons } from '../../config/account-config.ts';
import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { type OutboxKey, textOfKey } from './outbox.ts';
import type { LastingProblems } from './lasting-problems.ts';
import { ERROR_KINDS, type ErrorCode } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { freshnessOf } from '../status/build-status.ts';
import { type AccountsRead, isEndedFromOutside, type StreamFacts } from '../status/read-accounts.ts';

export interface Condition extends OutboxKey {
  readonly event: AlertEvent;
  readonly code: string | null;
  readonly detail: string | null;
  /** A new attempt is running: whether the condition lasts is known when that ends. */
  readonly isUndecided: boolean;
}

interface ConditionFacts {
  readonly accounts: readonly { readonly id: string; readonly offReasons: OffReasons }[];
  readonly seen: AccountsRead;
  readonly lastingProblems: LastingProblems;
  /** Error codes of failed safety reports, by account. */
  readonly failedReports: ReadonlyMap<string, string>;
  readonly freshnessBudgetMinutes: number;
}

/** A failed reconcile is a failure of its own while syncs succeed. */
export function failureOf(accountId: string, facts: StreamFacts): Condition[] {
  const { stream, lastRun, running, failedReconcile } = facts;
  // The next run corrects an end from outside, and a stream without a next run becomes stale.
  const isFailing = lastRun?.status === 'failed' && !isEndedFromOutside(lastRun);
  const code = isFailing ? lastRun.errorCode : (failedReconcile ?? null);
  if (code === null) return [];
  const of = (event: Condition['event'], subject: string): Condition[] => [
    { accountId, event, subject, code, detail: null, isUndecided: running !== null },
  ];
  if (!isFailing && code !== 'delete_guard') return of('stream_failing', `reconcile of ${stream}`);
  const isRefused = code in ERROR_KINDS && ERROR_KINDS[code as ErrorCode].recovery === 'fail_run';
  if (isRefused) return of('credentials_refused', code === 'token_permission' ? stream : '');
  return of(code === 'delete_guard' ? 'delete_guard' : 'stream_failing', stream);
}

type Found = Omit<Condition, 'event'>;

/** Conditions of the scheduled streams of all accounts. */
function ofStreams<One extends Found>(
  { accounts, seen }: ConditionFacts,
  find: (accountId: string, facts: StreamFacts) => readonly One[],
): One[] {
  return accounts.flatMap(({ id, offReasons }) =>
    (seen.accounts.get(id) ?? [])
      .filter(({ stream }) => offReasons[stream] === undefined)
      .flatMap((facts) => find(id, facts)),
  );
}

function staleStreams(facts: ConditionFacts): Found[] {
  const { databaseNowMs } = facts.seen;
  const { freshnessBudgetMinutes: budgetMinutes } = facts;
  return ofStreams(facts, (accountId, one) => {
    // A first sync has no time limit. Its failure still causes an alert.
    if (freshnessOf(one, databaseNowMs, budgetMinutes) !== 'stale') return [];
    const code = one.lastRun?.status === 'failed' ? one.lastRun.errorCode : null;
    return [{ accountId, subject: one.stream, code, detail: `${budgetMinutes} min`, isUndecided: false }];
  });
}

const failures = (facts: ConditionFacts, event: AlertEvent): Found[] =>
  ofStreams(facts, failureOf).filter((one) => one.event === event);

const HAPPENED = { code: null, detail: null, isUndecided: false } as const;

/** Finds the conditions of each event. An outage of the database cannot be read from it (`notifier.ts`). */
const FINDERS: Readonly<
  Record<Exclude<AlertEvent, 'database_away'>, (facts: ConditionFacts) => readonly Found[]>
> = {
  stale: staleStreams,
  credentials_refused: (facts) => failures(facts, 'credentials_refused'),
  stream_failing: (facts) => failures(facts, 'stream_failing'),
  delete_guard: (facts) => failures(facts, 'delete_guard'),
  new_field: ({ lastingProblems }) =>
    lastingProblems.newFields.map(({ accountId, stream, field }) => ({
      ...HAPPENED,
      accountId,
      subject: `${stream} ${field}`,
    })),
  repaired: ({ lastingProblems }) =>
    lastingProblems.repaired.map(({ accountId, stream, changes }) => ({
      ...HAPPENED,
      accountId,
      subject: stream,
      detail: formatNumber(changes, 'change'),
    })),
  report_failed: ({ failedReports }) =>
    [...failedReports].map(([accountId, code]) => ({ ...HAPPENED, accountId, subject: '', code })),
};

/** Returns each key once. */
export function conditionsOf(facts: ConditionFacts): Condition[] {
  const byKey = new Map<string, Condition>();
  for (const [event, find] of Object.entries(FINDERS)) {
    for (const found of find(facts)) {
      const condition = { ...found, event: event as AlertEvent };
      byKey.set(textOfKey(condition), condition);
    }
  }
  return [...byKey.values()];
}
