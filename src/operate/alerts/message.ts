/** Renders alerts as one message, a text for a chat or a mail. Pure. */
import type { AlertRow } from './outbox.ts';
import type { AccountConfig } from '../../config/account-config.ts';
import { formatMoment } from '../../pages/words.ts';
import { capital, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { SECOND_MS, toMs } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';
import { describeProblems, problem, type Problem } from '../status/problem-words.ts';

export interface AlertMessage {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly attachments?: readonly {
    readonly filename: string;
    readonly contentType: string;
    readonly content: string | Buffer;
  }[];
}

/** The sender of the message, and the accounts it is about. */
export interface MessageContext {
  readonly owner: string;
  readonly accounts: readonly {
    readonly id: string;
    readonly config: Pick<AccountConfig, 'reportingTimezone'>;
  }[];
}

/** Chat services truncate or refuse longer messages. */
const MOST_LINES = 12;

/** The problem that an alert is about: names, codes, counts and times only. */
export const problemOf = (row: AlertRow): Problem =>
  problem({
    ...{ kind: row.event, level: 'bad', accountId: row.account_id, subject: row.subject },
    ...{ code: row.code, detail: row.detail, sinceMs: toMs(row.began_at) },
  });

/** Alerts of one account that began, or that are over, in words; those that differ in their subjects only are one. */
function toLines(rows: readonly AlertRow[], { accounts }: MessageContext) {
  return groupBy(rows, ({ account_id, ended_at }) => JSON.stringify([account_id, ended_at])).flatMap(
    (own) => {
      const [{ account_id: id, ended_at: ended }] = own;
      const timezone = accounts.find((one) => one.id === id)?.config.reportingTimezone ?? 'UTC';
      return describeProblems(own.map(problemOf)).map(({ alike, said, problem: one }) => {
        const beganMs = Math.min(...alike.map(({ sinceMs }) => sinceMs ?? Infinity));
        const at = `${formatMoment(beganMs, timezone)} (${timezone})`;
        // All accounts share the database; a single account is named in the signature.
        const isNamed = accounts.length > 1 && one.kind !== 'database_away';
        const name = (text: string): string => (isNamed ? `${id}: ${text}` : capital(text));
        if (ended === null)
          return { isOver: false, what: name(said), when: `since ${at}`, advice: one.advice };
        const lasted = roughly(formatDuration(Math.max(SECOND_MS, toMs(ended) - beganMs)));
        const when = `it began ${at} and lasted ${lasted}`;
        return { isOver: true, what: name(`over: ${said}`), when, advice: '' };
      });
    },
  );
}

/** The message that `safety-sync alerts test` sends. */
export const TEST_MESSAGE: AlertMessage = {
  subject: '[safety-sync] Test',
  text: '✓ This is a test: alerts of safety-sync arrive here.',
};

/** `rows`: at least one; all of one channel. Those that began come first. */
export function toMessage(rows: readonly AlertRow[], context: MessageContext): AlertMessage {
  const lines = toLines(rows, context).sort((one, other) => Number(one.isOver) - Number(other.isOver));
  const begun = lines.filter(({ isOver }) => !isOver).length;
  const [first] = lines;
  const subject =
    lines.length === 1
      ? (first?.what ?? '')
      : `${formatNumber(begun, 'alert')}, ${lines.length - begun} over`;
  const left = lines.length - MOST_LINES;
  const rest = left > 0 ? [`And ${formatNumber(left, 'more alert')}: see the status page of the worker`] : [];
  const [only] = context.accounts.length === 1 ? context.accounts : [];
  const account = only === undefined ? '' : `account ${only.id}, `;
  const signature = `safety-sync ${VERSION}, ${account}${context.owner}`;
  const texts = lines.slice(0, MOST_LINES).map(({ isOver, what, when, advice }) => {
    const todo = advice === '' ? '' : `\n   What to do: ${advice}`;
    return `${isOver ? '✓' : '✗'} ${what}; ${when}.${todo}`;
  });
  return { subject: `[safety-sync] ${subject}`, text: [...texts, ...rest, `– ${signature}`].join('\n') };
}
