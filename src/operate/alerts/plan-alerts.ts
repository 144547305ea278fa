/** Compares the alerts of one channel with the present problems. Pure. */
import { toIso, toMs } from '../../shared/time.ts';
import type { AlertChannel } from '../status/facts.ts';
import { ALERT_WORDS, type AlertEvent, type Problem } from '../status/problem-words.ts';
import type { Status } from '../status/status.ts';
import { type AlertRow, textOfKey } from './outbox.ts';

interface PlanOptions {
  /** Of all channels. */
  readonly rows: readonly AlertRow[];
  /** The problems that are sent. */
  readonly told: readonly Problem[];
  readonly now: Pick<Status, 'accounts' | 'nowMs'>;
  readonly channel: { readonly name: AlertChannel };
  /** ALERT_AFTER_MINUTES */
  readonly afterMs: number;
}

/** Sent without delay: a later run may hide these problems but does not correct them. */
const AT_ONCE: readonly string[] = ['repaired', 'new_field'] satisfies AlertEvent[];

/** The code of a run that the database did not let in, which has an alert of its own. */
const OF_DATABASE = 'database_unreachable';

/** The problems of accounts that are sent as alerts. An outage of the database is sent by each worker: see notifier.ts. */
export const alertsOf = (problems: readonly Problem[]): Problem[] =>
  problems.filter(
    ({ kind, accountId, code }) => kind in ALERT_WORDS && accountId !== null && code !== OF_DATABASE,
  );

const keyOf = ({ accountId, kind, subject }: Problem): string => [accountId ?? '', kind, subject].join('\n');

/** No alert is over while its stream, or the whole account, fails for another reason: nothing has succeeded. */
const isHidden = ({ account_id, subject }: AlertRow, problems: readonly Problem[]): boolean =>
  problems.some(
    (one) =>
      one.isFailure &&
      one.accountId === account_id &&
      ['', subject, subject.replace('reconcile of ', '')].includes(one.subject),
  );

/** Returns the rows of the channel that change, and those of its next message. */
export function planAlerts({ rows: all, told, now: status, channel, afterMs }: PlanOptions) {
  const { nowMs, accounts } = status;
  const problems = accounts.flatMap((account) => account.problems);
  const rows = all.filter((row) => row.channel === channel.name);
  const now = toIso(nowMs);
  const present = new Set(told.map(keyOf));
  const known = new Set(rows.map(textOfKey));
  const dueOf = (event: string): string => toIso(nowMs + (AT_ONCE.includes(event) ? 0 : afterMs));
  const changed = told
    .filter((one) => !known.has(keyOf(one)))
    .map(({ accountId, kind, subject, code, detail, sinceMs }): AlertRow => ({
      ...{ account_id: accountId ?? '', event: kind as AlertEvent, subject, channel: channel.name },
      ...{ code, detail, began_at: toIso(Math.min(sinceMs ?? nowMs, nowMs)), ended_at: null },
      ...{ sent_at: null, due_at: dueOf(kind), tries: 0, problem: null },
    }));
  const staying: AlertRow[] = [];
  for (const row of rows) {
    const { ended_at, sent_at, tries, event } = row;
    const isPresent = present.has(textOfKey(row));
    if (isPresent && ended_at !== null)
      changed.push({ ...row, ended_at: null, due_at: sent_at === null ? dueOf(event) : null });
    else if (isPresent || ended_at !== null || isHidden(row, problems)) staying.push(row);
    // An alert that was never sent needs no end.
    else changed.push({ ...row, ended_at: now, due_at: sent_at === null && tries === 0 ? null : now });
  }
  // A problem that another one hides is sent when it shows again.
  const isShown = (row: AlertRow): boolean =>
    row.ended_at !== null || row.tries > 0 || present.has(textOfKey(row));
  const due = [...staying, ...changed].filter(
    (row) => row.due_at !== null && toMs(row.due_at) <= nowMs && isShown(row),
  );
  return { changed, due };
}
