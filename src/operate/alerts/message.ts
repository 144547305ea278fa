/** Renders alerts as one message: a text for a chat, and an HTML mail that fits a phone. Pure. */
import type { AlertRow } from './outbox.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatMoment } from '../../pages/words.ts';
import type { TokenSource } from '../../shared/errors.ts';
import { capital, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { SECOND_MS, toMs } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';
import { describeProblems, problem } from '../status/problem-words.ts';
import type { Problem } from '../status/problem.ts';

export interface AlertMessage {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments?: readonly {
    readonly filename: string;
    readonly contentType: string;
    readonly content: string | Buffer;
  }[];
}

/** The sender of the message, and the accounts it is about. */
export interface MessageContext {
  readonly owner: string;
  /** Time zone and token source, by account. */
  readonly accounts: ReadonlyMap<string, { readonly timezone: string; readonly tokenSource: TokenSource }>;
}

/** Chat services truncate or refuse longer messages. */
const MOST_LINES = 12;

/** The problem that an alert is about: names, codes, counts and times only. */
export const problemOf = (row: AlertRow, token: readonly TokenSource[] = []): Problem =>
  problem(
    {
      ...{ kind: row.event, level: 'bad', accountId: row.account_id, subject: row.subject },
      ...{ code: row.code, detail: row.detail, sinceMs: toMs(row.began_at) },
    },
    token,
  );

/** Alerts of one account that began, or that are over, in words; those that differ in their subjects only are one. */
function toLines(rows: readonly AlertRow[], { accounts }: MessageContext) {
  return groupBy(rows, ({ account_id, ended_at }) => JSON.stringify([account_id, ended_at])).flatMap(
    (own) => {
      const [{ account_id: id, ended_at: ended }] = own;
      const { timezone = 'UTC', tokenSource } = accounts.get(id) ?? {};
      const sources = tokenSource === undefined ? [] : [tokenSource];
      return describeProblems(own.map((row) => problemOf(row, sources))).map(
        ({ alike, said, problem: one }) => {
          const beganMs = Math.min(...alike.map(({ sinceMs }) => sinceMs ?? Infinity));
          const at = `${formatMoment(beganMs, timezone)} (${timezone})`;
          // All accounts share the database; a single account is named in the signature.
          const isNamed = accounts.size > 1 && one.kind !== 'database_away';
          const name = (text: string): string => (isNamed ? `${id}: ${text}` : capital(text));
          if (ended === null)
            return { isOver: false, what: name(said), when: `since ${at}`, advice: one.advice };
          const lasted = roughly(formatDuration(Math.max(SECOND_MS, toMs(ended) - beganMs)));
          const when = `it began ${at} and lasted ${lasted}`;
          return { isOver: true, what: name(`over: ${said}`), when, advice: '' };
        },
      );
    },
  );
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

/** The message that `safety-sync alerts test` sends. */
export function testMessage(): AlertMessage {
  const text = 'This is a test: alerts of safety-sync arrive here.';
  return {
    subject: '[safety-sync] Test',
    text: `✓ ${text}`,
    html: renderMail('Test', [html`<p>${text}</p>`], 'Sent by: safety-sync alerts test'),
  };
}

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
  const [id = ''] = context.accounts.keys();
  const account = context.accounts.size === 1 ? `account ${id}, ` : '';
  const signature = `safety-sync ${VERSION}, ${account}${context.owner}`;
  const shown = lines.slice(0, MOST_LINES).map(({ isOver, what, when, advice }) => ({
    head: `${isOver ? '✓' : '✗'} ${what}; ${when}.`,
    todo: advice === '' ? '' : `What to do: ${advice}`,
  }));
  const texts = shown.map(({ head, todo }) => (todo === '' ? head : `${head}\n   ${todo}`));
  const blocks = shown.map(({ head, todo }) => html`<p><strong>${head}</strong><br />${todo}</p>`);
  return {
    subject: `[safety-sync] ${subject}`,
    text: [...texts, ...rest, `– ${signature}`].join('\n'),
    html: renderMail(subject, [...blocks, ...rest.map((text) => html`<p>${text}.</p>`)], signature),
  };
}
