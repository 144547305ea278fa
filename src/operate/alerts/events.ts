/**
 * The texts of alerts. They consist of names, codes, counts and times only: an alert never quotes a service, a database or a
 * record, because a quote could contain personal data or secrets. The table in docs/operations.md is generated from
 * ALERT_EVENTS.
 */
import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { shorten } from '../../pages/words.ts';
import { adviceOf } from '../../shared/errors.ts';
import { groupBy } from '../../shared/group-by.ts';
import type { TokenSource } from '../../shared/token-source.ts';

/** Similar alerts, which are described by one text. */
export interface DescribedAlert {
  readonly event: AlertEvent;
  /** The stream or field of each alert; empty: the whole account. */
  readonly subjects: readonly string[];
  readonly code: string | null;
  readonly detail: string | null;
  /** The source of each account's token, for example a file. */
  readonly tokenSources: readonly TokenSource[];
}

interface EventWords {
  /** When the alert begins, for the documentation, in Markdown. */
  readonly when: string;
  readonly begun: (alert: DescribedAlert) => string;
  readonly over: (alert: DescribedAlert) => string;
  /** Advice for alerts without an error code; null: there is always a code. */
  readonly advice: string | null;
}

const MOST_NAMED = 6;
const LONGEST_NAME = 60;

/** `a`, `a and b`, `a, b and 3 more` */
export function joinNames(names: readonly string[]): string {
  const named = names.length > MOST_NAMED ? names.slice(0, MOST_NAMED - 1) : names.slice(0, -1);
  const last = names.length > MOST_NAMED ? `${names.length - named.length} more` : (names.at(-1) ?? '');
  return named.length === 0 ? last : `${named.join(', ')} and ${last}`;
}

const is = ({ subjects }: DescribedAlert): string => (subjects.length === 1 ? 'is' : 'are');
const streamsOf = ({ subjects }: DescribedAlert): string => joinNames(subjects);
const because = ({ code }: DescribedAlert): string => (code === null ? '' : ` (${code})`);

/** The service chooses the name, so all characters are removed that could become markup or a mention in a chat. */
const toName = (field: string): string => shorten(field.replace(/[^\p{L}\p{N}._[\]-]/gu, '?'), LONGEST_NAME);

const streamOf = (subject: string): string => subject.slice(0, subject.indexOf(' '));

/** `severity and due.tz of followups`, from `followups severity` and `followups due.tz`. */
const fieldsOf = ({ subjects }: DescribedAlert): string => {
  const texts = groupBy(subjects, streamOf).map((alike) => {
    const stream = streamOf(alike[0]);
    return `${joinNames(alike.map((subject) => toName(subject.slice(stream.length + 1))))} of ${stream}`;
  });
  return texts.join('; ');
};

/** Describes the refused credentials of the account, or the streams that the token may not read. */
const credentialsOf = (alert: DescribedAlert, accepts: string, lets: string): string =>
  alert.subjects.includes('')
    ? `the service ${accepts} the credentials`
    : `the service ${lets} ${streamsOf(alert)}`;

export const ALERT_EVENTS: Readonly<Record<AlertEvent, EventWords>> = {
  stale: {
    when: 'a scheduled stream has not succeeded within `FRESHNESS_BUDGET_MINUTES`; a first sync has no limit',
    begun: (alert) =>
      `${streamsOf(alert)} ${is(alert)} stale: no success within ${alert.detail ?? 'the budget'}${because(alert)}`,
    over: (alert) => `${streamsOf(alert)} ${is(alert)} fresh again`,
    advice:
      'Its last run did not fail: see on the status page and in the worker’s log whether runs take long or do not begin.',
  },
  credentials_refused: {
    when: 'the service refuses the token, or lets it read a stream no longer',
    begun: (alert) =>
      `${credentialsOf(alert, 'refuses', 'does not let this token read')}${because(alert)}; nothing is synced there`,
    over: (alert) => `${credentialsOf(alert, 'accepts', 'lets this token read')} again`,
    advice: null,
  },
  stream_failing: {
    when: 'the last run or the last `reconcile` of a scheduled stream failed, and no further attempt is under way',
    begun: (alert) =>
      `${streamsOf(alert)} ${alert.subjects.length === 1 ? 'fails' : 'fail'}${because(alert)}`,
    over: (alert) => `${streamsOf(alert)} ${alert.subjects.length === 1 ? 'succeeds' : 'succeed'} again`,
    advice: null,
  },
  delete_guard: {
    when: 'a snapshot lacks a larger share of the live rows than `MAX_DELETE_RATIO`',
    begun: (alert) =>
      `${streamsOf(alert)}: so many records are missing at the source that the delete guard marks none as deleted`,
    over: (alert) => `${streamsOf(alert)}: the delete guard does not stop the sync any more`,
    advice: null,
  },
  database_away: {
    when: 'a worker cannot use the warehouse, or finds it without migrations that it needs',
    begun: (alert) => `the database cannot be used by ${alert.detail ?? 'a worker'}${because(alert)}`,
    over: () => 'the database is back',
    advice: null,
  },
  repaired: {
    when: 'a `reconcile` stored changes that earlier syncs had missed; over with the next one that finds none',
    begun: (alert) =>
      `reconcile of ${streamsOf(alert)} stored ${alert.detail ?? 'changes'} that earlier syncs had missed`,
    over: (alert) => `reconcile of ${streamsOf(alert)} found nothing that was missed`,
    advice: 'The data is correct now; please report it, with the line of that run in safety-sync runs.',
  },
  new_field: {
    when: 'the service sends a field that this version does not know; over when it no longer does',
    begun: (alert) => `the service sends new fields: ${fieldsOf(alert)}`,
    over: (alert) => `the service no longer sends ${fieldsOf(alert)}`,
    advice:
      'No value is lost, _raw keeps it; safety-sync data-issues shows it. A column for it needs another version of safety-sync.',
  },
  report_failed: {
    when: 'the [report](#the-report) could not be made, written or sent',
    begun: (alert) => `the report could not be made or sent${because(alert)}; it is tried again`,
    over: () => 'the report was made and sent',
    advice: null,
  },
};

/** The text of one alert that has begun. */
export function textOfAlert({
  event,
  subject,
  code,
  detail,
}: Pick<DescribedAlert, 'event' | 'code' | 'detail'> & { readonly subject: string }): string {
  return ALERT_EVENTS[event].begun({ event, subjects: [subject], code, detail, tokenSources: [] });
}

export function adviceOfAlert({ event, code, tokenSources }: DescribedAlert): string {
  const { advice } = ALERT_EVENTS[event];
  const ofCode = adviceOf(code ?? '', ...tokenSources);
  return advice === null || ofCode !== '' ? ofCode : advice;
}
