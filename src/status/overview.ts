/** Many accounts as one value: a line each, trouble first. Pure. */
import { formatCount, formatNumber } from '../shared/format.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { AccountsSight, StreamSight } from './read-accounts.ts';
import { reportDatabase } from './database-report.ts';
import { type Freshness, freshnessOf, lastSuccessOf } from './freshness.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
import type { DatabaseReport, Level, PressureReport, QueueReport, Verdict, WorkerState } from './status.ts';
import { accountReasons, buildVerdict, processReasons } from './verdict.ts';

export interface StreamSummary {
  readonly stream: StreamName;
  readonly isScheduled: boolean;
  readonly freshness: Freshness;
  readonly lastSuccessMs: number | null;
  readonly watermarkMs: number | null;
  readonly openIssues: number;
  readonly running: object | null;
  readonly lastRun: { readonly status: string; readonly errorCode: string | null } | null;
}

export interface AccountSummary {
  readonly accountId: string;
  readonly verdict: Verdict;
  /** Nothing of its own keeps its data from being relied on. */
  readonly isReady: boolean;
  readonly notReady: readonly string[];
  readonly openIssues: number;
  readonly streams: readonly StreamSummary[];
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  /** null: its service was not asked yet. */
  readonly service: PressureReport | null;
}

export interface Overview {
  readonly version: string;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly freshnessBudgetMinutes: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly isSchedulerAlive: boolean;
  readonly isReady: boolean;
  readonly notReady: readonly string[];
  readonly verdict: Verdict;
  readonly database: DatabaseReport;
  readonly outages: readonly Outage[];
  readonly queue: QueueReport;
  readonly accountCount: number;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountSummary[];
}

export interface AccountFacts {
  readonly accountId: string;
  readonly scheduled: readonly StreamName[];
  readonly outage: Outage | undefined;
  readonly openCircuits: readonly OpenCircuit[];
  readonly service: PressureReport | null;
}

export interface OverviewFacts {
  readonly version: string;
  readonly freshnessBudgetMinutes: number;
  readonly owner: string;
  /** By our clock. */
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly isSchedulerAlive: boolean;
  readonly sight: AccountsSight | null;
  readonly databaseProblem: string | null;
  /** It answers, but not as soon as it is looked at. */
  readonly isDatabaseSlow: boolean;
  readonly databaseOutage: Outage | undefined;
  readonly queue: QueueReport;
  readonly accounts: readonly AccountFacts[];
}

const WORST_FIRST: readonly Level[] = ['bad', 'warning', 'busy', 'good'];

function toStreams(
  { scheduled }: AccountFacts,
  sights: readonly StreamSight[] | undefined,
  at: { readonly judgedMs: number; readonly budgetMinutes: number },
): StreamSummary[] {
  const successes = new Map(sights?.map((one) => [one.stream, one.lastSuccessMs]));
  return STREAM_NAMES.map((stream) => {
    const sight = sights?.find((one) => one.stream === stream);
    const lastSuccessMs = lastSuccessOf(stream, successes);
    const lastStatus = sight?.lastStatus ?? null;
    return {
      stream,
      isScheduled: scheduled.includes(stream),
      freshness: freshnessOf(
        { lastSuccessMs, currentUntilMs: sight?.currentUntilMs ?? null },
        at.judgedMs,
        at.budgetMinutes,
      ),
      lastSuccessMs,
      watermarkMs: sight?.watermarkMs ?? null,
      openIssues: sight?.openIssues ?? 0,
      running: sight?.isRunning === true ? {} : null,
      lastRun: lastStatus === null ? null : { status: lastStatus, errorCode: sight?.lastErrorCode ?? null },
    };
  });
}

function overallVerdict(
  counts: Readonly<Record<Level, number>>,
  total: number,
  process: { readonly verdict: Verdict | null; readonly notReady: readonly string[] },
): Verdict {
  if (process.verdict !== null) return process.verdict;
  // How many accounts are how stands in the counts.
  const verdict = (level: Level, text: string): Verdict => ({ level, sentence: text, details: [] });
  if (counts.bad > 0) {
    const are = counts.bad === 1 ? 'is' : 'are';
    return verdict(
      'bad',
      `${formatCount(counts.bad)} of ${formatNumber(total, 'account')} ${are} in trouble.`,
    );
  }
  if (counts.busy > 0) return verdict('busy', 'First syncs are under way.');
  if (counts.warning > 0) return verdict('warning', 'Everything is fresh, with trouble.');
  return verdict('good', 'Everything is fresh.');
}

export function buildOverview(facts: OverviewFacts): Overview {
  const { sight } = facts;
  const {
    offMs,
    nowMs,
    judgedMs,
    report: database,
  } = reportDatabase({
    seen: sight,
    problem: facts.databaseProblem,
    isSlow: facts.isDatabaseSlow,
    ourNowMs: facts.nowMs,
  });
  const shifted = (outage: Outage | undefined): Outage[] =>
    outage === undefined ? [] : [{ ...outage, sinceMs: outage.sinceMs + offMs }];
  const common = {
    nowMs,
    freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
    worker: facts.worker,
    isSchedulerAlive: facts.isSchedulerAlive,
    database,
  };
  const notReady = processReasons(common);
  const processVerdict =
    notReady.length === 0
      ? null
      : buildVerdict({ ...common, outages: shifted(facts.databaseOutage), openCircuits: [], streams: [] });
  const counts: Record<Level, number> = { good: 0, busy: 0, warning: 0, bad: 0 };
  // What keeps all of them alike is not each one's trouble.
  const alone = { ...common, worker: 'running', isSchedulerAlive: true } as const;
  const own = {
    ...alone,
    database: { ...database, isUp: true, isTooOld: false, problem: null, pendingMigrations: 0 },
  };
  const accounts = facts.accounts.map((account): AccountSummary => {
    const streams = toStreams(account, sight?.accounts.get(account.accountId), {
      judgedMs,
      budgetMinutes: facts.freshnessBudgetMinutes,
    });
    const outages = shifted(account.outage);
    const openCircuits = account.openCircuits.map((one) => ({
      ...one,
      sinceMs: one.sinceMs + offMs,
      nextTryMs: one.nextTryMs + offMs,
    }));
    const circumstances = { ...own, outages, openCircuits, streams };
    const reasons = accountReasons(circumstances);
    const verdict = buildVerdict(circumstances);
    counts[verdict.level] += 1;
    return {
      accountId: account.accountId,
      verdict,
      isReady: reasons.length === 0,
      notReady: reasons,
      openIssues: streams.reduce((sum, { openIssues }) => sum + openIssues, 0),
      streams,
      outages,
      openCircuits,
      service: account.service,
    };
  });
  const rank = ({ verdict }: AccountSummary): number => WORST_FIRST.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const isNoneReady = notReady.length === 0 && accounts.every(({ isReady }) => !isReady);
  const reasons = isNoneReady ? [...notReady, 'no account is ready'] : notReady;
  return {
    ...common,
    version: facts.version,
    startedMs: facts.startedMs + offMs,
    owner: facts.owner,
    isReady: reasons.length === 0,
    notReady: reasons,
    verdict: overallVerdict(counts, accounts.length, { verdict: processVerdict, notReady }),
    outages: shifted(facts.databaseOutage),
    queue: facts.queue,
    accountCount: accounts.length,
    counts,
    accounts,
  };
}

export interface OverviewPart extends Overview {
  /** From 1. */
  readonly page: number;
  readonly pages: number;
}

/** One page of the accounts; the counts stay those of all. */
export function pageOf(overview: Overview, page: number, size: number): OverviewPart {
  const pages = Math.max(1, Math.ceil(overview.accounts.length / size));
  const at = Math.min(Math.max(1, page), pages);
  return { ...overview, accounts: overview.accounts.slice((at - 1) * size, at * size), page: at, pages };
}
