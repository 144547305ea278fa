/** The report as it is drawn: its answers, links to records, and the place of the rows that the page leaves out. */
import { formatCount } from '../../shared/format.ts';
import { shortenPseudonyms } from '../../shared/pseudonym.ts';
import { recordUrlOf, type RecordIds, type RecordKind } from '../../shared/record-urls.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { personOf } from '../words.ts';
import type { ListName } from './lists.ts';
import type { Report } from './read-report.ts';

/** For example `user/10001` or `form/1201`. */
type Shared = ReadonlySet<string>;

/** The key for a column pair, for example `form/1201` for `form_label` and `form_id`; every name belongs to a user. */
function nameKey(column: string, row: Readonly<Record<string, unknown>>): string | undefined {
  const [, kind = '', what] = /^(.+)_(name|label)$/.exec(column) ?? [];
  const id = row[`${kind}_id`];
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  return `${what === 'name' ? 'user' : kind}/${id}`;
}

function addIds(value: unknown, shared: Shared): unknown {
  if (typeof value === 'string') return shortenPseudonyms(value);
  if (Array.isArray(value)) return value.map((one) => addIds(one, shared));
  if (typeof value !== 'object' || value === null) return value;
  const row = value as Readonly<Record<string, unknown>>;
  const columns = Object.entries(row).map(([column, one]) => {
    const key = typeof one === 'string' ? nameKey(column, row) : undefined;
    if (key === undefined || !shared.has(key)) return [column, addIds(one, shared)];
    return [column, shortenPseudonyms(`${String(one)} (${key.slice(key.indexOf('/') + 1)})`)];
  });
  return Object.fromEntries(columns) as unknown;
}

/** Applies to every `…_name` or `…_label` column with an `…_id` column. */
function disambiguate(answers: Report['answers']): Report['answers'] {
  const shared = new Set([
    ...answers.namesakes.map(({ id }) => `user/${id}`),
    ...answers.sharedLabels.map(({ kind, id }) => `${kind}/${id}`),
  ]);
  return addIds(answers, shared) as Report['answers'];
}

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
export function linked(
  { recordUrls }: Report,
  kind: RecordKind,
  of: RecordIds | string | null,
  shown: HtmlValue,
): Html {
  const url = recordUrlOf(recordUrls, kind, of);
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

/** How many rows a table leaves out, and their place; false: none. `what`: further words about them. */
export function restOf(report: ShownReport, list: ListName, count: number, what = ''): Html | false {
  return (
    count > 0 &&
    html`<p class="note">and ${formatCount(count)} more${what}: ${listLocation(report, list)}.</p>`
  );
}

/** For tables without a count of their other rows: a table with the `most` rows names the place of all rows. */
export function firstOf(report: ShownReport, list: ListName, shown: number, most: number): Html | false {
  return shown >= most && html`<p class="note">The first ${most}: ${listLocation(report, list)}.</p>`;
}
