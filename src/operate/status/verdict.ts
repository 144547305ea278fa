/** Answers "is everything fresh?": one sentence for the status page, and reasons for `/readyz`. Pure. */
import {
  capital,
  formatAge,
  formatCount,
  formatDuration,
  formatNumber,
  roughly,
} from '../../shared/format.ts';
import { adviceOf } from '../../shared/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
import { isEndedFromOutside } from './read-accounts.ts';
import {
  type AccountStatus,
  areAccountsRead,
  type Judgement,
  type Level,
  type ProcessStatus,
  type Status,
  streamProblems,
  type StreamStatus,
  type Verdict,
} from './status.ts';

interface AccountState extends Pick<AccountStatus, 'streams' | 'outages' | 'openCircuits'> {
  /** The error code of the scheduled report, if its last attempt failed. */
  readonly failedReport?: string | undefined;
  /** How stored data differs from the settings, one sentence each. */
  readonly differences?: readonly string[];
}
/** A level and its sentence. */
type Short = readonly [Level, string];

const age = (ms: number, nowMs: number): string => roughly(formatAge(ms, nowMs));

function freshnessReason(
  { stream, freshness, lastSuccessMs }: StreamStatus,
  at: ProcessStatus,
): string | null {
  if (freshness === 'fresh') return null;
  if (lastSuccessMs === null) return `${stream} has never been synced`;
  if (lastSuccessMs > at.nowMs)
    return `${stream} is stale: its last success has a time that is still to come, so a clock was put back`;
  const budget = roughly(formatDuration(at.freshnessBudgetMinutes * MINUTE_MS));
  return `${stream} is stale: its last success was ${age(lastSuccessMs, at.nowMs)}, the budget is ${budget}`;
}

const sinceOf = ({ sinceMs }: Outage, nowMs: number): string => age(sinceMs, nowMs).replace(/ ago$/, '');

function outageReason(outage: Outage, nowMs: number): string {
  const { dependency, code, message } = outage;
  return `the ${dependency} has been unavailable for ${sinceOf(outage, nowMs)} (${code}: ${message.replace(/\.$/, '')})`;
}

/** Describes an open circuit: the refused object, the service's response, and the next trial. */
function describeCircuit(
  { code, message, advice, stream, holdsAll, nextTryMs }: OpenCircuit,
  nowMs: number,
): { readonly what: string; readonly response: string; readonly next: string } {
  const what = holdsAll
    ? 'the service refuses the credentials'
    : `the service denies this token access to ${stream}`;
  const next = roughly(formatDuration(Math.max(SECOND_MS, nextTryMs - nowMs)));
  return {
    what,
    response: `${code}: ${message.replace(/\.$/, '')}`,
    next: `next try in ${next}. ${advice}`,
  };
}

function databaseReason({ database, nowMs }: ProcessStatus): string | null {
  const { problem, readAtMs, isSlow, isTooOld } = database;
  if (problem !== null) return `the database is unreachable: ${problem}`;
  if (readAtMs === null) {
    return isSlow
      ? 'the database responds slowly: nothing has been read from it yet'
      : 'the database has not been read yet';
  }
  return isTooOld ? `the database responds slowly: its state was last read ${age(readAtMs, nowMs)}` : null;
}

/** Problems that affect all accounts of a process. */
function processReasons(at: ProcessStatus): string[] {
  const reasons: string[] = [];
  if (at.worker === 'stopping') reasons.push('the worker is stopping');
  if (!at.isSchedulerAlive) reasons.push('the scheduler has stopped');
  reasons.push(...[databaseReason(at)].filter((reason) => reason !== null));
  const pending = at.database.pendingMigrations ?? 0;
  if (pending > 0)
    reasons.push(
      `${formatNumber(pending, 'migration')} of the warehouse ${pending === 1 ? 'is' : 'are'} pending`,
    );
  if (at.worker === 'starting' && reasons.length === 0) reasons.push('the worker is starting');
  return reasons;
}

/** Problems of the account itself: open circuits and stale streams. */
function accountReasons(at: ProcessStatus, { streams, outages, openCircuits }: AccountState): string[] {
  const reasons = openCircuits.map((circuit) => {
    const { what, response, next } = describeCircuit(circuit, at.nowMs);
    return `${what} (${response}); ${next}`;
  });
  if (!areAccountsRead(at.database)) return reasons;
  const late = streams
    .filter(({ isScheduled }) => isScheduled)
    .flatMap((stream) => freshnessReason(stream, at) ?? []);
  // Causes come before their effects. During an outage of the service, data that is still fresh remains usable.
  const causes = outages.filter(({ dependency }) => dependency === 'service');
  return [
    ...reasons,
    ...(late.length === 0 ? [] : causes.map((one) => outageReason(one, at.nowMs))),
    ...late,
  ];
}

export const sentence = (text: string): string => `${capital(text)}${/[.!?…]$/.test(text) ? '' : '.'}`;

function staleSentence(scheduled: readonly StreamStatus[], late: readonly StreamStatus[]): string {
  if (late.length === scheduled.length && late.length > 1) return 'No stream is fresh.';
  const [only] = late;
  if (late.length === 1 && only !== undefined) {
    return only.freshness === 'never'
      ? `${capital(only.stream)} has never been synced.`
      : `${capital(only.stream)} is stale.`;
  }
  return `${late.length} of ${scheduled.length} streams are not fresh.`;
}

/** Problems that will make streams stale if they last. */
function warningOf(
  { streams, openCircuits, outages, failedReport, differences = [] }: AccountState,
  channels: readonly string[],
): string | null {
  // A stream without a schedule is never late, but its runs by hand may fail.
  const used = streams.filter(({ offReason }) => offReason !== 'no equipment types');
  const heldUp = used.filter(({ heldUpBy }) => heldUpBy !== undefined);
  if (heldUp.length > 0) return `runs of ${heldUp.map(({ stream }) => stream).join(' and ')} are held up`;
  const failed = used.filter((one) => one.lastRun?.status === 'failed' && !isFirstSync(one));
  if (failed.length > 2) return `the last runs of ${failed.length} streams failed`;
  if (failed.length > 0) {
    const names = failed.map(({ stream }) => stream).join(' and ');
    return `the last run${failed.length === 1 ? '' : 's'} of ${names} failed`;
  }
  const unreconciled = used.filter((one) => one.failedReconcile !== undefined);
  if (unreconciled.length > 0)
    return `the last reconcile of ${unreconciled.map(({ stream }) => stream).join(' and ')} failed`;
  const denied = openCircuits.map(({ stream }) => stream).join(' and ');
  if (denied !== '') return `the service denies access to ${denied}`;
  const [outage] = outages;
  if (outage !== undefined) return `the ${outage.dependency} is unavailable`;
  if (channels.length > 0) return 'alerts do not arrive';
  if (failedReport !== undefined) return 'the last report failed';
  return differences.length === 0 ? null : 'stored data differs from the settings';
}

function isFirstSync({ freshness, running, lastRun, heldUpBy }: StreamStatus): boolean {
  if (freshness !== 'never' || heldUpBy !== undefined) return false;
  if (lastRun === null) return true;
  return running !== null && (lastRun.status !== 'failed' || isEndedFromOutside(lastRun));
}

export const CHANNEL_WORDS = { webhook: 'by the webhook', mail: 'by mail' } as const;

/** Channels that do not accept alerts. */
function channelProblems({ alerts }: ProcessStatus): string[] {
  return alerts.channels.flatMap(({ name, waiting, problem }) =>
    problem === null
      ? []
      : [
          `alerts do not arrive ${CHANNEL_WORDS[name]} (${problem.replace(/\.$/, '')})${waiting === 0 ? '' : `; ${formatNumber(waiting, 'alert')} ${waiting === 1 ? 'waits' : 'wait'}`}. Try it: safety-sync alerts test`,
        ],
  );
}

/** The list below the sentence: every reason and every outage, once each. `isProcess`: with those of the process. */
function detailsOf(at: ProcessStatus, account: AccountState, isProcess: boolean): string[] {
  const { outages, openCircuits, streams, failedReport, differences = [] } = account;
  const isAway = at.database.problem !== null;
  const isRefused = openCircuits.some(({ holdsAll }) => holdsAll);
  const describeOutages = (isUnreachable: boolean) =>
    outages
      .filter(({ dependency }) => (dependency === 'database' && isAway) === isUnreachable)
      .map((outage) => {
        const failed = `${formatNumber(outage.failedRuns, 'run')} failed`;
        return isUnreachable
          ? `the database has been unreachable for ${sinceOf(outage, at.nowMs)}; ${failed} meanwhile. ${outage.advice}`
          : `${outageReason(outage, at.nowMs)}; ${failed}`;
      });
  // The sentence above already states that the credentials are refused.
  const refusals = !isRefused
    ? []
    : openCircuits.map((circuit) => {
        const { response, next } = describeCircuit(circuit, at.nowMs);
        return `it responds ${response}; ${next}`;
      });
  return [
    ...refusals,
    ...describeOutages(false),
    ...(isProcess ? processReasons(at) : []),
    ...accountReasons(at, { streams, outages: [], openCircuits: isRefused ? [] : openCircuits }),
    ...streamProblems(streams),
    ...describeOutages(true),
    ...(isProcess ? channelProblems(at) : []),
    ...(failedReport === undefined
      ? []
      : [
          `the report could not be made or sent (${failedReport}); it is tried again. ${adviceOf(failedReport)}`,
        ]),
    ...differences,
  ].map(sentence);
}

/** null: the process has no problem. */
function judgeProcess({ worker, isSchedulerAlive, database }: ProcessStatus): Short | null {
  if (worker === 'stopping') return ['warning', 'The worker is stopping.'];
  if (!isSchedulerAlive) return ['bad', 'The scheduler has stopped.'];
  if (database.problem !== null) return ['bad', 'The database is unreachable.'];
  if (database.isTooOld || (!database.isUp && database.isSlow))
    return ['warning', 'The database responds slowly.'];
  if (!database.isUp) return ['busy', 'Starting.'];
  if (!areAccountsRead(database)) return ['bad', 'Migrations of the warehouse are pending.'];
  return worker === 'starting' ? ['busy', 'Starting.'] : null;
}

function judgeStreams(at: ProcessStatus, account: AccountState, channels: readonly string[]): Short {
  const { streams, openCircuits } = account;
  if (openCircuits.some(({ holdsAll }) => holdsAll)) return ['bad', 'The service refuses the credentials.'];
  const scheduled = streams.filter(({ isScheduled }) => isScheduled);
  if (scheduled.length === 0) return ['warning', 'No stream is scheduled.'];
  if (!areAccountsRead(at.database)) return ['busy', 'Not read yet.'];
  const late = scheduled.filter(({ freshness }) => freshness !== 'fresh');
  if (!late.every(isFirstSync)) return ['bad', staleSentence(scheduled, late)];
  const [level, state]: Short =
    late.length > 0 ? ['busy', 'The first sync is under way'] : ['good', 'Everything is fresh'];
  const warning = warningOf(account, channels);
  return warning === null ? [level, `${state}.`] : ['warning', `${state}, but ${warning}.`];
}

const toVerdict = ([level, text]: Short, details: readonly string[]): Verdict => ({
  level,
  sentence: text,
  details,
});

/** Whether the data of an account can be relied on. Problems of the process are listed with the account if it is the only one. */
export function judgeAccount(at: ProcessStatus, own: AccountState, isOnly: boolean): Judgement {
  const account = isOnly ? { ...own, outages: [...at.outages, ...own.outages] } : own;
  const notReady = [...(isOnly ? processReasons(at) : []), ...accountReasons(at, account)];
  const channels = isOnly ? channelProblems(at) : [];
  const short = (isOnly ? judgeProcess(at) : null) ?? judgeStreams(at, account, channels);
  return {
    isReady: notReady.length === 0,
    notReady,
    verdict: toVerdict(short, detailsOf(at, account, isOnly)),
  };
}

function judgeCounts(counts: Status['counts'], total: number, channels: readonly string[]): Short {
  const share = (count: number): string => `${formatCount(count)} of ${formatNumber(total, 'account')}`;
  const { bad, busy, warning } = counts;
  if (bad > 0) return ['bad', `${share(bad)} ${bad === 1 ? 'is' : 'are'} unhealthy.`];
  const have = `${share(warning)} ${warning === 1 ? 'has a warning' : 'have warnings'}`;
  if (busy > 0) return warning > 0 ? ['warning', `${have}.`] : ['busy', 'First syncs are under way.'];
  if (warning > 0) return ['warning', `Everything is fresh, but ${have}.`];
  return channels.length === 0
    ? ['good', 'Everything is fresh.']
    : ['warning', 'Everything is fresh, but alerts do not arrive.'];
}

/** Whether the data of several accounts can be relied on. */
export function judgeAll(
  at: ProcessStatus,
  accounts: readonly AccountStatus[],
  counts: Status['counts'],
): Judgement {
  const reasons = processReasons(at);
  if (reasons.length > 0) {
    const short: Short = judgeProcess(at) ?? ['busy', 'Starting.'];
    const details = detailsOf(at, { streams: [], openCircuits: [], outages: at.outages }, true);
    return { isReady: false, notReady: reasons, verdict: toVerdict(short, details) };
  }
  const isReady = accounts.some((account) => account.isReady);
  const channels = channelProblems(at);
  return {
    isReady,
    notReady: isReady ? [] : ['no account is ready'],
    // The states of single accounts are in the counts.
    verdict: toVerdict(judgeCounts(counts, accounts.length, channels), channels.map(sentence)),
  };
}
