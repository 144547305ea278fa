/** The report as it is drawn: its answers, links to records, and the place of the rows that the page leaves out. */
import { formatCount } from '../../shared/format.ts';
import { recordUrlOf, type RecordKind } from '../../shared/record-urls.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { personOf } from '../words.ts';
import { disambiguate } from './disambiguate.ts';
import type { ListName } from './lists.ts';
import type { Report } from './read-report.ts';

/** Files that were written with the page, by their names for its readers. */
export interface Along {
  /** The directory of CSV files. */
  readonly csv?: string | undefined;
  readonly xlsx?: string | undefined;
}

export interface ShownReport extends Report {
  readonly along: Along;
}

/** Makes equal names distinct. */
export const showReport = (report: Report, along: Along = {}): ShownReport => ({
  ...report,
  answers: disambiguate(report.answers),
  along,
});

/** `shown`, as a link to the record where its page is known. */
export function linked({ recordUrls }: Report, kind: RecordKind, id: string | null, shown: HtmlValue): Html {
  const url = recordUrlOf(recordUrls, kind, id);
  return url === null ? html`${shown}` : html`<a href="${url}" rel="noreferrer">${shown}</a>`;
}

export const linkedPerson = (report: Report, name: string | null, id: string | null): Html =>
  linked(report, 'employee', id, personOf(name, id));

/** The place of all rows of a list. */
export function listLocation({ along, accountId }: ShownReport, list: ListName): Html {
  if (along.xlsx !== undefined) return html`all in <code>${along.xlsx}</code>, sheet <code>${list}</code>`;
  if (along.csv !== undefined) return html`all in <code>${along.csv}/${list}.csv</code>`;
  return html`all with <code>safety-sync report --account ${accountId} --xlsx FILE</code>, sheet
    <code>${list}</code>`;
}

/** How many rows a table leaves out, and their place; false: none. */
export function restOf(
  report: ShownReport,
  list: ListName,
  { count, what = '' }: { readonly count: number; readonly what?: string },
): Html | false {
  return (
    count > 0 &&
    html`<p class="note">and ${formatCount(count)} more${what}: ${listLocation(report, list)}.</p>`
  );
}

/** For tables without a count of their other rows: a table with the `most` rows names the place of all rows. */
export function firstOf(
  report: ShownReport,
  list: ListName,
  { shown, most }: { readonly shown: number; readonly most: number },
): Html | false {
  return shown >= most && html`<p class="note">The first ${most}: ${listLocation(report, list)}.</p>`;
}
