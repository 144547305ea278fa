/** Renders the safety report as a mail: its first screen in the body, the full page and the workbook attached. Pure. */
import { type Html, html } from '../../pages/html.ts';
import {
  type FirstList,
  firstListsOf,
  type KeyFigure,
  keyFiguresOf,
  notesOf,
} from '../../pages/report/first-screen.ts';
import { link } from '../../pages/report/list-table.ts';
import { isAnythingRead, type Report } from '../../pages/report/read-report.ts';
import { titleOfReport } from '../../pages/report/render-report.ts';
import { WORKBOOK_TYPE } from '../../pages/report/workbook.ts';
import { type AlertMessage, renderMail } from '../alerts/message.ts';

/** Bytes of a workbook from which on it is not attached, because mail servers refuse large mails. */
const MOST_ATTACHED = 5_000_000;

interface ReportMail {
  readonly title: string | null;
  readonly report: Report;
  /** Of its files, without `.html`. */
  readonly name: string;
  /** The full HTML page. */
  readonly page: string;
  /** undefined: there are no rows. */
  readonly workbook: Buffer | undefined;
  /** The directory of both files; undefined: they are in none. */
  readonly folder: string | undefined;
  readonly signature: string;
}

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

const listCard = ({ title, lines, rest, none }: FirstList): Html =>
  html`<div style="${BLOCK}">
    <h2 style="font-size:16px;margin:0 0 6px">${title}</h2>
    ${lines.map(({ url, shown, text }) => html`<div style="margin:0 0 6px">${link(url, html`<b>${shown}</b>`)}${text}</div>`)}
    <div style="${DIM}">${lines.length === 0 ? none : rest}</div>
  </div>`;

const listText = ({ title, lines, rest, none }: FirstList): string[] => [
  '',
  `${title}:`,
  ...lines.map(({ url, shown, text }) => `- ${shown}${text}${url === null ? '' : ` <${url}>`}`),
  ...[lines.length === 0 ? none : rest].filter((text) => text !== ''),
];

export function toReportMail({
  title,
  report,
  name,
  page,
  workbook,
  folder,
  signature,
}: ReportMail): AlertMessage {
  const subject = titleOfReport(report, title);
  const isRead = isAnythingRead(report);
  const [figures, lists] = isRead ? [keyFiguresOf(report), firstListsOf(report)] : [[], []];
  const isAttached = workbook !== undefined && workbook.length < MOST_ATTACHED;
  const tooLarge = `The workbook is too large for a mail${folder === undefined ? '; safety-sync report --xlsx FILE writes it' : `: ${folder}/${name}.xlsx`}.`;
  const sentences = [
    ...notesOf(report).map(({ text }) => text),
    `The whole report is attached: ${name}.html. Open it in a browser.`,
    ...(isAttached ? [`All rows of its lists are attached as a workbook: ${name}.xlsx.`] : []),
    ...(workbook !== undefined && !isAttached ? [tooLarge] : []),
  ];
  const texts = figures.map((one) => `${one.title}: ${one.value} (${besidesOf(one).join('; ')})`);
  const blocks = [
    ...figures.map(keyFigureCard),
    ...lists.map(listCard),
    ...sentences.map((text) => html`<p style="margin:18px 0 0">${text}</p>`),
  ];
  return {
    subject,
    text: [subject, '', ...texts, ...lists.flatMap(listText), '', ...sentences, `– ${signature}`].join('\n'),
    html: renderMail(subject, blocks, signature),
    attachments: [
      { filename: `${name}.html`, contentType: 'text/html; charset=utf-8', content: page },
      ...(isAttached ? [{ filename: `${name}.xlsx`, contentType: WORKBOOK_TYPE, content: workbook }] : []),
    ],
  };
}
