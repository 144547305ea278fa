/** Combines the last read of the warehouse with the state of this process into one Status. Pure. */
import type { OffReasons } from '../../config/account-config.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
import { buildDetail, type DetailFacts } from './account-detail.ts';
import { type DatabaseClock, reportDatabase } from './database-report.ts';
import type { KeepingStatus } from './keeping.ts';
import { type AccountsRead, type StreamFacts, UNKNOWN_STREAMS } from './read-accounts.ts';
import type {
  AccountStatus,
  AlertsStatus,
  Freshness,
  Level,
  ServiceLoad,
  QueueStatus,
  Status,
  StreamStatus,
  Verdict,
  WorkerState,
} from './status.ts';
import {
  accountReasons,
  buildVerdict,
  type Circumstances,
  processReasons,
  reasonsNotReady,
  sentence,
  channelProblems,
} from './verdict.ts';

export interface AccountFacts {
  readonly accountId: string;
  /** Streams without a schedule. */
  readonly offReasons: OffReasons;
  readonly outage: Outage | undefined;
  readonly openCircuits: readonly OpenCircuit[];
  /** null: no request was sent to its service yet. */
  readonly service: ServiceLoad | null;
  /** Present when one account is shown in full. */
  readonly detail: DetailFacts | null;
}

export interface StatusFacts {
  readonly version: string;
  readonly freshnessBudgetMinutes: number;
  readonly owner: string;
  /** By this process's clock. */
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly isSchedulerAlive: boolean;
  readonly queue: QueueStatus;
  readonly alerts: AlertsStatus;
  readonly keeping: KeepingStatus;
  /** The last read of the warehouse; null: none yet. */
  readonly seen: AccountsRead | null;
  /** Why the database is unreachable; null: it is reachable, or was not tried yet. */
  readonly databaseProblem: string | null;
  /** The database responds, but slower than the interval between reads. */
  readonly isDatabaseSlow: boolean;
  readonly databaseOutage: Outage | undefined;
  /** One account, or all of them. */
  readonly accounts: readonly AccountFacts[];
}

/** Whether a stream is as fresh as promised. While the service's cache is valid, no new data exists, so it counts as fresh. */
export function freshnessOf(
  { lastSuccessMs, currentUntilMs }: Pick<StreamFacts, 'lastSuccessMs' | 'currentUntilMs'>,
  nowMs: number,
  budgetMinutes: number,
): Freshness {
  if (lastSuccessMs === null) return 'never';
  const currentMs = Math.max(lastSuccessMs, currentUntilMs ?? lastSuccessMs);
  return nowMs - currentMs > budgetMinutes * MINUTE_MS ? 'stale' : 'fresh';
}

const NO_ALERTS: AlertsStatus = { open: 0, channels: [] };

interface AccountContext {
  readonly facts: StatusFacts;
  readonly clock: DatabaseClock;
  /** Circumstances of the whole process that are listed with the account. */
  readonly shared: Circumstances;
}

function toAccount(account: AccountFacts, { facts, clock, shared }: AccountContext): AccountStatus {
  const { offMs, judgedMs } = clock;
  const { offReasons } = account;
  const seen = facts.seen?.accounts.get(account.accountId) ?? UNKNOWN_STREAMS;
  const streams = seen.map((one): StreamStatus => ({
    // Copied field by field, because spreading takes five times as long for thousands of accounts.
    stream: one.stream,
    lastSuccessMs: one.lastSuccessMs,
    watermarkMs: one.watermarkMs,
    calculatedMs: one.calculatedMs,
    currentUntilMs: one.currentUntilMs,
    lastRun: one.lastRun,
    running: one.running,
    openIssues: one.openIssues,
    ...(one.heldUpBy === undefined ? {} : { heldUpBy: one.heldUpBy }),
    isScheduled: offReasons[one.stream] === undefined,
    freshness: freshnessOf(one, judgedMs, facts.freshnessBudgetMinutes),
  }));
  const outages = shifted(account.outage, offMs);
  const openCircuits = account.openCircuits.map((one) => ({
    ...one,
    sinceMs: one.sinceMs + offMs,
    nextTryMs: one.nextTryMs + offMs,
  }));
  const circumstances = { ...shared, outages: [...shared.outages, ...outages], openCircuits, streams };
  const notReady =
    facts.accounts.length === 1 ? reasonsNotReady(circumstances) : accountReasons(circumstances);
  return {
    accountId: account.accountId,
    verdict: buildVerdict(circumstances),
    isReady: notReady.length === 0,
    notReady,
    openIssues: streams.reduce((sum, { openIssues }) => sum + openIssues, 0),
    streams,
    outages,
    openCircuits,
    service: account.service,
    detail:
      account.detail === null
        ? undefined
        : buildDetail(streams, {
            facts: account.detail,
            offReasons,
            owner: facts.owner,
            rows: facts.seen?.rows ?? null,
            offMs,
            judgedMs,
          }),
  };
}

const shifted = (outage: Outage | undefined, offMs: number): Outage[] =>
  outage === undefined ? [] : [{ ...outage, sinceMs: outage.sinceMs + offMs }];

/** Whether the data of all accounts can be relied on. */
function verdictOfAll(counts: Status['counts'], total: number, alerts: AlertsStatus): Verdict {
  const details = channelProblems(alerts).map(sentence);
  // The states of single accounts are in the counts.
  const verdict = (level: Level, text: string): Verdict => ({ level, sentence: text, details });
  if (counts.bad > 0) {
    const are = counts.bad === 1 ? 'is' : 'are';
    return verdict(
      'bad',
      `${formatCount(counts.bad)} of ${formatNumber(total, 'account')} ${are} unhealthy.`,
    );
  }
  if (counts.busy > 0) return verdict('busy', 'First syncs are under way.');
  if (counts.warning > 0) {
    const have = counts.warning === 1 ? 'has a warning' : 'have warnings';
    const some = `${formatCount(counts.warning)} of ${formatNumber(total, 'account')}`;
    return verdict('warning', `Everything is fresh, but ${some} ${have}.`);
  }
  return details.length === 0
    ? verdict('good', 'Everything is fresh.')
    : verdict('warning', 'Everything is fresh, but alerts do not arrive.');
}

const WORST_FIRST: readonly Level[] = ['bad', 'warning', 'busy', 'good'];

function judge(
  process: Circumstances,
  accounts: readonly AccountStatus[],
  counts: Status['counts'],
): Pick<Status, 'isReady' | 'notReady' | 'verdict'> {
  const [only] = accounts;
  if (only !== undefined && accounts.length === 1) return only;
  const reasons = processReasons(process);
  if (reasons.length > 0) return { isReady: false, notReady: reasons, verdict: buildVerdict(process) };
  const isAnyReady = accounts.some(({ isReady }) => isReady);
  return {
    isReady: isAnyReady,
    notReady: isAnyReady ? [] : ['no account is ready'],
    verdict: verdictOfAll(counts, accounts.length, process.alerts),
  };
}

export function buildStatus(facts: StatusFacts): Status {
  const clock = reportDatabase({
    seen: facts.seen,
    problem: facts.databaseProblem,
    isSlow: facts.isDatabaseSlow,
    ourNowMs: facts.nowMs,
  });
  const { report: database, nowMs } = clock;
  const outages = shifted(facts.databaseOutage, clock.offMs);
  const { worker, isSchedulerAlive, freshnessBudgetMinutes } = facts;
  const process: Circumstances = {
    nowMs,
    freshnessBudgetMinutes,
    worker,
    isSchedulerAlive,
    database,
    outages,
    openCircuits: [],
    streams: [],
    alerts: facts.alerts,
  };
  // For several accounts, problems of the whole process are listed once, not with each account.
  const shared: Circumstances =
    facts.accounts.length === 1
      ? process
      : {
          ...process,
          worker: 'running',
          isSchedulerAlive: true,
          database: { ...database, isUp: true, isTooOld: false, problem: null, pendingMigrations: 0 },
          outages: [],
          alerts: NO_ALERTS,
        };
  const accounts = facts.accounts.map((account) => toAccount(account, { facts, clock, shared }));
  const rank = ({ verdict }: AccountStatus): number => WORST_FIRST.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const counts: Record<Level, number> = { good: 0, busy: 0, warning: 0, bad: 0 };
  for (const { verdict } of accounts) counts[verdict.level] += 1;
  const { isReady, notReady, verdict } = judge(process, accounts, counts);
  return {
    version: facts.version,
    freshnessBudgetMinutes,
    nowMs,
    startedMs: facts.startedMs + clock.offMs,
    worker,
    owner: facts.owner,
    isSchedulerAlive,
    isReady,
    notReady,
    verdict,
    database,
    outages,
    queue: facts.queue,
    alerts: facts.alerts,
    keeping: facts.keeping,
    accountCount: accounts.length,
    counts,
    accounts,
  };
}
