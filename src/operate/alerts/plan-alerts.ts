/** Compares recorded alerts with present conditions and returns what to record and send. Pure. */
import { type AlertRow, isAlert, type NewRow, type OutboxRow, textOfKey } from './outbox.ts';
import type { AlertChannel, AlertEvent, OutboxChannel } from '../../engine/control-tables/control-tables.ts';
import { type Condition, reconcileOf } from './conditions.ts';

interface AlertFacts {
  /** Rows of the outbox that last or have a message due. */
  readonly rows: readonly OutboxRow[];
  readonly conditions: readonly Condition[];
  /** The latest success of a scheduled stream of the account, by the database's clock; -Infinity: none. */
  readonly lastSuccessMs: (accountId: string) => number;
  /** The stream of the alert has no schedule any more. */
  readonly isOff: (row: Pick<AlertRow, 'accountId' | 'subject'>) => boolean;
  /** By the database's clock. */
  readonly nowMs: number;
  readonly afterMs: number;
}

export interface ChannelPlan {
  readonly channel: OutboxChannel;
  readonly begun: readonly NewRow[];
  readonly resumed: readonly OutboxRow[];
  readonly ended: readonly OutboxRow[];
  /** Rows that end without a message. */
  readonly dropped: readonly OutboxRow[];
  /** Rows that may be claimed and sent now, by message. */
  readonly due: readonly (readonly OutboxRow[])[];
}

/** Sent without delay: a later run may hide these conditions but does not correct them. */
const AT_ONCE: readonly AlertEvent[] = ['repaired', 'new_field'];

const FAILURES: readonly AlertEvent[] = ['stream_failing', 'credentials_refused', 'delete_guard'];

/**
 * A stream that fails for another reason has not succeeded: its alert is over with its next success, and so is that of its
 * reconcile. Refused credentials of the account are over with the success of any stream, because another one may fail for its
 * own reason.
 */
function isSameFailure(
  row: AlertRow,
  { accountId, event, subject }: Condition,
  lastSuccessMs: AlertFacts['lastSuccessMs'],
): boolean {
  if (!FAILURES.includes(row.event) || !FAILURES.includes(event) || accountId !== row.accountId) return false;
  if (row.subject === '') return lastSuccessMs(accountId) < row.beganMs;
  return subject === '' || [subject, reconcileOf(subject)].includes(row.subject);
}

/** Finds alerts that are over: no condition causes them, or is the same failure. */
export function createIsOver({
  conditions,
  lastSuccessMs,
}: Pick<AlertFacts, 'conditions' | 'lastSuccessMs'>): (row: AlertRow) => boolean {
  const present = new Set(conditions.map(textOfKey));
  return (row) =>
    !present.has(textOfKey(row)) &&
    !conditions.some((condition) => isSameFailure(row, condition, lastSuccessMs));
}

/** The plan of one channel. */
export function planAlerts(channel: AlertChannel, facts: AlertFacts): ChannelPlan {
  const { conditions, nowMs, afterMs, isOff } = facts;
  const rows = facts.rows.filter(isAlert).filter((row) => row.channel === channel);
  const known = new Set(rows.map(textOfKey));
  const isOver = createIsOver(facts);
  const present = new Map(conditions.map((condition) => [textOfKey(condition), condition]));
  /** The first message waits while the failed stream is being retried. */
  const isHeldBack = ({ sentMs, endedMs, tries, ...row }: AlertRow): boolean =>
    sentMs === null && endedMs === null && tries === 0 && present.get(textOfKey(row))?.isUndecided === true;
  // The worker that saw an outage of the database records it afterwards, so no present condition confirms or ends it.
  const over = rows.filter((row) => row.endedMs === null && row.event !== 'database_away' && isOver(row));
  return {
    channel,
    begun: conditions
      .filter((condition) => !known.has(textOfKey(condition)))
      .map((condition) => ({
        ...condition,
        channel,
        dueMs: AT_ONCE.includes(condition.event) ? nowMs : nowMs + afterMs,
      })),
    resumed: rows.filter((row) => row.endedMs !== null && present.has(textOfKey(row))),
    ended: over.filter((row) => !isOff(row)),
    dropped: over.filter(isOff),
    due: [rows.filter((row) => row.dueMs !== null && row.dueMs <= nowMs && !isHeldBack(row))],
  };
}
