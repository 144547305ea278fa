/** Renders the safety report as a mail: the key figures in the body, the full page attached. Pure. */
import { type Message, renderMail } from '../alerts/message.ts';
import { html } from '../../pages/html.ts';
import type { Figure } from '../../pages/report/overview.ts';
import { NOTHING_READ } from '../../pages/report/read-report.ts';

interface ReportMail {
  readonly title: string;
  /** Empty: no data was synced yet. */
  readonly figures: readonly Figure[];
  readonly filename: string;
  /** The full HTML page. */
  readonly page: string;
  readonly signature: string;
}

/** Lines below a figure. */
const besidesOf = ({ change, beside }: Figure): string[] =>
  [change?.text ?? '', beside].filter((text) => text !== '');

export function toReportMail({ title, figures, filename, page, signature }: ReportMail): Message {
  const hint = `The whole report is attached: ${filename}. Open it in a browser.`;
  const rows = figures.map(
    (figure) =>
      html`<div style="border-top:1px solid #d9d9d9;padding:10px 0">
        <div style="font-size:14px;color:#767676">${figure.title}</div>
        <div style="font-size:26px;line-height:1.3;font-weight:600${figure.isBad && ';color:#d0342c'}">
          ${figure.value}
        </div>
        ${besidesOf(figure).map((text) => html`<div style="font-size:14px;color:#767676">${text}</div>`)}
      </div>`,
  );
  const lines = figures.map((figure) => {
    const besides = besidesOf(figure).join('; ');
    return `${figure.title}: ${figure.value}${besides === '' ? '' : ` (${besides})`}`;
  });
  const nothing = figures.length === 0 ? [NOTHING_READ] : [];
  return {
    subject: title,
    text: [title, '', ...lines, ...nothing, '', hint, `– ${signature}`].join('\n'),
    html: renderMail(
      title,
      [...rows, ...nothing.map((text) => html`<p>${text}</p>`), html`<p style="margin:18px 0 0">${hint}</p>`],
      signature,
    ),
    attachments: [{ filename, contentType: 'text/html; charset=utf-8', content: page }],
  };
}
