/**
 * The conditions that need an alert now. They are derived from the database alone, so that all workers agree: an open
 * circuit or an outage, which only one worker knows, appears there as a failed run. Pure.
 */
import { offReasonOf, type OffReasons } from '../../config/account-config.ts';
import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { type OutboxKey, textOfKey } from './outbox.ts';
import { ERROR_KINDS, type ErrorCode } from '../../shared/errors.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import { budgetOf, freshnessOf } from '../status/build-status.ts';
import type { AccountsRead, StreamFacts } from '../status/read-accounts.ts';
import type { AlertsStatus } from '../status/status.ts';

export interface Condition extends OutboxKey {
  readonly event: AlertEvent;
  readonly code: string | null;
  readonly detail: string | null;
  /** True while a new run is active, because its result decides whether the condition lasts. */
  readonly isUndecided?: boolean;
}

interface ConditionFacts {
  readonly accounts: readonly { readonly id: string; readonly offReasons: OffReasons }[];
  readonly accountsRead: AccountsRead;
  readonly lastingProblems: readonly Condition[];
  readonly failedReports: AlertsStatus['failedReports'];
  readonly freshnessBudgetMinutes: number;
}

/** The subject of an alert about a reconcile while syncs succeed. */
export const reconcileOf = (stream: string): string => `reconcile of ${stream}`;

/** A failed reconcile is a failure of its own while syncs succeed. */
export function failureConditions(accountId: string, facts: StreamFacts): Condition[] {
  const { stream, running, failingWith, failedReconcile } = facts;
  const code = failingWith ?? failedReconcile;
  if (code === undefined) return [];
  const of = (event: Condition['event'], subject: string): Condition[] => [
    { accountId, event, subject, code, detail: null, isUndecided: running !== null },
  ];
  if (failingWith === undefined && code !== 'delete_guard') return of('stream_failing', reconcileOf(stream));
  const isRefused = code in ERROR_KINDS && ERROR_KINDS[code as ErrorCode].recovery === 'fail_run';
  if (isRefused) return of('credentials_refused', code === 'token_permission' ? stream : '');
  return of(code === 'delete_guard' ? 'delete_guard' : 'stream_failing', stream);
}

/** A stream without a success within the budget. A first sync has no time limit; its failure still causes an alert. */
function stalenessOf(accountId: string, one: StreamFacts, facts: ConditionFacts): Condition[] {
  const { accountsRead, freshnessBudgetMinutes: budgetMinutes } = facts;
  if (freshnessOf(one, accountsRead.databaseNowMs, budgetMinutes) !== 'stale') return [];
  const code = one.lastRun?.status === 'failed' ? one.lastRun.errorCode : null;
  const detail = `${Math.round(budgetOf(one.stream, budgetMinutes) / MINUTE_MS)} min`;
  return [{ accountId, event: 'stale', subject: one.stream, code, detail }];
}

/** The latest success of a scheduled stream of the account, by the database's clock; -Infinity: none. */
export function lastSuccessOf(
  { accounts, accountsRead }: Pick<ConditionFacts, 'accounts' | 'accountsRead'>,
  accountId: string,
): number {
  const { offReasons = {} } = accounts.find(({ id }) => id === accountId) ?? {};
  const streams = accountsRead.accounts.get(accountId) ?? [];
  const scheduled = streams.filter((one) => offReasonOf(offReasons, one) === null);
  return Math.max(-Infinity, ...scheduled.flatMap((one) => one.lastSuccessMs ?? []));
}

/** Returns each key once. An outage of the database cannot be read from it (`notifier.ts`). */
export function conditionsOf(facts: ConditionFacts): Condition[] {
  const scheduled = facts.accounts.flatMap(({ id, offReasons }) =>
    (facts.accountsRead.accounts.get(id) ?? [])
      .filter((one) => offReasonOf(offReasons, one) === null)
      .map((stream) => ({ id, stream })),
  );
  const all: readonly Condition[] = [
    ...scheduled.flatMap(({ id, stream }) => stalenessOf(id, stream, facts)),
    ...scheduled.flatMap(({ id, stream }) => failureConditions(id, stream)),
    ...facts.lastingProblems,
    ...facts.failedReports.map((report) => ({
      ...report,
      event: 'report_failed' as const,
      subject: '',
      detail: null,
    })),
  ];
  return [...new Map(all.map((condition) => [textOfKey(condition), condition])).values()];
}
