/** Renders the safety report as a mail: its figures in the body, the full page and the workbook attached. Pure. */
import { type Html, html } from '../../pages/html.ts';
import { type KeyFigure, keyFiguresOf, notesOf } from '../../pages/report/first-screen.ts';
import { isAnythingRead, type Report } from '../../pages/report/read-report.ts';
import { titleOfReport } from '../../pages/report/render-report.ts';
import { WORKBOOK_TYPE } from '../../pages/report/workbook.ts';
import { type AlertMessage, renderMail } from '../alerts/message.ts';

/** Bytes of a workbook from which on it is not attached, because mail servers refuse large mails. */
const MOST_ATTACHED = 5_000_000;

const BLOCK = 'border-top:1px solid #d9d9d9;padding:10px 0';
const DIM = 'font-size:14px;color:#767676';

const besidesOf = ({ change, beside }: KeyFigure): string[] => [...(change === '' ? [] : [change]), beside];

const keyFigureCard = (one: KeyFigure): Html =>
  html`<div style="${BLOCK}">
    <div style="${DIM}">${one.title}</div>
    <div style="font-size:26px;line-height:1.3;font-weight:600${one.isBad === true && ';color:#d0342c'}">
      ${one.value}
    </div>
    ${besidesOf(one).map((text) => html`<div style="${DIM}">${text}</div>`)}
  </div>`;

/** `name`: of its files, without `.html`; `page`: the full HTML page; `workbook` undefined: there are no rows. */
export function toReportMail(
  report: Report,
  {
    title,
    name,
    page,
    workbook,
    signature,
  }: Readonly<Record<'name' | 'page' | 'signature', string>> & {
    readonly title: string | null;
    readonly workbook: Buffer | undefined;
  },
): AlertMessage {
  const subject = titleOfReport(report, title);
  const figures = isAnythingRead(report) ? keyFiguresOf(report) : [];
  const isAttached = workbook !== undefined && workbook.length < MOST_ATTACHED;
  const sentences = [
    ...notesOf(report).map(({ text }) => text),
    `The whole report is attached: ${name}.html. Open it in a browser.`,
    ...(isAttached ? [`All rows of its lists are attached as a workbook: ${name}.xlsx.`] : []),
    ...(workbook !== undefined && !isAttached
      ? ['The workbook is too large for a mail; safety-sync report --xlsx FILE writes it.']
      : []),
  ];
  const texts = figures.map((one) => `${one.title}: ${one.value} (${besidesOf(one).join('; ')})`);
  const blocks = [
    ...figures.map(keyFigureCard),
    ...sentences.map((text) => html`<p style="margin:18px 0 0">${text}</p>`),
  ];
  return {
    subject,
    text: [subject, '', ...texts, '', ...sentences, `– ${signature}`].join('\n'),
    html: renderMail(subject, blocks, signature),
    attachments: [
      { filename: `${name}.html`, contentType: 'text/html; charset=utf-8', content: page },
      ...(isAttached ? [{ filename: `${name}.xlsx`, contentType: WORKBOOK_TYPE, content: workbook }] : []),
    ],
  };
}
