/** Renders alerts as one message: a text for a chat, and an HTML mail that fits a phone. Pure. */
import type { AlertRow } from './outbox.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatMoment } from '../../pages/words.ts';
import type { TokenSource } from '../../shared/token-source.ts';
import { capital, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { SECOND_MS } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';
import { adviceOfAlert, ALERT_EVENTS, joinNames, type DescribedAlert } from './events.ts';

/** An attached file. */
interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string | Buffer;
}

export interface AlertMessage {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments?: readonly MailAttachment[];
}

/** The sender of the message, and the accounts it is about. */
export interface MessageContext {
  readonly owner: string;
  /** Time zone and token source, by account. */
  readonly accounts: ReadonlyMap<string, { readonly timezone: string; readonly tokenSource: TokenSource }>;
}

interface Line {
  readonly isOver: boolean;
  /** The beginning of this alert was not sent before. */
  readonly isUnsent: boolean;
  /** `north: followups fails (network_error)` */
  readonly what: string;
  readonly when: string;
  /** Advice; null: the alert is over and needs none. */
  readonly advice: string | null;
}

/** Chat services truncate or refuse longer messages. */
const MOST_LINES = 12;

function durationOf(rows: readonly AlertRow[], beganMs: number): string {
  const overMs = Math.max(...rows.map(({ endedMs }) => endedMs ?? beganMs));
  return roughly(formatDuration(Math.max(SECOND_MS, overMs - beganMs)));
}

/** `first`: one of those that are alike. */
function messageLine(first: AlertRow, alike: readonly AlertRow[], context: MessageContext): Line {
  const { event, code, detail } = first;
  const accounts = [...new Set(alike.map(({ accountId }) => accountId))];
  const { timezone = 'UTC' } = context.accounts.get(first.accountId) ?? {};
  const tokenSources = accounts.flatMap((id) => context.accounts.get(id)?.tokenSource ?? []);
  const subjects = [...new Set(alike.map(({ subject }) => subject))];
  const alert: DescribedAlert = { event, subjects, code, detail, tokenSources };
  const beganMs = Math.min(...alike.map((row) => row.beganMs));
  const at = `${formatMoment(beganMs, timezone)} (${timezone})`;
  const isOver = first.endedMs !== null;
  const words = ALERT_EVENTS[event];
  const isUnsent = first.sentMs === null;
  const begun = isUnsent && isOver ? `over before it was sent: ${words.begun(alert)}` : words.begun(alert);
  const text = isOver && !isUnsent ? words.over(alert) : begun;
  // All accounts share the database; a single account is named in the signature.
  const isNamed = context.accounts.size > 1 && event !== 'database_away';
  return {
    isOver,
    isUnsent,
    what: isNamed ? `${joinNames(accounts)}: ${text}` : capital(text),
    when: isOver ? `it began ${at} and was over after ${durationOf(alike, beganMs)}` : `since ${at}`,
    advice: isOver ? null : (first.advice ?? adviceOfAlert(alert)),
  };
}

/** Similar alerts share a line, for example those of several streams or accounts with one error code. */
function messageLines(rows: readonly AlertRow[], context: MessageContext): Line[] {
  const kindOf = ({ event, code, detail, endedMs, sentMs }: AlertRow): unknown[] => [
    endedMs !== null,
    event,
    endedMs === null || sentMs === null ? code : null,
    detail,
    sentMs === null,
  ];
  const ofAccounts = groupBy(rows, (row) => JSON.stringify([row.accountId, kindOf(row)]));
  const alike = groupBy(ofAccounts, (group) =>
    JSON.stringify([kindOf(group[0]), group.map(({ subject }) => subject).toSorted()]),
  );
  const lines = alike.map((groups) => messageLine(groups[0][0], groups.flat(), context));
  return lines.toSorted((one, other) => Number(one.isOver) - Number(other.isOver));
}

function signatureOf({ owner, accounts }: MessageContext): string {
  const [only] = accounts.keys();
  const account = accounts.size === 1 && only !== undefined ? `account ${only}, ` : '';
  return `safety-sync ${VERSION}, ${account}${owner}`;
}

function lineText({ isOver, what, when, advice }: Line): string {
  return `${isOver ? '✓' : '✗'} ${what}; ${when}.${advice === null ? '' : `\n   What to do: ${advice}`}`;
}

/** Mail programs support few features of HTML and CSS: hence one column with inline styles. */
export function renderMail(title: string, blocks: readonly Html[], footer: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
      </head>
      <body
        style="margin:0;padding:16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;overflow-wrap:anywhere"
      >
        <div style="max-width:600px;margin:0 auto">
          <h1 style="font-size:20px;line-height:1.3;margin:0 0 16px">${title}</h1>
          ${blocks}
          <p style="font-size:13px;color:#767676;margin:24px 0 0">${footer}</p>
        </div>
      </body>
    </html> `.text;
}

function alertCard({ isOver, what, when, advice }: Line): Html {
  const color = isOver ? '#1f9d55' : '#d0342c';
  return html`<div style="border-left:4px solid ${color};padding:2px 0 2px 12px;margin:0 0 18px">
    <p style="margin:0;font-weight:600">${what}</p>
    <p style="margin:2px 0 0;font-size:14px;color:#767676">${isOver ? 'Over: ' : ''}${when}</p>
    ${advice !== null && html`<p style="margin:8px 0 0"><strong>What to do:</strong> ${advice}</p>`}
  </div>`;
}

function subjectOf(lines: readonly Line[]): string {
  const [only] = lines;
  const begun = lines.filter(({ isOver }) => !isOver).length;
  if (lines.length === 1 && only !== undefined)
    return `${only.isOver && !only.isUnsent ? 'Over: ' : ''}${only.what}`;
  if (begun === 0) return `${formatNumber(lines.length, 'alert')} over`;
  const over = lines.length - begun;
  return `${formatNumber(begun, 'alert')}${over === 0 ? '' : `, ${over} over`}`;
}

/** The message that `safety-sync alerts test` sends. */
export function testMessage(): AlertMessage {
  const text = 'This is a test: alerts of safety-sync arrive here.';
  return {
    subject: '[safety-sync] Test',
    text: `✓ ${text}`,
    html: renderMail('Test', [html`<p>${text}</p>`], 'Sent by: safety-sync alerts test'),
  };
}

/** `rows`: at least one; all of one channel. */
export function toMessage(rows: readonly AlertRow[], context: MessageContext): AlertMessage {
  const lines = messageLines(rows, context);
  const shown = lines.slice(0, MOST_LINES);
  const left = lines.length - shown.length;
  const rest =
    left === 0 ? [] : [`And ${formatNumber(left, 'more alert')}: see the status page of the worker`];
  const subject = subjectOf(lines);
  const signature = signatureOf(context);
  return {
    subject: `[safety-sync] ${subject}`,
    text: [...shown.map(lineText), ...rest, `– ${signature}`].join('\n'),
    html: renderMail(
      subject,
      [...shown.map(alertCard), ...rest.map((text) => html`<p>${text}.</p>`)],
      signature,
    ),
  };
}
