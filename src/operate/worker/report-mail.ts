/** Renders the safety report as a mail: its first screen in the body, the full page and the workbook attached. Pure. */
import {
  type FirstList,
  firstListsOf,
  type KeyFigure,
  keyFiguresOf,
  notesOf,
} from '../../pages/report/first-screen.ts';
import { isAnythingRead, type Report } from '../../pages/report/read-report.ts';
import { titleOfReport } from '../../pages/report/render-report.ts';
import { WORKBOOK_TYPE } from '../../pages/report/workbook.ts';
import type { AlertMessage } from '../alerts/message.ts';

/** Bytes of a workbook from which on it is not attached, because mail servers refuse large mails. */
const MOST_ATTACHED = 5_000_000;

const lineOf = ({ title, value, change, beside }: KeyFigure): string =>
  `${title}: ${value} (${[change, beside].filter((text) => text !== '').join('; ')})`;

const listOf = ({ title, lines, rest, none }: FirstList): string[] => [
  title,
  ...lines.map(({ shown, texts, url }) => {
    return `- ${[shown, ...texts, url ?? ''].filter((text) => text !== '').join(' · ')}`;
  }),
  lines.length === 0 ? none : rest,
  '',
];

/** `name`: of its files, without `.html`; `page`: the full HTML page. */
interface ReportFiles extends Readonly<Record<'name' | 'page' | 'signature', string>> {
  readonly title: string | null;
  /** undefined: there are no rows. */
  readonly workbook: Buffer | undefined;
}

export function toReportMail(report: Report, files: ReportFiles): AlertMessage {
  const { title, name, page, workbook, signature } = files;
  const subject = titleOfReport(report, title);
  const isRead = isAnythingRead(report);
  const [stop = [], ...others] = isRead ? firstListsOf(report).map(listOf) : [];
  const figures = isRead ? [...keyFiguresOf(report).map(lineOf), ''] : [];
  const isAttached = workbook !== undefined && workbook.length < MOST_ATTACHED;
  const sentences = [
    ...notesOf(report).map(({ text }) => text),
    `The whole report is attached: ${name}.html. Open it in a browser.`,
    ...(isAttached ? [`All rows of its lists are attached as a workbook: ${name}.xlsx.`] : []),
    ...(workbook !== undefined && !isAttached
      ? ['The workbook is too large for a mail; safety-sync report --xlsx FILE writes it.']
      : []),
  ];
  return {
    subject,
    text: [subject, '', ...stop, ...figures, ...others.flat(), ...sentences, `– ${signature}`].join('\n'),
    attachments: [
      { filename: `${name}.html`, contentType: 'text/html; charset=utf-8', content: page },
      ...(isAttached ? [{ filename: `${name}.xlsx`, contentType: WORKBOOK_TYPE, content: workbook }] : []),
    ],
  };
}
