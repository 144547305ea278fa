/** The first lines of the report and of its mail: the people to call, due and lapsing records, the age of the data. */
import { formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import type { RecordKind } from '../../shared/record-urls.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/time.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { html, type Html, list } from '../html.ts';
import { formatDay, labelOf, personOf } from '../words.ts';
import { isAnythingRead, type Report } from './read-report.ts';
import { empty } from './section.ts';
import { linked, type ShownReport } from './shown-report.ts';

const SHOWN = 3;

/** A line that begins with a record. */
export interface RecordLine {
  readonly kind: RecordKind;
  readonly id: string | null;
  readonly shown: string;
  readonly text: string;
}

/** The people with the most overdue follow-ups. */
export const callsOf = ({ answers }: Report): RecordLine[] =>
  answers.overdueByAssignee.slice(0, SHOWN).map((row) => ({
    kind: 'employee',
    id: row.assignee_id,
    shown: personOf(row.assignee_name, row.assignee_id),
    text: `: ${formatCount(row.overdue)} overdue, the oldest due on ${formatDay(row.oldest_due_on)}`,
  }));

export const longestOf = ({ answers }: Report): RecordLine[] =>
  answers.longestOverdue.slice(0, SHOWN).map((row) => ({
    kind: 'followup',
    id: row.id,
    shown: `${labelOf(row.form_label, row.form_id, 'form')} ${row.id}`,
    text: `: ${formatNumber(row.days_overdue, 'day')} overdue, with ${personOf(row.assignee_name, row.assignee_id)}`,
  }));

/** Counts of due and lapsing records of the next days; empty: there are none. */
export function lapsesOf({ answers }: Report): string[] {
  const within = (days: number) => answers.lapsing.find((row) => row.days === days)?.required ?? 0;
  const phrases = [
    [answers.lastWeek[0].due, 'follow-up', 'fall', 'due within 7 days'],
    [answers.inspections[0].expiring, 'inspection', 'expire', 'within 7 days'],
    [within(7), 'required training', 'lapse', 'within 7 days'],
    [within(30), 'required training', 'lapse', 'within 30 days'],
  ] as const;
  return phrases
    .filter(([count]) => count > 0)
    .map(
      ([count, noun, verb, when]) => `${formatNumber(count, noun)} ${verb}${count === 1 ? 's' : ''} ${when}`,
    );
}

export const before = (ms: number): string =>
  ms < MINUTE_MS ? 'less than a minute' : roughly(formatDuration(ms));

/** The age of the oldest stream, streams that were never read, and failures. null: nothing was read. */
export function dataAge(report: Report): { readonly text: string; readonly isBad: boolean } | null {
  const { streams, asOfMs } = report;
  if (!isAnythingRead(report)) return null;
  const namesOf = (all: Report['streams']): string =>
    all.map(({ stream }) => streamNamed(stream).contents).join(', ');
  const oldestMs = Math.min(...streams.flatMap(({ lastSuccessMs }) => lastSuccessMs ?? []));
  const oldest = streams.filter(({ lastSuccessMs }) => lastSuccessMs === oldestMs);
  const age = before(asOfMs - oldestMs);
  const never = streams.filter(({ lastSuccessMs }) => lastSuccessMs === null);
  const failed = streams.filter(({ failingWith }) => failingWith !== undefined);
  const sentences = [
    age === before(0)
      ? `The data is ${age} old.`
      : `The oldest part, ${namesOf(oldest)}, was read ${age} before this report.`,
    ...(never.length > 0 ? [`Never read: ${namesOf(never)}.`] : []),
    ...(failed.length > 0 ? [`The newest attempt failed for ${namesOf(failed)}.`] : []),
  ];
  return { text: sentences.join(' '), isBad: failed.length > 0 || asOfMs - oldestMs > DAY_MS };
}

/** The two lists below the key figures. */
export function firstLists(report: ShownReport): Html {
  const calls = callsOf(report).map(
    ({ kind, id, shown, text }) => html`<li>${linked(report, kind, id, html`<b>${shown}</b>`)}${text}</li>`,
  );
  const lapses = lapsesOf(report);
  const hasFollowups = report.answers.followupsNow.length > 0;
  const none = hasFollowups ? 'Nothing is due and nothing lapses in the next 30 days.' : 'Not known.';
  return html`<div class="first">
    ${
      calls.length > 0 &&
      html`<section aria-labelledby="calls-title">
        <h2 id="calls-title">Call first</h2>
        <ol>
          ${calls}
        </ol>
      </section>`
    }
    <section aria-labelledby="lapses-title">
      <h2 id="lapses-title">Due and lapsing next</h2>
      ${lapses.length === 0 ? empty(none) : list(lapses)}
    </section>
  </div>`;
}
