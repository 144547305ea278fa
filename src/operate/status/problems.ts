/**
 * What is wrong, or will be: the one list of it. The page, the probes, /api/status, the metrics, alerts, `status` and `check`
 * show this list, or a part of it, and none of them judges by itself. It names the cause that holds now, once: what follows
 * from a cause is part of it. Pure.
 */
import { streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { ERROR_KINDS, type ErrorCode } from '../../shared/errors.ts';
import {
  capital,
  formatAge,
  formatDuration,
  formatNumber,
  formatTime,
  roughly,
} from '../../shared/format.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { TokenSource } from '../../shared/token-source.ts';
import type { Refusal } from '../health/account-health.ts';
import { budgetOf, type ProcessFacts, type StreamStatus, type WarehouseFacts } from './facts.ts';
import { lateWords } from './problem-words.ts';
import { type Given, type Problem, problem } from './problem.ts';

interface ProcessState extends Pick<ProcessFacts, 'worker' | 'migrationWaits' | 'alerts'> {
  readonly warehouse: Pick<WarehouseFacts, 'accountsRead' | 'problem'>;
}

/** Problems of all accounts of a worker, the worst first. */
export function processProblems(state: ProcessState): Problem[] {
  const { worker, migrationWaits, alerts, warehouse } = state;
  const { accountsRead: read, problem: away } = warehouse;
  const found: Problem[] = [];
  const add = (given: Given): void => void found.push(problem(given));
  if (worker === 'stopping') add({ kind: 'stopping', level: 'warning', isReason: true });
  if (away !== null) {
    const { code, message: quote, advice, sinceMs } = away;
    add({ kind: 'database_away', level: 'bad', isReason: true, code, quote, advice, sinceMs });
  } else if (read !== null && (read.pendingMigrations > 0 || read.arePendingViews)) {
    const isReason = read.pendingMigrations > 0;
    const detail = isReason ? formatNumber(read.pendingMigrations, 'migration') : 'views are left';
    add({ kind: 'migrating', level: 'busy', isReason, detail, note: migrationWaits });
  } else if (read === null || worker === 'starting') add({ kind: 'starting', level: 'busy', isReason: true });
  for (const { name: subject, waiting, problem: quote } of alerts.channels) {
    if (quote === null) continue;
    const note =
      waiting === 0 ? null : `${formatNumber(waiting, 'alert')} ${waiting === 1 ? 'waits' : 'wait'}.`;
    add({ kind: 'alerts_refused', level: 'warning', subject, quote, note });
  }
  return found;
}

/** The state of an account, as far as it decides what is wrong. Times are by the database's clock. */
export interface AccountProblems {
  readonly accountId: string;
  /** Empty: they were not read. */
  readonly streams: readonly StreamStatus[];
  /** Refusals that this process has met. */
  readonly refusals: readonly Refusal[];
  readonly tokenSource: TokenSource;
  readonly blockedUntilMs: number | null;
  /** Error code of the scheduled report, if its last attempt failed. */
  readonly failedReport: string | null;
  /** How stored data differs from the settings, one sentence each. */
  readonly differences: readonly string[];
  readonly isDatabaseAway: boolean;
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
}

/** By these nothing of the service is there: every stream that asks it fails alike. */
const AWAY: readonly string[] = ['network_error', 'request_timeout', 'response_not_json'];
/** Attempts that fail for so long are a problem; before, only the stream shows them. */
const AWAY_AFTER_MS = MINUTE_MS;

const isRefusal = (code: string | undefined): boolean =>
  code !== undefined && code in ERROR_KINDS && ERROR_KINDS[code as ErrorCode].recovery === 'fail_run';

const newestSuccess = (streams: readonly StreamStatus[]): number =>
  Math.max(0, ...streams.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));

/** The cause that stops streams, and those that are late by it. */
interface Cause {
  readonly problem: Problem;
  readonly stops: (stream: StreamName) => boolean;
}

/** Streams that only complete the others are never a reason against readiness. */
const completesOthers = (stream: StreamName): boolean => streamNamed(stream).staleAfterMs !== undefined;

const isLate = ({ isScheduled, freshness }: StreamStatus): boolean => isScheduled && freshness !== 'fresh';

/** A stream that is not synced by a schedule may still fail by hand. */
const isUsed = ({ offReason }: StreamStatus): boolean => offReason === null || offReason === 'not scheduled';

const nextIn = (ms: number, nowMs: number): string =>
  roughly(formatDuration(Math.max(SECOND_MS, ms - nowMs)));

function refusalsOf({ accountId, streams, refusals, nowMs, ...state }: AccountProblems): Cause[] {
  const { tokenSource } = state;
  const cause = (subject: StreamName, given: Partial<Problem>): Cause => ({
    problem: problem({
      ...{ kind: 'credentials_refused', level: 'bad', accountId, subject, tokenSource },
      ...{ isReason: true, isFailure: true, ...given },
    }),
    stops: (stream) => subject === '' || subject === stream,
  });
  const subjectOf = (code: string | null | undefined, stream: StreamName): string =>
    code === 'token_permission' ? stream : '';
  const newest = newestSuccess(streams);
  // Credentials with which another stream has succeeded since are accepted.
  const stored = streams.filter(
    (one) =>
      isUsed(one) &&
      isRefusal(one.failingWith) &&
      (one.failingWith === 'token_permission' || newest <= (one.failingSinceMs ?? 0)),
  );
  const causes = [
    ...refusals.map(({ stream, holdsAll, code, advice, sinceMs, nextTryMs }) =>
      cause(holdsAll ? '' : stream, {
        ...{ code, advice, sinceMs, note: `Next try in ${nextIn(nextTryMs, nowMs)}.` },
      }),
    ),
    ...stored.map(({ stream, failingWith: code, failingSinceMs: sinceMs, isRunning }) =>
      cause(subjectOf(code, stream), { code: code ?? null, sinceMs, isUndecided: isRunning }),
    ),
  ];
  return causes.filter(
    (one, at) => causes.findIndex((other) => other.problem.subject === one.problem.subject) === at,
  );
}

/** Attempts that fail now, or the last runs, show that the service is away, if nothing has succeeded since. */
function serviceAway({ accountId, streams, nowMs }: AccountProblems): Cause[] {
  const newest = newestSuccess(streams);
  const lasting = streams
    .flatMap(({ retry }) => retry ?? [])
    .filter(({ code, sinceMs }) => AWAY.includes(code) && nowMs - sinceMs >= AWAY_AFTER_MS)
    .filter(({ sinceMs }) => sinceMs > newest);
  const failing = streams.filter(
    (one) => isUsed(one) && AWAY.includes(one.failingWith ?? '') && (one.failingSinceMs ?? 0) > newest,
  );
  const [retry] = lasting;
  const [failed] = failing;
  if (retry === undefined && failed === undefined) return [];
  // Every retry is of a run that is under way.
  const stopped = streams.filter((one) => lasting.some((of) => of === one.retry) || failing.includes(one));
  const sinceMs = Math.min(
    ...lasting.map((one) => one.sinceMs),
    ...failing.flatMap(({ failingSinceMs }) => failingSinceMs ?? []),
  );
  return [
    {
      problem: problem({
        ...{ kind: 'service_away', level: 'warning', accountId, isFailure: true, sinceMs },
        code: retry?.code ?? failed?.failingWith ?? null,
        detail: retry === undefined || retry.reason === retry.code ? null : retry.reason,
        quote: retry === undefined ? (failed?.failedMessage ?? null) : null,
        isUndecided: retry === undefined && failing.every(({ isRunning }) => isRunning),
      }),
      stops: (stream) => stopped.some((one) => one.stream === stream),
    },
  ];
}

/** The streams that are late because of the cause are part of it. */
function withLate({ problem: cause, stops }: Cause, { streams, nowMs }: AccountProblems): Problem {
  const late = streams.filter((one) => isLate(one) && stops(one.stream) && !completesOthers(one.stream));
  const forMs = cause.sinceMs === null ? null : nowMs - cause.sinceMs;
  const notes = [
    cause.kind === 'service_away' && forMs !== null && `It has been so for ${nextIn(forMs, 0)}.`,
    late.length > 0 && `${capital(lateWords(late))}.`,
    cause.note,
  ];
  const note = notes.filter((text) => text !== null && text !== false).join(' ');
  const isBad = late.length > 0 || cause.level === 'bad';
  return { ...cause, level: isBad ? 'bad' : cause.level, isReason: cause.isReason || late.length > 0, note };
}

/** The service responds with the same list until then, so only a forced sync tries again before. */
const tryNow = ({ stream, currentUntilMs }: StreamStatus, nowMs: number): string | null =>
  (currentUntilMs ?? 0) > nowMs ? `To try again before it is due: safety-sync sync ${stream} --force` : null;

function streamProblems(one: StreamStatus, state: AccountProblems, isStopped: boolean): Problem[] {
  const { accountId, nowMs, freshnessBudgetMinutes, tokenSource } = state;
  const { stream, failingWith, failedReconcile, heldUpBy, lastSuccessMs, isRunning } = one;
  const found: Problem[] = [];
  const add = (given: Given): void =>
    void found.push(problem({ accountId, subject: stream, tokenSource, ...given }));
  const isReason = !completesOthers(stream);
  if (isLate(one) && !isStopped) {
    if (lastSuccessMs === null) {
      const level = failingWith !== undefined || heldUpBy !== null ? 'bad' : 'busy';
      add({ kind: 'never_synced', level: isReason ? level : 'note', isReason, isFailure: true });
    } else {
      const budgetMs = budgetOf(stream, freshnessBudgetMinutes);
      add({
        ...{ kind: 'stale', level: isReason ? 'bad' : 'warning', isReason, isFailure: true },
        detail: `no success within ${formatDuration(budgetMs)}`,
        note: `The last success was ${roughly(formatAge(lastSuccessMs, nowMs))}.`,
        code: failingWith ?? null,
      });
    }
  }
  if (!isUsed(one)) return found;
  if (heldUpBy !== null) add({ kind: 'held_up', level: 'warning', isFailure: true, detail: heldUpBy });
  if (failingWith !== undefined && !isStopped) {
    const kind = failingWith === 'delete_guard' ? 'delete_guard' : 'stream_failing';
    const note = tryNow(one, nowMs);
    // A database that lets no run in is a problem of its own; where it does again, the next run decides.
    const isUndecided = isRunning || failingWith === 'database_unreachable';
    add({
      ...{ kind, level: 'warning', isFailure: true, code: failingWith, isUndecided },
      ...{ note, sinceMs: one.failingSinceMs, quote: one.failedMessage },
    });
  } else if (failedReconcile !== null && failingWith === undefined) {
    const isGuard = failedReconcile === 'delete_guard';
    add({
      ...{ kind: isGuard ? 'delete_guard' : 'stream_failing', level: 'warning', isFailure: true },
      ...{ subject: isGuard ? stream : `reconcile of ${stream}`, code: failedReconcile },
      ...{ isUndecided: isRunning, note: 'Syncs do not do its work.' },
    });
  }
  if (one.repaired > 0)
    add({ kind: 'repaired', level: 'note', detail: formatNumber(one.repaired, 'change') });
  for (const field of one.newFields) add({ kind: 'new_field', level: 'note', subject: `${stream} ${field}` });
  return found;
}

/** Problems of one account, causes first. */
export function accountProblems(state: AccountProblems): Problem[] {
  const { accountId, streams, blockedUntilMs, failedReport, differences, isDatabaseAway } = state;
  const causes = [...refusalsOf(state), ...serviceAway(state)];
  const isStopped = ({ stream }: StreamStatus): boolean =>
    isDatabaseAway || causes.some(({ stops }) => stops(stream));
  const add = (given: Given): Problem => problem({ accountId, ...given });
  return [
    ...causes.map((cause) => withLate(cause, state)),
    ...streams.flatMap((one) => streamProblems(one, state, isStopped(one))),
    ...(failedReport === null ? [] : [add({ kind: 'report_failed', level: 'warning', code: failedReport })]),
    ...differences.map((detail) => add({ kind: 'differs', level: 'warning', detail })),
    ...(blockedUntilMs === null
      ? []
      : [
          add({
            kind: 'request_limit',
            level: 'note',
            detail: `Waiting for the request limit until ${formatTime(blockedUntilMs)}.`,
          }),
        ]),
  ];
}
