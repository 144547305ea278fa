/** Renders the safety report as a mail: its first screen in the body, the full page and the workbook attached. Pure. */
import { type AlertMessage, renderMail } from '../alerts/message.ts';
import { type Html, html } from '../../pages/html.ts';
import {
  callsOf,
  dataAge,
  type KeyFigure,
  keyFiguresOf,
  lapsesOf,
  longestOf,
  type RecordLine,
} from '../../pages/report/first-screen.ts';
import { isAnythingRead, NOTHING_READ } from '../../pages/report/read-report.ts';
import { linked, type ShownReport } from '../../pages/report/shown-report.ts';
import { WORKBOOK_TYPE } from '../../pages/report/workbook.ts';
import { recordUrlOf } from '../../shared/record-urls.ts';

/** All rows of the report's lists. */
export interface Workbook {
  readonly name: string;
  /** undefined: it is in no file. */
  readonly path: string | undefined;
  /** undefined: it is too large for a mail. */
  readonly content: Buffer | undefined;
}

interface ReportMail {
  readonly title: string;
  readonly report: ShownReport;
  readonly filename: string;
  /** The full HTML page. */
  readonly page: string;
  /** undefined: there are no rows. */
  readonly workbook: Workbook | undefined;
  readonly signature: string;
}

/** The lines of text below a key figure. */
const linesBelow = ({ change, beside }: KeyFigure): string[] =>
  [change?.text ?? '', beside].filter((text) => text !== '');

const DIM = 'font-size:14px;color:#767676';

const keyFigureCard = (keyFigure: KeyFigure): Html =>
  html`<div style="border-top:1px solid #d9d9d9;padding:10px 0">
    <div style="${DIM}">${keyFigure.title}</div>
    <div
      style="font-size:26px;line-height:1.3;font-weight:600${keyFigure.isBad === true && ';color:#d0342c'}"
    >
      ${keyFigure.value}
    </div>
    ${linesBelow(keyFigure).map((text) => html`<div style="${DIM}">${text}</div>`)}
  </div>`;

function keyFigureLine(keyFigure: KeyFigure): string {
  const besides = linesBelow(keyFigure).join('; ');
  return `${keyFigure.title}: ${keyFigure.value}${besides === '' ? '' : ` (${besides})`}`;
}

interface MailList {
  readonly title: string;
  readonly lines: readonly (string | RecordLine)[];
}

function mailListsOf(report: ShownReport): MailList[] {
  return [
    { title: 'Call first', lines: callsOf(report) },
    { title: 'Longest overdue', lines: longestOf(report) },
    { title: 'Due and lapsing next', lines: lapsesOf(report) },
  ].filter(({ lines }) => lines.length > 0);
}

const toHtmlList = (report: ShownReport, { title, lines }: MailList): Html =>
  html`<div style="border-top:1px solid #d9d9d9;padding:10px 0">
    <div style="${DIM}">${title}</div>
    ${lines.map(
      (line) =>
        html`<div>
          ${typeof line === 'string' ? line : [linked(report, line.kind, line.of, line.shown), line.text]}
        </div>`,
    )}
  </div>`;

function toTextList({ recordUrls }: ShownReport, { title, lines }: MailList): string[] {
  const texts = lines.map((line) => {
    if (typeof line === 'string') return line;
    const url = recordUrlOf(recordUrls, line.kind, line.of);
    return `${line.shown}${line.text}${url === null ? '' : ` <${url}>`}`;
  });
  return ['', `${title}:`, ...texts.map((text) => `- ${text}`)];
}

function describeWorkbook({ name, path, content }: Workbook, accountId: string): string {
  if (content !== undefined) return `All rows of its lists are attached as a workbook: ${name}.`;
  const where = path ?? `safety-sync report --account ${accountId} --xlsx FILE writes it`;
  return `The workbook with all rows of its lists is too large for a mail: ${where}.`;
}

export function toReportMail({
  title,
  report,
  filename,
  page,
  workbook,
  signature,
}: ReportMail): AlertMessage {
  const isRead = isAnythingRead(report);
  const keyFigures = isRead ? keyFiguresOf(report) : [];
  const lists = isRead ? mailListsOf(report) : [];
  const sentences = [
    ...(isRead ? [] : [NOTHING_READ]),
    dataAge(report)?.text ?? '',
    `The whole report is attached: ${filename}. Open it in a browser.`,
    ...(workbook === undefined ? [] : [describeWorkbook(workbook, report.accountId)]),
  ].filter((text) => text !== '');
  const texts = [...keyFigures.map(keyFigureLine), ...lists.flatMap((list) => toTextList(report, list))];
  const blocks = [
    ...keyFigures.map(keyFigureCard),
    ...lists.map((list) => toHtmlList(report, list)),
    ...sentences.map((text) => html`<p style="margin:18px 0 0">${text}</p>`),
  ];
  const book = workbook?.content;
  return {
    subject: title,
    text: [title, '', ...texts, '', ...sentences, `– ${signature}`].join('\n'),
    html: renderMail(title, blocks, signature),
    attachments: [
      { filename, contentType: 'text/html; charset=utf-8', content: page },
      ...(workbook === undefined || book === undefined
        ? []
        : [{ filename: workbook.name, contentType: WORKBOOK_TYPE, content: book }]),
    ],
  };
}
