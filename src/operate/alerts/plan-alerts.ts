/** Compares the alerts of one channel with the present problems. Pure. */
import type { AlertChannel, AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { isAlertEvent } from '../status/problem-words.ts';
import type { Problem } from '../status/problem.ts';
import type { Status } from '../status/status.ts';
import { type AlertRow, textOfKey } from './outbox.ts';

interface AlertPlan {
  readonly changed: readonly AlertRow[];
  readonly dropped: readonly AlertRow[];
  /** The rows of the next message. */
  readonly due: readonly AlertRow[];
}

interface PlanOptions {
  readonly channel: AlertChannel;
  /** ALERT_AFTER_MINUTES */
  readonly afterMs: number;
}

/** Sent without delay: a later run may hide these problems but does not correct them. */
const AT_ONCE: readonly AlertEvent[] = ['repaired', 'new_field'];
/** Why streams become stale. */
const CAUSES: readonly AlertEvent[] = ['credentials_refused', 'service_away'];
/** Only a success ends these: a stream that fails for another reason has not succeeded. */
const UNTIL_SUCCESS: readonly AlertEvent[] = [...CAUSES, 'stale', 'stream_failing', 'delete_guard'];

export type Recorded = Problem & { readonly kind: AlertEvent; readonly accountId: string };
type AccountStatus = Status['accounts'][number];

/** The problems that are recorded. An outage of the database cannot be, and each worker sends its own: see notifier.ts. */
export const recordedOf = ({ problems }: Pick<AccountStatus, 'problems'>): Recorded[] =>
  problems.filter(
    (one): one is Recorded =>
      one.accountId !== null && isAlertEvent(one.kind) && one.kind !== 'database_away',
  );

export const keyOf = ({ accountId, kind, subject }: Recorded): string =>
  textOfKey({ accountId, event: kind, subject });

/** The stream of an alert, or all that have a schedule. */
const streamsOf = ({ streams }: AccountStatus, subject: string) =>
  subject === ''
    ? streams.filter(({ isScheduled }) => isScheduled)
    : streams.filter(({ stream }) => subject === stream || subject === `reconcile of ${stream}`);

const hasSucceeded = (account: AccountStatus, { event, subject, beganMs }: AlertRow): boolean =>
  !UNTIL_SUCCESS.includes(event) ||
  streamsOf(account, subject).some(({ stream, lastSuccessMs, failedReconcile }) =>
    ['', stream].includes(subject) ? (lastSuccessMs ?? 0) > beganMs : failedReconcile === null,
  );

/** Whether a stream that was switched off would succeed is unknown. */
const isOff = (account: AccountStatus, { subject }: Pick<AlertRow, 'subject'>): boolean =>
  subject !== '' && streamsOf(account, subject).some(({ offReason }) => offReason !== null);

/** `rows`: of the channel. */
export function planAlerts(
  rows: readonly AlertRow[],
  { accounts, nowMs }: Pick<Status, 'accounts' | 'nowMs'>,
  { channel, afterMs }: PlanOptions,
): AlertPlan {
  const present = accounts.flatMap((account) => recordedOf(account).filter((one) => !isOff(account, one)));
  const problems = new Map(present.map((one) => [keyOf(one), one]));
  const accountOf = new Map(accounts.map((one) => [one.accountId, one]));
  const isCaused = ({ kind, accountId, subject }: Recorded): boolean =>
    kind === 'stale' &&
    rows.some(
      (row) =>
        row.accountId === accountId &&
        row.endedMs === null &&
        CAUSES.includes(row.event) &&
        ['', subject].includes(row.subject),
    );
  const dueOf = (event: AlertEvent): number => nowMs + (AT_ONCE.includes(event) ? 0 : afterMs);
  const known = new Set(rows.map(textOfKey));
  const begun = [...problems]
    .filter(([key, one]) => !known.has(key) && !isCaused(one))
    .map(([, { accountId, kind: event, subject, code, detail, sinceMs }]): AlertRow => {
      const beganMs = Math.min(sinceMs ?? nowMs, nowMs);
      const unsent = { endedMs: null, sentMs: null, tries: 0, problem: null };
      return {
        ...{ accountId, event, subject, channel, code, detail },
        ...{ beganMs, dueMs: dueOf(event), ...unsent },
      };
    });
  const changed: AlertRow[] = [...begun];
  const dropped: AlertRow[] = [];
  const staying: AlertRow[] = [];
  for (const row of rows) {
    const { endedMs, sentMs, tries, event } = row;
    const account = accountOf.get(row.accountId);
    const isPresent = problems.has(textOfKey(row));
    if (isPresent && endedMs !== null) {
      const dueMs = sentMs === null ? dueOf(event) : null;
      changed.push({ ...row, endedMs: null, dueMs });
    } else if (isPresent || endedMs !== null || account === undefined) staying.push(row);
    else if (isOff(account, row)) dropped.push(row);
    else if (!hasSucceeded(account, row)) staying.push(row);
    // What was never told needs no end.
    else if (sentMs === null && tries === 0) dropped.push(row);
    else changed.push({ ...row, endedMs: nowMs, dueMs: nowMs });
  }
  /** The first message waits while the failed stream is being tried again. */
  const isHeldBack = (row: AlertRow): boolean =>
    row.sentMs === null && row.tries === 0 && problems.get(textOfKey(row))?.isUndecided === true;
  const due = [...staying, ...changed].filter(
    (row) => row.dueMs !== null && row.dueMs <= nowMs && !isHeldBack(row),
  );
  return { changed, dropped, due };
}
