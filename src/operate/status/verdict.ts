/** Answers "is everything fresh?": one sentence for the status page, and reasons for `/readyz`. Pure. */
import { capital, formatAge, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
import type { AlertsStatus, DatabaseStatus, StreamStatus, Verdict, WorkerState } from './status.ts';

export interface Circumstances {
  readonly nowMs: number;
  readonly freshnessBudgetMinutes: number;
  readonly worker: WorkerState;
  readonly isSchedulerAlive: boolean;
  readonly database: DatabaseStatus;
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  readonly streams: readonly StreamStatus[];
  readonly alerts: AlertsStatus;
}

const age = (ms: number, nowMs: number): string => roughly(formatAge(ms, nowMs));

function freshnessReason(
  { stream, freshness, lastSuccessMs }: StreamStatus,
  at: Circumstances,
): string | null {
  switch (freshness) {
    case 'fresh':
      return null;
    case 'never':
      return `${stream} has never been synced`;
    case 'stale': {
      const budget = roughly(formatDuration(at.freshnessBudgetMinutes * MINUTE_MS));
      return `${stream} is stale: its last success was ${age(lastSuccessMs ?? 0, at.nowMs)}, the budget is ${budget}`;
    }
  }
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

function reasonOfDatabase(database: DatabaseStatus, nowMs: number): string | null {
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
export function processReasons(
  at: Pick<Circumstances, 'nowMs' | 'worker' | 'isSchedulerAlive' | 'database'>,
): string[] {
  const reasons: string[] = [];
  if (at.worker === 'stopping') reasons.push('the worker is stopping');
  if (!at.isSchedulerAlive) reasons.push('the scheduler has stopped');
  const databaseReason = reasonOfDatabase(at.database, at.nowMs);
  if (databaseReason !== null) reasons.push(databaseReason);
  const pending = at.database.pendingMigrations ?? 0;
  if (pending > 0)
    reasons.push(
      `${formatNumber(pending, 'migration')} of the warehouse ${pending === 1 ? 'is' : 'are'} pending`,
    );
  if (at.worker === 'starting' && reasons.length === 0) reasons.push('the worker is starting');
  return reasons;
}

/** Problems of the account itself: open circuits and stale streams. */
export function accountReasons(at: Circumstances): string[] {
  const reasons: string[] = [];
  for (const circuit of at.openCircuits) {
    const { what, response, next } = describeCircuit(circuit, at.nowMs);
    reasons.push(`${what} (${response}); ${next}`);
  }
  if (at.database.readAtMs === null) return reasons;
  const late = at.streams
    .filter(({ isScheduled }) => isScheduled)
    .flatMap((stream) => freshnessReason(stream, at) ?? []);
  // Causes come before their effects. During an outage of the service, data that is still fresh remains usable.
  const causes = at.outages.filter(({ dependency }) => dependency === 'service');
  return [
    ...reasons,
    ...(late.length === 0 ? [] : causes.map((one) => outageReason(one, at.nowMs))),
    ...late,
  ];
}

/** Why data must not be relied on now. Empty: ready. */
export function reasonsNotReady(at: Circumstances): string[] {
  return [...processReasons(at), ...accountReasons(at)];
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
  scheduled: readonly StreamStatus[],
  { openCircuits, outages, alerts }: Circumstances,
): string | null {
  const heldUp = scheduled.filter(({ heldUpBy }) => heldUpBy !== undefined);
  if (heldUp.length > 0) return `runs of ${heldUp.map(({ stream }) => stream).join(' and ')} are held up`;
  const failed = scheduled.filter(({ lastRun }) => lastRun?.status === 'failed');
  if (failed.length > 2) return `the last runs of ${failed.length} streams failed`;
  if (failed.length > 0) {
    const names = failed.map(({ stream }) => stream).join(' and ');
    return `the last run${failed.length === 1 ? '' : 's'} of ${names} failed`;
  }
  const denied = openCircuits.map(({ stream }) => stream).join(' and ');
  if (denied !== '') return `the service denies access to ${denied}`;
  const [outage] = outages;
  if (outage !== undefined) return `the ${outage.dependency} is unavailable`;
  return channelProblems(alerts).length === 0 ? null : 'alerts do not arrive';
}

/** Sessions without a run that hold locks of streams. */
export function heldUpReasons(streams: readonly Pick<StreamStatus, 'stream' | 'heldUpBy'>[]): string[] {
  return streams.flatMap(({ stream, heldUpBy }) =>
    heldUpBy === undefined ? [] : [`runs of ${stream} are held up, because its lock is held by ${heldUpBy}`],
  );
}

const CHANNEL_WORDS = { webhook: 'by the webhook', mail: 'by mail' } as const;

/** Channels that do not accept alerts. */
export function channelProblems({ channels }: AlertsStatus): string[] {
  return channels.flatMap(({ name, waiting, problem }) =>
    problem === null
      ? []
      : [
          `alerts do not arrive ${CHANNEL_WORDS[name]} (${problem.replace(/\.$/, '')})${waiting === 0 ? '' : `; ${formatNumber(waiting, 'alert')} ${waiting === 1 ? 'waits' : 'wait'}`}. Try it: safety-sync alerts test`,
        ],
  );
}

/** The list below the sentence: every reason and every outage, once each. */
function detailsOf(at: Circumstances): string[] {
  const isAway = at.database.problem !== null;
  const holdsAll = at.openCircuits.some((circuit) => circuit.holdsAll);
  const linesOf = (isUnreachable: boolean) =>
    at.outages
      .filter(({ dependency }) => (dependency === 'database' && isAway) === isUnreachable)
      .map((outage) => {
        const failed = `${formatNumber(outage.failedRuns, 'run')} failed`;
        return isUnreachable
          ? `the database has been unreachable for ${sinceOf(outage, at.nowMs)}; ${failed} meanwhile. ${outage.advice}`
          : `${outageReason(outage, at.nowMs)}; ${failed}`;
      });
  // The sentence above already states that the credentials are refused.
  const openCircuits = !holdsAll
    ? []
    : at.openCircuits.map((circuit) => {
        const { response, next } = describeCircuit(circuit, at.nowMs);
        return `it responds ${response}; ${next}`;
      });
  const others = reasonsNotReady({ ...at, outages: [], ...(holdsAll ? { openCircuits: [] } : {}) });
  return [
    ...openCircuits,
    ...linesOf(false),
    ...others,
    ...heldUpReasons(at.streams),
    ...linesOf(true),
    ...channelProblems(at.alerts),
  ];
}

export function buildVerdict(at: Circumstances): Verdict {
  const scheduled = at.streams.filter(({ isScheduled }) => isScheduled);
  const late = scheduled.filter(({ freshness }) => freshness !== 'fresh');
  const details = detailsOf(at).map(sentence);
  const verdict = (level: Verdict['level'], text: string): Verdict => ({ level, sentence: text, details });
  if (at.worker === 'stopping') return verdict('warning', 'The worker is stopping.');
  if (!at.isSchedulerAlive) return verdict('bad', 'The scheduler has stopped.');
  if (!at.database.isUp) {
    if (at.database.problem !== null) return verdict('bad', 'The database is unreachable.');
    return at.database.isSlow
      ? verdict('warning', 'The database responds slowly.')
      : verdict('busy', 'Starting.');
  }
  if (at.database.isTooOld) return verdict('warning', 'The database responds slowly.');
  if ((at.database.pendingMigrations ?? 0) > 0)
    return verdict('bad', 'Migrations of the warehouse are pending.');
  if (at.openCircuits.some(({ holdsAll }) => holdsAll))
    return verdict('bad', 'The service refuses the credentials.');
  // Several accounts, and no problem of the whole process.
  if (at.worker === 'starting' && at.streams.length === 0) return verdict('busy', 'Starting.');
  if (scheduled.length === 0) return verdict('warning', 'No stream is scheduled.');
  if (late.length > 0) {
    const isFirstSync = late.every(({ freshness, running, lastRun }) => {
      const isUnderWay = running !== null || lastRun === null;
      return freshness === 'never' && isUnderWay;
    });
    if (isFirstSync && at.openCircuits.length === 0) return verdict('busy', 'The first sync is under way.');
    return verdict('bad', staleSentence(scheduled, late));
  }
  const warning = warningOf(scheduled, at);
  return warning === null
    ? verdict('good', 'Everything is fresh.')
    : verdict('warning', `Everything is fresh, but ${warning}.`);
}
