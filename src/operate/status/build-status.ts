/**
 * The Status: all data that operators see, for one account or thousands. It combines the last read of the warehouse with the
 * state of this process. Pure.
 */
import { offReasonOf } from '../../config/account-config.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { Refusal } from '../health/account-health.ts';
import type { Outage } from '../health/outage-log.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { type AccountDetail, buildDetail } from './account-detail.ts';
import { databaseOffsetMs, type StreamFacts, UNKNOWN_STREAMS } from './read-accounts.ts';
import type {
  AccountFacts,
  StatusFacts,
  WarehouseFacts,
  DatabaseStatus,
  Freshness,
  Judgement,
  Level,
  ProcessStatus,
  ServiceLoad,
  StreamStatus,
} from './status.ts';
import { differencesOf } from './storage-rules.ts';
import { judgeAccount, judgeAll } from './verdict.ts';
import { VERSION } from '../../version.ts';

export interface AccountStatus extends Judgement {
  readonly accountId: string;
  readonly openIssues: number;
  readonly streams: readonly StreamStatus[];
  readonly outages: readonly Outage[];
  readonly refusals: readonly Refusal[];
  /** null: no request was sent to its service yet. */
  readonly service: ServiceLoad | null;
  /** No request to its service starts before; null: nothing is blocked. */
  readonly blockedUntilMs: number | null;
  /** Present when the account was read in full. */
  readonly detail?: AccountDetail;
}

/** The judgement of a single account includes that of the process. */
export interface Status extends ProcessStatus, Judgement {
  /** All accounts, also those on other pages. */
  readonly accountCount: number;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountStatus[];
  /** Where `accounts` are one page of several; page numbers start at 1. */
  readonly page?: number;
  readonly pages?: number;
}

/** Slightly more than the worker's interval between reads (ten seconds). */
const OLD_MS = 12 * SECOND_MS;
/** A read older than this is not relied on. */
const TOO_OLD_MS = 2 * MINUTE_MS;

/** `nowMs` and the result are by the database's clock. */
function databaseOf({ accountsRead, problem, isSlow }: WarehouseFacts, nowMs: number): DatabaseStatus {
  const readAtMs = accountsRead?.databaseNowMs ?? null;
  const ageMs = readAtMs === null ? 0 : nowMs - readAtMs;
  return {
    isUp: problem === null && accountsRead !== null,
    readAtMs,
    isSlow,
    isOld: ageMs > OLD_MS,
    isTooOld: ageMs > TOO_OLD_MS,
    problem,
    pendingMigrations: accountsRead?.pendingMigrations ?? null,
  };
}

/** A success may be later than the judged moment by this much, because a slow read meets newer rows. */
const MOST_AHEAD_MS = 5 * MINUTE_MS;

/** Whether a success has a time that is still to come, because a clock was put back: its age is unknown. */
const isAhead = (successMs: number, nowMs: number): boolean => successMs > nowMs + MOST_AHEAD_MS;

/**
 * Whether a stream is as fresh as promised. While the service's cache is valid, no new data exists, so it counts as fresh.
 * After a clock was put back, the age of the last success is unknown, so it counts as stale until the next one.
 */
export function freshnessOf(
  { stream, lastSuccessMs, currentUntilMs }: Pick<StreamFacts, 'stream' | 'lastSuccessMs' | 'currentUntilMs'>,
  nowMs: number,
  budgetMinutes: number,
): Freshness {
  if (lastSuccessMs === null) return 'never';
  if (isAhead(lastSuccessMs, nowMs)) return 'stale';
  const currentMs = Math.max(lastSuccessMs, currentUntilMs ?? lastSuccessMs);
  return nowMs - currentMs > budgetOf(stream, budgetMinutes) ? 'stale' : 'fresh';
}

/** Time after its last success, in ms, from which a stream is stale. */
export const budgetOf = (stream: StreamName, budgetMinutes: number): number =>
  streamNamed(stream).staleAfterMs ?? budgetMinutes * MINUTE_MS;

const shifted = (outage: Outage | undefined, offMs: number): Outage[] =>
  outage === undefined ? [] : [{ ...outage, sinceMs: outage.sinceMs + offMs }];

const WORST_FIRST: readonly Level[] = ['bad', 'warning', 'busy', 'good'];

export function buildStatus(facts: StatusFacts): Status {
  const { warehouse, databaseOutage, accounts: runners, nextRuns, ...rest } = facts;
  const { accountsRead } = warehouse;
  // Ages are computed by the database's clock, because stored times are.
  const offMs = databaseOffsetMs(accountsRead);
  const nowMs = facts.nowMs + offMs;
  const database = databaseOf(warehouse, nowMs);
  // While the database is up, data is judged as of the read, because later changes are unknown. While it is away, no new
  // data is stored, so the data grows old.
  const judgedMs = database.isUp && database.readAtMs !== null ? Math.min(nowMs, database.readAtMs) : nowMs;
  const process: ProcessStatus = {
    version: VERSION,
    ...rest,
    nowMs,
    startedMs: facts.startedMs + offMs,
    database,
    outages: shifted(databaseOutage, offMs),
  };

  function toStream(one: StreamFacts, { account, health }: AccountFacts): StreamStatus {
    const offReason = offReasonOf(account.offReasons, one);
    return {
      isScheduled: offReason === null,
      offReason,
      isRefused: health.refusals.some(({ holdsAll, stream }) => holdsAll || stream === one.stream),
      freshness: freshnessOf(one, judgedMs, facts.freshnessBudgetMinutes),
      // At the end, because spreading first takes ten times as long, which counts for thousands of accounts.
      ...one,
    };
  }

  function toAccount(runner: AccountFacts): AccountStatus {
    const { health } = runner;
    const { id: accountId } = runner.account;
    const streams = (accountsRead?.accounts.get(accountId) ?? UNKNOWN_STREAMS).map((one) =>
      toStream(one, runner),
    );
    const detail = nextRuns === null ? undefined : buildDetail(runner, streams, { facts, judgedMs });
    const account = {
      streams,
      outages: shifted(health.outage, offMs),
      refusals: health.refusals.map((one) => ({
        ...one,
        sinceMs: one.sinceMs + offMs,
        nextTryMs: one.nextTryMs + offMs,
      })),
    };
    return {
      accountId,
      ...account,
      ...judgeAccount(
        process,
        {
          ...account,
          failedReport: process.alerts.failedReports.find((one) => one.accountId === accountId)?.code,
          differences: detail === undefined ? [] : differencesOf(detail),
        },
        runners.length === 1,
      ),
      openIssues: streams.reduce((sum, { openIssues }) => sum + openIssues, 0),
      service: runner.pressure,
      blockedUntilMs: accountsRead?.blocked.get(accountId) ?? null,
      ...(detail === undefined ? {} : { detail }),
    };
  }

  const accounts = runners.map(toAccount);
  const rank = ({ verdict }: AccountStatus): number => WORST_FIRST.indexOf(verdict.level);
  accounts.sort((one, other) => rank(one) - rank(other) || (one.accountId < other.accountId ? -1 : 1));
  const counts: Record<Level, number> = { good: 0, busy: 0, warning: 0, bad: 0 };
  for (const { verdict } of accounts) counts[verdict.level] += 1;
  const [only] = accounts.length === 1 ? accounts : [];
  const { isReady, notReady, verdict } = only ?? judgeAll(process, accounts, counts);
  return { ...process, isReady, notReady, verdict, accountCount: accounts.length, counts, accounts };
}

/** One page of the accounts. The counts still cover all accounts. */
export function pageOf(status: Status, page: number, size: number): Status {
  const pages = Math.max(1, Math.ceil(status.accounts.length / size));
  const at = Math.min(Math.max(1, page), pages);
  return { ...status, accounts: status.accounts.slice((at - 1) * size, at * size), page: at, pages };
}
