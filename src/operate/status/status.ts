/**
 * The Status: all data that operators see, for one account or several. It combines the last read of the warehouse with the
 * state of this process. Times are ms since 1970 by the database's clock; null: never, or unknown. Pure.
 */
import { capital } from '../../shared/format.ts';
import { VERSION } from '../../version.ts';
import { type JudgedAccount, type Judging, type StatusFacts, toStreamStatus } from './facts.ts';
import { describeProblems, type Problem } from './problem-words.ts';
import { accountProblems, processProblems } from './problems.ts';
import { type AccountsRead, UNKNOWN } from './read-accounts.ts';

/** The worst first. */
export const LEVELS = ['bad', 'warning', 'busy', 'good'] as const;
export type Level = (typeof LEVELS)[number];

/** The streams of an account and its problems. `read` null: not read yet. */
export function judgeAccount(account: JudgedAccount, read: AccountsRead | null, judging: Judging) {
  const { id: accountId } = account;
  const isRead = read?.accounts.has(accountId) === true;
  const { streams: facts, blockedUntilMs, change } = read?.accounts.get(accountId) ?? UNKNOWN;
  const streams = facts.map((one) => toStreamStatus(one, account, judging));
  const known = { account, change, streams: isRead ? streams : [], blockedUntilMs };
  const problems = accountProblems({ ...judging, ...known });
  return { accountId, streams, blockedUntilMs, problems };
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
  const { warehouse, channels, worker, owner, uptimeMs } = facts;
  const { accountsRead: read, problem } = warehouse;
  // Ages are computed by the database's clock, because stored times are.
  const nowMs = facts.nowMs + (read === null ? 0 : read.databaseNowMs - read.readAtMs);
  const ofProcess = processProblems(facts);
  const accounts = facts.accounts.map((account) => {
    const judged = judgeAccount(account, read, { ...facts, nowMs, isDatabaseAway: problem !== null });
    // The judgement of a single account includes that of the process.
    const problems = [...(facts.accounts.length === 1 ? ofProcess : []), ...judged.problems];
    return { ...judged, problems, isReady: isReliable(problems), verdict: judge(problems) };
  });
  const rank = ({ verdict }: (typeof accounts)[number]): number => LEVELS.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const [only] = accounts.length === 1 ? accounts : [];
  return {
    ...{ version: VERSION, owner, worker, uptimeMs, nowMs, alerts: { channels } },
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
