/** Compares recorded alerts with present conditions and returns what to record and send. Pure. */
import { type AlertRow, isAlert, type NewRow, type OutboxRow, textOfKey } from './outbox.ts';
import type { AlertChannel, AlertEvent, OutboxChannel } from '../../engine/control-tables/control-tables.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Condition } from './conditions.ts';

interface AlertFacts {
  /** Rows of the outbox that last or have a message due. */
  readonly rows: readonly OutboxRow[];
  readonly conditions: readonly Condition[];
  readonly channels: readonly AlertChannel[];
  /** By the database's clock. */
  readonly nowMs: number;
  readonly afterMs: number;
}

export interface ChannelPlan {
  readonly channel: OutboxChannel;
  readonly begun: readonly NewRow[];
  readonly resumed: readonly OutboxRow[];
  readonly ended: readonly OutboxRow[];
  readonly postponed: readonly OutboxRow[];
  /** Rows that may be claimed and sent now. */
  readonly due: readonly OutboxRow[];
}

/** Sent without delay: a later run may hide these conditions but does not correct them. */
const AT_ONCE: readonly AlertEvent[] = ['repaired', 'new_field'];
/** Recorded after the outage by the worker that saw it, so no present condition confirms or ends it. */
const NOT_OBSERVED: readonly AlertEvent[] = ['database_away'];

/** While a failed stream is being retried, its alert is postponed by this time. */
export const UNDECIDED_MS = MINUTE_MS;

function planChannel(channel: AlertChannel, facts: AlertFacts): ChannelPlan {
  const { conditions, nowMs, afterMs } = facts;
  const rows = facts.rows.filter(isAlert).filter((row) => row.channel === channel);
  const known = new Map(rows.map((row) => [textOfKey(row), row]));
  const present = new Map(conditions.map((condition) => [textOfKey(condition), condition]));
  const isUndecided = (row: AlertRow): boolean =>
    row.sentMs === null && row.endedMs === null && present.get(textOfKey(row))?.isUndecided === true;
  const isHeldBack = (row: AlertRow): boolean => isUndecided(row) && row.tries === 0;
  return {
    channel,
    begun: conditions
      .filter((condition) => !known.has(textOfKey(condition)))
      .map(({ accountId, event, subject, code, detail }) => ({
        accountId,
        event,
        subject,
        channel,
        code,
        detail,
        dueMs: AT_ONCE.includes(event) ? nowMs : nowMs + afterMs,
      })),
    resumed: rows.filter((row) => row.endedMs !== null && present.has(textOfKey(row))),
    ended: rows.filter(
      (row) => row.endedMs === null && !present.has(textOfKey(row)) && !NOT_OBSERVED.includes(row.event),
    ),
    postponed: rows.filter((row) => isHeldBack(row) && (row.dueMs ?? Infinity) < nowMs + UNDECIDED_MS / 2),
    due: rows.filter((row) => row.dueMs !== null && row.dueMs <= nowMs && !isHeldBack(row)),
  };
}

export function planAlerts(facts: AlertFacts): ChannelPlan[] {
  return facts.channels.map((channel) => planChannel(channel, facts));
}
