/**
 * The one list of present and coming problems. The page, the probes, /api/status, the metrics, alerts, `status` and `check`
 * show this list, or a part of it, and none of them judges by itself; operate/worker/read-problems.ts adds a worker that is
 * missed, for the verbs, which run without one. It names the cause that holds now, once: what follows
 * from a cause is part of it. Pure.
 */
import { streamNamed } from '../../engine/streams/index.ts';
import {
  type AccountChange,
  commandOf,
  describeChange,
} from '../../engine/control-tables/account-changes.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { ERROR_KINDS, type ErrorCode } from '../../shared/errors.ts';
import { formatAge, formatDuration, formatNumber, formatTime, roughly } from '../../shared/format.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { budgetOf, type JudgedAccount, type Judging, type StatusFacts, type StreamStatus } from './facts.ts';
import { problem, type Problem, streamNames, waitWords } from './problem-words.ts';

/** Problems of the process itself, for all its accounts. */
export function processProblems(state: StatusFacts): Problem[] {
  const { worker, migrationWaits, channels, warehouse, accounts, nowMs } = state;
  const { accountsRead: read, problem: away } = warehouse;
  const found: Problem[] = [];
  if (worker === 'stopping') found.push(problem({ kind: 'stopping', level: 'warning', isReason: true }));
  if (away !== null) {
    const { message: quote, ...about } = away;
    found.push(problem({ kind: 'database_away', level: 'bad', isReason: true, quote, ...about }));
  } else if (read !== null && (read.pendingMigrations > 0 || read.arePendingViews)) {
    const isReason = read.pendingMigrations > 0;
    const detail = isReason ? formatNumber(read.pendingMigrations, 'migration') : 'views are left';
    found.push(problem({ kind: 'migrating', level: 'busy', isReason, detail, note: migrationWaits }));
  } else if (read === null || worker === 'starting') {
    const [wait] = accounts.flatMap(({ waits = [] }) => waits);
    const note = wait === undefined ? null : waitWords(wait, nowMs);
    found.push(problem({ kind: 'starting', level: 'busy', isReason: true, note }));
  }
  for (const { name: subject, problem: quote } of channels)
    if (quote !== null) found.push(problem({ kind: 'alerts_refused', level: 'warning', subject, quote }));
  return found;
}

/** The state of an account, as far as it decides what is wrong. */
interface AccountState extends Judging {
  readonly account: JudgedAccount;
  /** Empty: they were not read. */
  readonly streams: readonly StreamStatus[];
  readonly blockedUntilMs: number | null;
  readonly change: AccountChange | null;
}

/** By these nothing of the service is there: every stream that asks it fails alike. */
const AWAY: readonly (string | null)[] = ['network_error', 'request_timeout', 'response_not_json'];

const isRefusal = (code: string | null): boolean =>
  code !== null && code in ERROR_KINDS && ERROR_KINDS[code as ErrorCode].recovery === 'fail_run';

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

const span = (ms: number): string => roughly(formatDuration(Math.max(SECOND_MS, ms)));

/** Problems that stop all streams, or one for good: refused credentials, a service that is away. */
function causesOf({ account, streams, nowMs }: AccountState): Cause[] {
  const { id: accountId, refusals = [] } = account;
  const newest = Math.max(0, ...streams.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));
  const used = streams.filter(isUsed);
  const refused = (subject: string, given: Partial<Problem>): Cause => ({
    problem: problem({
      ...{ kind: 'credentials_refused', level: 'bad', accountId, subject },
      ...{ isReason: true, isFailure: true, ...given },
    }),
    stops: (stream) => subject === '' || subject === stream,
  });
  const causes = refusals.map(({ subject, code, advice, sinceMs, nextTryMs }) =>
    refused(subject, {
      ...{ code, advice, sinceMs, note: `Next try in ${span(nextTryMs - nowMs)}.` },
    }),
  );
  for (const { stream, failingWith: code, failingSinceMs: sinceMs, failedAtMs } of used) {
    const isOfStream = code === 'token_permission';
    // Credentials with which another stream has succeeded since are accepted.
    if (isRefusal(code) && (isOfStream || newest <= (failedAtMs ?? 0)))
      causes.push(refused(isOfStream ? stream : '', { code, sinceMs }));
  }
  // The service is away if nothing has succeeded since: by the last runs, or by requests that fail for a minute.
  const away = used.flatMap(({ stream, wait, failingWith: code, failedMessage, ...one }) => {
    if (
      wait !== null &&
      AWAY.includes(wait.code) &&
      nowMs - wait.sinceMs >= MINUTE_MS &&
      wait.sinceMs > newest
    )
      return [{ stream, code: wait.code, sinceMs: wait.sinceMs, quote: wait.reason }];
    if (!AWAY.includes(code) || (one.failedAtMs ?? 0) <= newest) return [];
    return [{ stream, code, sinceMs: Math.max(one.failingSinceMs ?? 0, newest), quote: failedMessage }];
  });
  const failing = used.filter(({ failingWith }) => failingWith !== null).map(({ stream }) => stream);
  const [first] = away;
  if (first !== undefined) {
    const sinceMs = Math.min(...away.map((one) => one.sinceMs));
    causes.push({
      problem: problem({
        ...{ kind: 'service_away', level: 'warning', accountId, isFailure: true, sinceMs },
        ...{ code: first.code, quote: first.quote, note: `It has been so for ${span(nowMs - sinceMs)}.` },
      }),
      // A stream that failed for another reason has a problem of its own.
      stops: (stream) => away.some((one) => one.stream === stream) || !failing.includes(stream),
    });
  }
  return causes.filter(
    ({ problem: { kind, subject } }, at) =>
      causes.findIndex(({ problem: one }) => one.kind === kind && one.subject === subject) === at,
  );
}

/** The streams that are late because of the cause are part of it. */
function withLate({ problem: cause, stops }: Cause, { streams }: AccountState): Problem {
  const late = streams.filter((one) => isLate(one) && stops(one.stream) && !completesOthers(one.stream));
  if (late.length === 0) return cause;
  const names = streamNames(late.map(({ stream }) => stream));
  const note = `Not fresh because of it: ${names}. ${cause.note ?? ''}`.trim();
  return { ...cause, level: 'bad', isReason: true, note };
}

function streamProblems(one: StreamStatus, state: AccountState, isStopped: boolean): Problem[] {
  const { account, nowMs, freshnessBudgetMinutes, blockedUntilMs } = state;
  const { stream, failingWith, failedReconcile, lastSuccessMs } = one;
  const found: Problem[] = [];
  const add = (given: Parameters<typeof problem>[0]): void =>
    void found.push(problem({ accountId: account.id, subject: stream, ...given }));
  const isReason = !completesOthers(stream);
  if (isLate(one) && !isStopped) {
    if (lastSuccessMs === null) {
      const level = failingWith !== null ? 'bad' : 'busy';
      add({ kind: 'never_synced', level: isReason ? level : 'note', isReason, isFailure: true });
    } else
      add({
        ...{ kind: 'stale', level: isReason ? 'bad' : 'warning', isReason, isFailure: true },
        detail: `no success within ${formatDuration(budgetOf(stream, freshnessBudgetMinutes))}`,
        note: `The last success was ${roughly(formatAge(lastSuccessMs, nowMs))}.`,
        code: failingWith ?? (blockedUntilMs === null ? null : 'rate_limit_exceeded'),
      });
  }
  if (!isUsed(one)) return found;
  if (one.heldUpBy !== null)
    add({ kind: 'held_up', level: 'warning', isFailure: true, detail: one.heldUpBy });
  const kindOf = (code: string) => (code === 'delete_guard' ? 'delete_guard' : 'stream_failing');
  if (failingWith !== null && !isStopped) {
    // The service responds with the same list until then, so only a forced sync tries again before.
    const isEarly = (one.currentUntilMs ?? 0) > nowMs;
    add({
      ...{ kind: kindOf(failingWith), level: 'warning', isFailure: true, code: failingWith },
      note: isEarly ? `To try again before it is due: safety-sync sync ${stream} --force` : null,
      ...{ sinceMs: one.failingSinceMs, quote: one.failedMessage },
    });
  } else if (failedReconcile !== null && failingWith === null) {
    const kind = kindOf(failedReconcile);
    add({
      ...{ kind, level: 'warning', isFailure: true, code: failedReconcile },
      ...{ subject: kind === 'delete_guard' ? stream : `reconcile of ${stream}` },
      note: 'Syncs do not do its work.',
    });
  }
  if (one.repaired > 0)
    add({ kind: 'repaired', level: 'note', detail: formatNumber(one.repaired, 'change') });
  for (const field of one.newFields) add({ kind: 'new_field', level: 'note', subject: `${stream} ${field}` });
  return found;
}

/** Problems of one account, causes first. */
export function accountProblems(state: AccountState): Problem[] {
  const { streams, blockedUntilMs, change, failedReports, isDatabaseAway = false } = state;
  const { id: accountId, differences = [] } = state.account;
  const causes = causesOf(state);
  const found = [
    ...causes.map((cause) => withLate(cause, state)),
    ...streams.flatMap((one) =>
      streamProblems(one, state, isDatabaseAway || causes.some(({ stops }) => stops(one.stream))),
    ),
  ];
  if (change !== null) {
    const [detail, note] = [describeChange(change), `Finish it: ${commandOf(change)}`];
    const level = { level: 'bad', isReason: true, isFailure: true } as const;
    found.unshift(problem({ kind: 'changing', accountId, ...level, detail, note }));
  }
  const code = failedReports.get(accountId);
  if (code !== undefined) found.push(problem({ kind: 'report_failed', level: 'warning', accountId, code }));
  for (const detail of differences)
    found.push(problem({ kind: 'differs', level: 'warning', accountId, detail }));
  if (blockedUntilMs !== null) {
    const detail = `Nothing is requested: waiting for the request limit until ${formatTime(blockedUntilMs)}.`;
    found.push(problem({ kind: 'request_limit', level: 'note', accountId, detail }));
  }
  return found;
}
