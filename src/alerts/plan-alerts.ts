/** What was recorded of alerts, and what is the case now → what has to be recorded. Pure. */
import { type AlertKey, type AlertRow, type NewAlert, textOfKey } from './ledger.ts';
import type { AlertChannel, AlertEvent } from '../database/control-tables.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { Condition } from './conditions.ts';

interface AlertFacts {
  /** What lasts or has to be told. */
  readonly rows: readonly AlertRow[];
  readonly conditions: readonly Condition[];
  readonly channels: readonly AlertChannel[];
  /** By the database's clock. */
  readonly nowMs: number;
  readonly afterMs: number;
}

export interface ChannelPlan {
  readonly channel: AlertChannel;
  readonly begun: readonly NewAlert[];
  readonly resumed: readonly AlertKey[];
  readonly ended: readonly AlertKey[];
  readonly postponed: readonly AlertKey[];
  /** May be claimed and told. */
  readonly due: readonly AlertKey[];
}

/** Nothing puts them right by itself, so waiting would only lose those that a later run hides. */
const AT_ONCE: readonly AlertEvent[] = ['repaired', 'new_field'];
/** Noted by the worker that saw it, when the database is back: no condition that can be read. */
const NOT_OBSERVED: readonly AlertEvent[] = ['database_away'];

/** While a stream is tried again nobody is told that it fails; asked again after this. */
export const UNDECIDED_MS = MINUTE_MS;

function planChannel(channel: AlertChannel, facts: AlertFacts): ChannelPlan {
  const { conditions, nowMs, afterMs } = facts;
  const rows = facts.rows.filter((row) => row.channel === channel);
  const known = new Map(rows.map((row) => [textOfKey(row), row]));
  const present = new Map(conditions.map((condition) => [textOfKey(condition), condition]));
  const isUndecided = (row: AlertRow): boolean =>
    row.toldMs === null && row.endedMs === null && present.get(textOfKey(row))?.isUndecided === true;
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
