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
import { streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Outage } from '../health/outage-log.ts';
import type { Refusal } from '../health/account-health.ts';
import { isEndedFromOutside } from './read-accounts.ts';
import {
  areAccountsRead,
  type Judgement,
  type Level,
  type ProcessStatus,
  streamProblems,
  type StreamStatus,
} from './status.ts';

interface AccountState {
  readonly streams: readonly StreamStatus[];
  readonly outages: readonly Outage[];
  readonly refusals: readonly Refusal[];
  /** The error code of the scheduled report, if its last attempt failed. */
  readonly failedReport?: string | undefined;
  /** How stored data differs from the settings, one sentence each. */
  readonly differences: readonly string[];
}

type LevelCounts = Readonly<Record<Level, number>>;

/** A level and its sentence. */
type Short = Pick<Judgement['verdict'], 'level' | 'sentence'>;

/** A problem that affects all accounts of a process. */
interface ProcessProblem extends Short {
  /** The problem in full. */
  readonly reason: string;
}

const age = (ms: number, nowMs: number): string => roughly(formatAge(ms, nowMs));
const withoutStop = (text: string): string => text.replace(/\.$/, '');
const streamNames = (streams: readonly { readonly stream: string }[]): string =>
  streams.map(({ stream }) => stream).join(' and ');

/** The worst one first. */
function processProblems({ worker, database, nowMs }: ProcessStatus): ProcessProblem[] {
  const { problem, readAtMs, isSlow, isTooOld } = database;
  const pending = database.pendingMigrations ?? 0;
  const problems: ProcessProblem[] = [];
  const add = (level: Level, sentence: string, reason: string) => problems.push({ level, sentence, reason });
  const addSlow = (what: string) =>
    add('warning', 'The database responds slowly.', `the database responds slowly: ${what}`);
  if (worker === 'stopping') add('warning', 'The worker is stopping.', 'the worker is stopping');
  if (problem !== null) add('bad', 'The database is unreachable.', `the database is unreachable: ${problem}`);
  else if (readAtMs !== null && isTooOld) addSlow(`its state was last read ${age(readAtMs, nowMs)}`);
  else if (readAtMs === null && isSlow) addSlow('nothing has been read from it yet');
  else if (readAtMs === null) add('busy', 'Starting.', 'the database has not been read yet');
  if (pending > 0) {
    const migrations = `${formatNumber(pending, 'migration')} of the warehouse ${pending === 1 ? 'is' : 'are'} pending`;
    add('bad', 'Migrations of the warehouse are pending.', migrations);
  }
  if (worker === 'starting' && problems.length === 0) add('busy', 'Starting.', 'the worker is starting');
  return problems;
}

const outageDuration = ({ sinceMs }: Outage, nowMs: number): string =>
  roughly(formatDuration(Math.max(SECOND_MS, nowMs - sinceMs)));

function outageReason(outage: Outage, nowMs: number): string {
  const { dependency, code, message } = outage;
  return `the ${dependency} has been unavailable for ${outageDuration(outage, nowMs)} (${code}: ${withoutStop(message)})`;
}

/** The refused object, unless it is known, the service's response, and the next trial. */
function describeRefusal(refusal: Refusal, nowMs: number, isKnown: boolean): string {
  const { code, message, advice, stream, holdsAll, nextTryMs } = refusal;
  const what = holdsAll
    ? 'the service refuses the credentials'
    : `the service denies this token access to ${stream}`;
  const response = `${code}: ${withoutStop(message)}`;
  const next = roughly(formatDuration(Math.max(SECOND_MS, nextTryMs - nowMs)));
  return `${isKnown ? `it responds ${response}` : `${what} (${response})`}; next try in ${next}. ${advice}`;
}

/** Streams that only complete the others are never a reason against readiness. */
const completesOthers = (stream: StreamName): boolean => streamNamed(stream).staleAfterMs !== undefined;

const lateOf = (streams: readonly StreamStatus[]): StreamStatus[] =>
  streams.filter(
    ({ stream, isScheduled, freshness }) => isScheduled && freshness !== 'fresh' && !completesOthers(stream),
  );

function lateReasons(streams: readonly StreamStatus[], at: ProcessStatus): string[] {
  if (!areAccountsRead(at.database)) return [];
  const budget = roughly(formatDuration(at.freshnessBudgetMinutes * MINUTE_MS));
  return lateOf(streams).map(({ stream, lastSuccessMs }) => {
    if (lastSuccessMs === null) return `${stream} has never been synced`;
    if (lastSuccessMs > at.nowMs)
      return `${stream} is stale: its last success has a time that is still to come, so a clock was put back`;
    return `${stream} is stale: its last success was ${age(lastSuccessMs, at.nowMs)}, the budget is ${budget}`;
  });
}

/** Problems of the account itself: refusals and stale streams. */
function accountReasons(at: ProcessStatus, { streams, outages, refusals }: AccountState): string[] {
  const late = lateReasons(streams, at);
  // Causes come before their effects. During an outage of the service, data that is still fresh remains usable.
  const causes = late.length === 0 ? [] : outages.filter(({ dependency }) => dependency === 'service');
  return [
    ...refusals.map((refusal) => describeRefusal(refusal, at.nowMs, false)),
    ...causes.map((outage) => outageReason(outage, at.nowMs)),
    ...late,
  ];
}

export const sentence = (text: string): string => `${capital(text)}${/[.!?…]$/.test(text) ? '' : '.'}`;

function staleSentence(scheduled: readonly StreamStatus[], late: readonly StreamStatus[]): string {
  if (late.length === scheduled.length && late.length > 1) return 'No stream is fresh.';
  const [only] = late;
  if (late.length > 1 || only === undefined)
    return `${late.length} of ${scheduled.length} streams are not fresh.`;
  return `${capital(only.stream)} ${only.freshness === 'never' ? 'has never been synced' : 'is stale'}.`;
}

/** Problems that will make streams stale if they last. */
function accountWarning(
  { streams, refusals, outages, failedReport, differences }: AccountState,
  channels: readonly string[],
): string | null {
  // A stream without a schedule is never late, but its runs by hand may fail.
  const used = streams.filter(({ offReason }) => offReason === null || offReason === 'not scheduled');
  const heldUp = used.filter(({ heldUpBy }) => heldUpBy !== undefined);
  if (heldUp.length > 0) return `runs of ${streamNames(heldUp)} are held up`;
  const failed = used.filter((one) => one.lastRun?.status === 'failed' && !isFirstSync(one));
  if (failed.length > 2) return `the last runs of ${failed.length} streams failed`;
  if (failed.length > 0)
    return `the last run${failed.length === 1 ? '' : 's'} of ${streamNames(failed)} failed`;
  const old = used.filter(({ stream, freshness }) => freshness === 'stale' && completesOthers(stream));
  if (old.length > 0) return `${streamNames(old)} ${old.length === 1 ? 'is' : 'are'} stale`;
  const unreconciled = used.filter(({ failedReconcile }) => failedReconcile !== undefined);
  if (unreconciled.length > 0) return `the last reconcile of ${streamNames(unreconciled)} failed`;
  if (refusals.length > 0) return `the service denies access to ${streamNames(refusals)}`;
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
          `alerts do not arrive ${CHANNEL_WORDS[name]} (${withoutStop(problem)})${waiting === 0 ? '' : `; ${formatNumber(waiting, 'alert')} ${waiting === 1 ? 'waits' : 'wait'}`}. Try it: safety-sync alerts test`,
        ],
  );
}

/** The list below the sentence: every reason and every outage, once each. `problems`: those of the process. */
function detailsOf(
  at: ProcessStatus,
  account: AccountState,
  { problems, channels }: { problems: readonly ProcessProblem[]; channels: readonly string[] },
): string[] {
  const { outages, refusals, streams, failedReport, differences } = account;
  const { nowMs, database } = at;
  const isAway = ({ dependency }: Outage): boolean => dependency === 'database' && database.problem !== null;
  const failedRuns = (outage: Outage): string => `${formatNumber(outage.failedRuns, 'run')} failed`;
  // The sentence above already states that the credentials are refused.
  const isRefused = refusals.some(({ holdsAll }) => holdsAll);
  const refused = refusals.map((refusal) => describeRefusal(refusal, nowMs, isRefused));
  return [
    ...(isRefused ? refused : []),
    ...outages
      .filter((outage) => !isAway(outage))
      .map((outage) => `${outageReason(outage, nowMs)}; ${failedRuns(outage)}`),
    ...problems.map(({ reason }) => reason),
    ...(isRefused ? [] : refused),
    ...lateReasons(streams, at),
    ...streamProblems(streams),
    ...outages
      .filter(isAway)
      .map(
        (outage) =>
          `the database has been unreachable for ${outageDuration(outage, nowMs)}; ${failedRuns(outage)} meanwhile. ${outage.advice}`,
      ),
    ...channels,
    ...(failedReport === undefined
      ? []
      : [
          `the report could not be made or sent (${failedReport}); it is tried again. ${adviceOf(failedReport)}`,
        ]),
    ...differences,
  ].map(sentence);
}

function judgeStreams(at: ProcessStatus, account: AccountState, channels: readonly string[]): Short {
  const { streams, refusals } = account;
  if (refusals.some(({ holdsAll }) => holdsAll))
    return { level: 'bad', sentence: 'The service refuses the credentials.' };
  const scheduled = streams.filter(({ stream, isScheduled }) => isScheduled && !completesOthers(stream));
  if (scheduled.length === 0) return { level: 'warning', sentence: 'No stream is scheduled.' };
  if (!areAccountsRead(at.database)) return { level: 'busy', sentence: 'Not read yet.' };
  const late = lateOf(scheduled);
  if (!late.every(isFirstSync)) return { level: 'bad', sentence: staleSentence(scheduled, late) };
  const state = late.length > 0 ? 'The first sync is under way' : 'Everything is fresh';
  const warning = accountWarning(account, channels);
  if (warning !== null) return { level: 'warning', sentence: `${state}, but ${warning}.` };
  return { level: late.length > 0 ? 'busy' : 'good', sentence: `${state}.` };
}

/** Whether the data of an account can be relied on. Problems of the process are listed with the account if it is the only one. */
export function judgeAccount(at: ProcessStatus, own: AccountState, isOnly: boolean): Judgement {
  const account = isOnly ? { ...own, outages: [...at.outages, ...own.outages] } : own;
  const problems = isOnly ? processProblems(at) : [];
  const channels = isOnly ? channelProblems(at) : [];
  const notReady = [...problems.map(({ reason }) => reason), ...accountReasons(at, account)];
  const { level, sentence: short } = problems[0] ?? judgeStreams(at, account, channels);
  const details = detailsOf(at, account, { problems, channels });
  return { isReady: notReady.length === 0, notReady, verdict: { level, sentence: short, details } };
}

function judgeCounts(counts: LevelCounts, total: number, channels: readonly string[]): Short {
  const share = (count: number): string => `${formatCount(count)} of ${formatNumber(total, 'account')}`;
  const { bad, busy, warning } = counts;
  if (bad > 0) return { level: 'bad', sentence: `${share(bad)} ${bad === 1 ? 'is' : 'are'} unhealthy.` };
  const have = `${share(warning)} ${warning === 1 ? 'has a warning' : 'have warnings'}`;
  if (busy > 0 && warning > 0) return { level: 'warning', sentence: `${have}.` };
  if (busy > 0 && channels.length > 0)
    return { level: 'warning', sentence: 'First syncs are under way, but alerts do not arrive.' };
  if (busy > 0) return { level: 'busy', sentence: 'First syncs are under way.' };
  if (warning > 0) return { level: 'warning', sentence: `Everything is fresh, but ${have}.` };
  if (channels.length > 0)
    return { level: 'warning', sentence: 'Everything is fresh, but alerts do not arrive.' };
  return { level: 'good', sentence: 'Everything is fresh.' };
}

/** Whether the data of several accounts can be relied on. The states of single accounts are in the counts. */
export function judgeAll(
  at: ProcessStatus,
  accounts: readonly Pick<Judgement, 'isReady'>[],
  counts: LevelCounts,
): Judgement {
  const problems = processProblems(at);
  const channels = channelProblems(at);
  const shared = { streams: [], refusals: [], outages: at.outages, differences: [] };
  const notReady = problems.map(({ reason }) => reason);
  if (notReady.length === 0 && !accounts.some(({ isReady }) => isReady)) notReady.push('no account is ready');
  const { level, sentence: short } = problems[0] ?? judgeCounts(counts, accounts.length, channels);
  const details = detailsOf(at, shared, { problems, channels });
  return { isReady: notReady.length === 0, notReady, verdict: { level, sentence: short, details } };
}
