/**
 * The Status: all data that operators see, for one account or several. It combines the last read of the warehouse with the
 * state of this process. Times are ms since 1970 by the database's clock; null: never, or unknown. Pure.
 */
import { type AccountConfig, type OffReasons, tokenSourceOf } from '../../config/account-config.ts';
import type { Wait } from '../../shared/errors.ts';
import { capital } from '../../shared/format.ts';
import { VERSION } from '../../version.ts';
import {
  type AlertsStatus,
  type Refusal,
  toStreamStatus,
  type WarehouseFacts,
  type WorkerState,
} from './facts.ts';
import { describeProblems } from './problem-words.ts';
import type { Problem } from './problem.ts';
import { type AccountFacts, accountProblems, processProblems } from './problems.ts';
import { type AccountsRead, UNKNOWN_STREAMS } from './read-accounts.ts';

/** The worst first. */
export const LEVELS = ['bad', 'warning', 'busy', 'good'] as const;
export type Level = (typeof LEVELS)[number];

interface DescribedAccount {
  readonly id: string;
  readonly offReasons: OffReasons;
  readonly config: Pick<AccountConfig, 'service'>;
}

type Judged = Pick<AccountFacts, 'nowMs' | 'freshnessBudgetMinutes'> &
  Partial<Pick<AccountFacts, 'refusals' | 'failedReport' | 'differences' | 'isDatabaseAway'>> & {
    readonly waits?: readonly Wait[];
  };

/** The streams of an account and its problems. `read` null: not read yet. */
export function judgeAccount(
  { id: accountId, offReasons, config }: DescribedAccount,
  read: AccountsRead | null,
  judged: Judged,
) {
  const isRead = read?.accounts.has(accountId) === true;
  const facts = read?.accounts.get(accountId) ?? UNKNOWN_STREAMS;
  const streams = facts.map((one) => toStreamStatus(one, offReasons, { waits: [], ...judged }));
  const blockedUntilMs = read?.blocked.get(accountId) ?? null;
  const problems = accountProblems({
    ...{ refusals: [], failedReport: null, differences: [], isDatabaseAway: false, ...judged },
    ...{ accountId, streams: isRead ? streams : [], tokenSource: tokenSourceOf(config), blockedUntilMs },
  });
  return { accountId, streams, blockedUntilMs, problems };
}

export interface StatusFacts {
  readonly freshnessBudgetMinutes: number;
  /** By this process's clock. */
  readonly nowMs: number;
  readonly uptimeMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly migrationWaits: string | null;
  readonly alerts: AlertsStatus;
  readonly warehouse: WarehouseFacts;
  /** One account, or all of them. `differences`: how its stored data differs from the settings, where that was read. */
  readonly accounts: readonly {
    readonly account: DescribedAccount;
    readonly refusals: readonly Refusal[];
    readonly waits?: readonly Wait[];
    readonly differences?: readonly string[];
  }[];
}

export type Status = ReturnType<typeof buildStatus>;
export type AccountStatus = Status['accounts'][number];

/** The data can be relied on. */
const isReliable = (problems: readonly Problem[]): boolean => !problems.some(({ isReason }) => isReason);

/** "Is everything fresh?" in one sentence; `details`: each problem in full. */
function judge(problems: readonly Problem[]) {
  const described = describeProblems(problems);
  const firstOf = (of: Level) => described.find(({ problem: { level } }) => level === of)?.what;
  const [bad, busy, warning] = [firstOf('bad'), firstOf('busy'), firstOf('warning')];
  const level: Level =
    bad !== undefined ? 'bad' : busy !== undefined ? 'busy' : warning !== undefined ? 'warning' : 'good';
  const but = warning === undefined ? '' : `, but ${warning}`;
  const sentence = `${capital(bad ?? busy ?? `everything is fresh${but}`)}.`;
  return { level, sentence, details: described.map(({ text }) => text) };
}

const STATES: Readonly<Record<Level, string>> = {
  bad: 'unhealthy',
  warning: 'in need of attention',
  busy: 'being synced for the first time',
  good: 'fresh',
};

function judgeAll(problems: readonly Problem[], accounts: readonly { readonly level: Level }[]) {
  const own = judge(problems);
  const worst = LEVELS.find((of) => accounts.some(({ level }) => level === of)) ?? 'good';
  if (own.level === 'bad' || own.level === 'busy' || worst === 'good') return own;
  const count = accounts.filter(({ level }) => level === worst).length;
  const sentence = `${count} of ${accounts.length} accounts ${count === 1 ? 'is' : 'are'} ${STATES[worst]}.`;
  return { ...own, level: worst, sentence };
}

export function buildStatus(facts: StatusFacts) {
  const { warehouse, accounts: runners, alerts, freshnessBudgetMinutes, worker, owner, uptimeMs } = facts;
  const { accountsRead: read, problem } = warehouse;
  // Ages are computed by the database's clock, because stored times are.
  const nowMs = facts.nowMs + (read === null ? 0 : read.databaseNowMs - read.readAtMs);
  const isDatabaseAway = problem !== null;
  const ofProcess = processProblems(facts);
  const accounts = runners.map(({ account, refusals, waits = [], differences = [] }) => {
    const failedReport = alerts.failedReports.find(({ accountId }) => accountId === account.id)?.code ?? null;
    const judged = judgeAccount(account, read, {
      ...{ nowMs, freshnessBudgetMinutes, refusals, waits, differences, failedReport, isDatabaseAway },
    });
    // The judgement of a single account includes that of the process.
    const problems = [...(runners.length === 1 ? ofProcess : []), ...judged.problems];
    return { ...judged, problems, isReady: isReliable(problems), verdict: judge(problems) };
  });
  const rank = ({ verdict }: (typeof accounts)[number]): number => LEVELS.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const [only] = accounts.length === 1 ? accounts : [];
  return {
    ...{ version: VERSION, owner, worker, uptimeMs, nowMs, alerts },
    database: {
      isUp: problem === null && read !== null,
      /** When the database was read; null: not yet. */
      readAtMs: read?.databaseNowMs ?? null,
      pendingMigrations: read?.pendingMigrations ?? null,
    },
    // One account that is not ready does not make the others so.
    isReady: only?.isReady ?? (isReliable(ofProcess) && accounts.some(({ isReady }) => isReady)),
    problems: only?.problems ?? ofProcess,
    verdict:
      only?.verdict ??
      judgeAll(
        ofProcess,
        accounts.map(({ verdict }) => verdict),
      ),
    /** Worst first, then by name. */
    accounts,
  };
}

/** Whether the accounts are known: they are not read before the migrations. */
export const areAccountsRead = ({ database }: Pick<Status, 'database'>): boolean =>
  database.readAtMs !== null && database.pendingMigrations === 0;
