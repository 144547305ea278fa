/**
 * The Status: all data that operators see, for one account or several. It combines the last read of the warehouse with the
 * state of this process. Times are ms since 1970 by the database's clock; null: never, or unknown. Pure.
 */
import { tokenSourceOf } from '../../config/account-config.ts';
import { VERSION } from '../../version.ts';
import { type AccountDetail, buildDetail } from './account-detail.ts';
import {
  type AccountFacts,
  type ProcessFacts,
  type ServiceLoad,
  type StatusFacts,
  type StreamStatus,
  toStreamStatus,
} from './facts.ts';
import type { Problem } from './problem.ts';
import { type AccountProblems, accountProblems, processProblems } from './problems.ts';
import { databaseOffsetMs, UNKNOWN_STREAMS } from './read-accounts.ts';
import { judge, type Level, type Verdict } from './verdict.ts';

interface DatabaseStatus {
  readonly isUp: boolean;
  /** When the database was read; null: not yet. */
  readonly readAtMs: number | null;
  readonly problem: string | null;
  readonly pendingMigrations: number | null;
}

/** Whether the accounts are known: they are not read before the migrations. */
export const areAccountsRead = ({ readAtMs, pendingMigrations }: DatabaseStatus): boolean =>
  readAtMs !== null && pendingMigrations === 0;

interface Judgement {
  /** The data can be relied on. */
  readonly isReady: boolean;
  readonly problems: readonly Problem[];
  readonly verdict: Verdict;
}

export interface AccountStatus extends Judgement {
  readonly accountId: string;
  readonly openIssues: number;
  readonly streams: readonly StreamStatus[];
  /** null: no request was sent to its service yet. */
  readonly service: ServiceLoad | null;
  /** No request to its service starts before; null: nothing is blocked. */
  readonly blockedUntilMs: number | null;
  /** Present when the account was read in full. */
  readonly detail?: AccountDetail;
}

/** The judgement of a single account includes that of the process. */
export interface Status extends Omit<ProcessFacts, 'migrationWaits'>, Judgement {
  readonly version: string;
  readonly database: DatabaseStatus;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountStatus[];
}

const isReady = (problems: readonly Problem[]): boolean => !problems.some(({ isReason }) => isReason);

const WORST_FIRST: readonly Level[] = ['bad', 'warning', 'busy', 'good'];

export function buildStatus(facts: StatusFacts): Status {
  const { warehouse, accounts: runners, nextRuns, migrationWaits, ...rest } = facts;
  const { accountsRead, problem } = warehouse;
  // Ages are computed by the database's clock, because stored times are.
  const offMs = databaseOffsetMs(accountsRead);
  const nowMs = facts.nowMs + offMs;
  const database: DatabaseStatus = {
    isUp: problem === null && accountsRead !== null,
    readAtMs: accountsRead?.databaseNowMs ?? null,
    problem: problem?.message ?? null,
    pendingMigrations: accountsRead?.pendingMigrations ?? null,
  };
  // While the database is up, data is judged as of the read, because later changes are unknown. While it is away, no new
  // data is stored, so the data grows old.
  const judgedMs = database.isUp && database.readAtMs !== null ? Math.min(nowMs, database.readAtMs) : nowMs;
  const process = { version: VERSION, ...rest, nowMs, startedMs: facts.startedMs + offMs, database };
  const ofProcess = processProblems({ ...process, migrationWaits, warehouse });

  function toAccount(runner: AccountFacts): AccountStatus {
    const { id: accountId, offReasons, config } = runner.account;
    const judging = {
      offReasons,
      nowMs: judgedMs,
      freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
      retries: runner.retries.map((one) => ({ ...one, sinceMs: one.sinceMs + offMs })),
    };
    const streams = (accountsRead?.accounts.get(accountId) ?? UNKNOWN_STREAMS).map((one) =>
      toStreamStatus(one, judging),
    );
    const detail = nextRuns === null ? undefined : buildDetail(runner, streams, { facts, judgedMs });
    const blockedUntilMs = accountsRead?.blocked.get(accountId) ?? null;
    const state: AccountProblems = {
      accountId,
      streams: areAccountsRead(database) ? streams : [],
      refusals: runner.health.refusals.map((one) => ({ ...one, nextTryMs: one.nextTryMs + offMs })),
      tokenSource: tokenSourceOf(config),
      blockedUntilMs,
      failedReport: facts.alerts.failedReports.find((one) => one.accountId === accountId)?.code ?? null,
      differences: detail?.differences ?? [],
      isDatabaseAway: problem !== null,
      freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
      nowMs,
    };
    const problems = [...(runners.length === 1 ? ofProcess : []), ...accountProblems(state)];
    return {
      accountId,
      isReady: isReady(problems),
      problems,
      verdict: judge(problems, { streams, isRead: areAccountsRead(database) }),
      openIssues: streams.reduce((sum, { openIssues }) => sum + openIssues, 0),
      streams,
      service: runner.pressure,
      blockedUntilMs,
      ...(detail === undefined ? {} : { detail }),
    };
  }

  const accounts = runners.map(toAccount);
  const rank = ({ verdict }: AccountStatus): number => WORST_FIRST.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const counts: Record<Level, number> = { good: 0, busy: 0, warning: 0, bad: 0 };
  for (const { verdict } of accounts) counts[verdict.level] += 1;
  const [only] = accounts.length === 1 ? accounts : [];
  const all: Judgement = only ?? {
    // One account that is not ready does not make the others so.
    isReady: isReady(ofProcess) && accounts.some((one) => one.isReady),
    problems: ofProcess,
    verdict: judge(ofProcess, { counts }),
  };
  const { isReady: ready, problems, verdict } = all;
  return { ...process, isReady: ready, problems, verdict, counts, accounts };
}
