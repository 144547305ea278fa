/**
 * The conditions that need an alert now. They are derived from the database alone, so that all workers agree: an open
 * circuit or an outage, which only one worker knows, appears there as a failed run. Pure.
 */
import type { OffReasons } from '../../config/account-config.ts';
import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { type OutboxKey, textOfKey } from './outbox.ts';
import type { Occasions } from './occasions.ts';
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
  readonly occasions: Occasions;
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

function conditionsOfStream(
  accountId: string,
  facts: StreamFacts,
  { databaseNowMs, budgetMinutes }: { readonly databaseNowMs: number; readonly budgetMinutes: number },
): Condition[] {
  const { stream } = facts;
  // A first sync has no time limit. Its failure still causes an alert.
  const isStale = freshnessOf(facts, databaseNowMs, budgetMinutes) === 'stale';
  const stale: Condition = {
    accountId,
    event: 'stale',
    subject: stream,
    code: facts.lastRun?.status === 'failed' ? facts.lastRun.errorCode : null,
    detail: `${budgetMinutes} min`,
    isUndecided: false,
  };
  return [...(isStale ? [stale] : []), ...failureOf(accountId, facts)];
}

/** Returns each key once. */
export function conditionsOf(facts: ConditionFacts): Condition[] {
  const { accounts, seen, occasions, failedReports, freshnessBudgetMinutes: budgetMinutes } = facts;
  const found = accounts.flatMap(({ id, offReasons }) => [
    ...(seen.accounts.get(id) ?? [])
      .filter(({ stream }) => offReasons[stream] === undefined)
      .flatMap((one) => conditionsOfStream(id, one, { databaseNowMs: seen.databaseNowMs, budgetMinutes })),
  ]);
  const happened = { code: null, isUndecided: false } as const;
  for (const { accountId, stream, field } of occasions.newFields) {
    found.push({ accountId, event: 'new_field', subject: `${stream} ${field}`, detail: null, ...happened });
  }
  for (const { accountId, stream, changes } of occasions.repaired) {
    const detail = formatNumber(changes, 'change');
    found.push({ accountId, event: 'repaired', subject: stream, detail, ...happened });
  }
  for (const [accountId, code] of failedReports) {
    found.push({ ...happened, accountId, event: 'report_failed', subject: '', code, detail: null });
  }
  const byKey = new Map<string, Condition>();
  for (const one of found) byKey.set(textOfKey(one), one);
  return [...byKey.values()];
}
