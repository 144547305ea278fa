/** Renders alerts as one message: a text for a chat, and an HTML mail that fits a phone. Pure. */
import type { AlertRow } from './outbox.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatMoment } from '../../pages/words.ts';
import type { TokenSource } from '../../shared/token-source.ts';
import { capital, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { SECOND_MS } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';
import { adviceAbout, ALERT_WORDS, joinNames } from '../status/problem-words.ts';

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
  /** `north: follow-ups fail (server_error)` */
  readonly what: string;
  readonly when: string;
  /** Advice; empty: there is none. */
  readonly advice: string;
}

/** Chat services truncate or refuse longer messages. */
const MOST_LINES = 12;

function durationOf(rows: readonly AlertRow[], beganMs: number): string {
  const overMs = Math.max(...rows.map(({ endedMs }) => endedMs ?? beganMs));
  return roughly(formatDuration(Math.max(SECOND_MS, overMs - beganMs)));
}

/** Names, codes, counts and times only. */
export const alertText = (
  { event, code, detail }: Pick<AlertRow, 'event' | 'code' | 'detail'>,
  subjects: readonly string[],
): string =>
  `${ALERT_WORDS[event].is(subjects)}${detail === null ? '' : `: ${detail}`}${code === null ? '' : ` (${code})`}`;

/** The alerts of one message that differ in accounts and subjects only. */
function toLine(alike: readonly [AlertRow, ...AlertRow[]], context: MessageContext): Line {
  const [{ event, code, accountId, endedMs, sentMs }] = alike;
  const accounts = [...new Set(alike.map((row) => row.accountId))];
  const { timezone = 'UTC' } = context.accounts.get(accountId) ?? {};
  const tokenSources = accounts.flatMap((id) => context.accounts.get(id)?.tokenSource ?? []);
  const subjects = [...new Set(alike.map(({ subject }) => subject))];
  const beganMs = Math.min(...alike.map((row) => row.beganMs));
  const at = `${formatMoment(beganMs, timezone)} (${timezone})`;
  const words = ALERT_WORDS[event];
  const isOver = endedMs !== null;
  const begun = alertText(alike[0], subjects);
  const told = isOver ? `over before it was sent: ${begun}` : begun;
  const text = isOver && sentMs !== null ? words.over(subjects) : told;
  // All accounts share the database; a single account is named in the signature.
  const isNamed = context.accounts.size > 1 && event !== 'database_away';
  return {
    isOver,
    what: isNamed ? `${joinNames(accounts)}: ${text}` : capital(text),
    when: isOver ? `it began ${at} and was over after ${durationOf(alike, beganMs)}` : `since ${at}`,
    advice: isOver ? '' : adviceAbout(event, code, tokenSources),
  };
}

/** Similar alerts share a line, for example those of several streams or accounts with one error code. */
function messageLines(rows: readonly AlertRow[], context: MessageContext): Line[] {
  const kindOf = ({ event, code, detail, endedMs, sentMs }: AlertRow): unknown[] => [
    ...[event, detail, endedMs === null, sentMs === null],
    endedMs === null || sentMs === null ? code : null,
  ];
  const ofAccounts = groupBy(rows, (row) => JSON.stringify([row.accountId, kindOf(row)]));
  const alike = groupBy(ofAccounts, (group) =>
    JSON.stringify([kindOf(group[0]), group.map(({ subject }) => subject).toSorted()]),
  );
  const lines = alike.map(([first, ...more]) => toLine([...first, ...more.flat()], context));
  return lines.toSorted((one, other) => Number(one.isOver) - Number(other.isOver));
}

function signatureOf({ owner, accounts }: MessageContext): string {
  const [only] = accounts.keys();
  const account = accounts.size === 1 && only !== undefined ? `account ${only}, ` : '';
  return `safety-sync ${VERSION}, ${account}${owner}`;
}

function lineText({ isOver, what, when, advice }: Line): string {
  return `${isOver ? '✓' : '✗'} ${what}; ${when}.${advice === '' ? '' : `\n   What to do: ${advice}`}`;
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
    ${advice !== '' && html`<p style="margin:8px 0 0"><strong>What to do:</strong> ${advice}</p>`}
  </div>`;
}

function subjectOf(lines: readonly Line[]): string {
  const [only] = lines;
  const begun = lines.filter(({ isOver }) => !isOver).length;
  if (lines.length === 1 && only !== undefined) return `${only.isOver ? 'Over: ' : ''}${only.what}`;
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
