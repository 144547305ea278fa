/** Formats days, times, people, runs and data issues as text for the pages. Pure. */
import { formatAge, formatCount, formatDuration, formatNumber, roughly } from '../shared/format.ts';
import { DAY_MS } from '../shared/time.ts';
import type { IssueGroup } from '../operate/status/read-account-rows.ts';
import type { RunSummary, StreamDetail } from '../operate/status/account-detail.ts';
import { areAccountsRead, type DatabaseStatus, type Level } from '../operate/status/status.ts';
import type { StorageRules } from '../operate/status/storage-rules.ts';

export function ageOf(ms: number | null, nowMs: number): string {
  return roughly(formatAge(ms, nowMs));
}

export function untilOf(ms: number, nowMs: number): string {
  const text = formatDuration(Math.ceil((ms - nowMs) / 1000) * 1000);
  return ms <= nowMs ? 'now' : `in ${roughly(text).replace('.0 s', ' s')}`;
}

/** By time zone. Formatters are kept, because creating one takes longer than formatting a hundred texts. */
const clocks = new Map<string, Intl.DateTimeFormat>();

/** For example `2026-03-06 14:30:05`, the form of times in Swedish texts. */
function localTime(ms: number, timeZone: string): string {
  const known = clocks.get(timeZone);
  const clock =
    known ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(timeZone, clock);
  return clock.format(ms);
}

/** For example `Fri 2026-03-06 14:30:05`, in the time zone of the schedules. */
export function clockTime(ms: number, timezone: string): string {
  const time = localTime(ms, timezone);
  return `${weekdayOf(time)} ${time}`;
}

interface Badge {
  readonly level: Level | 'off';
  readonly text: string;
}

type Known = Pick<DatabaseStatus, 'isUp' | 'isTooOld' | 'readAtMs' | 'pendingMigrations'>;

/** A good or busy state that is not current is shown as `last known: …`. */
export function knownBadge({ level, text }: Badge, database: Known): Badge {
  const isCurrent = database.isUp && !database.isTooOld;
  if (isCurrent || (level !== 'good' && level !== 'busy')) return { level, text };
  return { level: 'off', text: `last known: ${text}` };
}

export const NOT_READ = 'not read yet';

export function badgeOf(stream: StreamDetail, database: Known): Badge {
  const { offReason, freshness, running } = stream;
  if (running === null && offReason !== null)
    return { level: 'off', text: offReason === 'no equipment types' ? `off: ${offReason}` : offReason };
  if (!areAccountsRead(database)) return { level: 'off', text: NOT_READ };
  if (running !== null) {
    const text = running.kind === 'sync' ? 'syncing' : running.kind;
    const isLate = offReason === null && freshness === 'stale';
    return knownBadge(isLate ? { level: 'bad', text: `stale, ${text}` } : { level: 'busy', text }, database);
  }
  if (freshness !== 'fresh') return { level: 'bad', text: freshness === 'stale' ? 'stale' : 'never synced' };
  const warning = warningOf(stream);
  return knownBadge(
    warning === null ? { level: 'good', text: 'fresh' } : { level: 'warning', text: warning },
    database,
  );
}

/** A reason why a stream that is still fresh needs attention. */
function warningOf({
  heldUpBy,
  isRefused,
  lastRun,
  failedReconcile,
  unreadRows,
}: StreamDetail): string | null {
  if (heldUpBy !== undefined) return 'held up';
  if (isRefused) return 'refused by the service';
  if (lastRun?.status === 'failed') return 'last run failed';
  if (failedReconcile !== undefined) return 'last reconcile failed';
  return unreadRows === 0 ? null : `${formatCount(unreadRows)} not read`;
}

/** For example `13 updated, 2 new`; empty when nothing changed. */
export function changesOf({ inserted, updated, deleted, rejected }: RunSummary): string {
  const phrases = [
    [inserted, 'new'],
    [updated, 'changed'],
    [deleted, 'deleted'],
    [rejected, 'rejected'],
  ] as const;
  return phrases
    .flatMap(([count, word]) => (count === 0 ? [] : [`${formatCount(count)} ${word}`]))
    .join(', ');
}

export function describeRun(run: RunSummary): string {
  const changes = run.status === 'succeeded' ? changesOf(run) || 'nothing changed' : (run.error?.code ?? '');
  const kind = run.kind === 'sync' ? '' : ` (${run.kind})`;
  return [`${run.status}${kind}`, formatDuration(run.durationMs), changes]
    .filter((text) => text !== '')
    .join(', ');
}

export function describeIssue({
  kind,
  stream,
  field,
  count,
  isPart,
  problem,
}: Omit<IssueGroup, 'firstSeenMs'>): string {
  const name = field ?? 'a field';
  const counted = (noun: string) => `${isPart === true ? 'At least ' : ''}${formatNumber(count, noun)}`;
  switch (kind) {
    case 'record_rejected':
      return `${counted('record')} of ${stream} ${count === 1 ? 'was rejected and is kept as a data issue' : 'were rejected and are kept as data issues'}: ${problem}`;
    case 'field_nulled':
      return `${counted('value')} of ${name} in ${stream} could not be stored and ${count === 1 ? 'is' : 'are'} empty: ${problem}`;
    case 'unknown_field':
      if (field === null) return `${stream}: ${problem}; they are kept in _raw.`;
      return `The service sends ${name} in ${stream}, which this version does not know; it is kept in _raw.`;
    case 'unknown_value':
      return `${counted('value')} of ${name} in ${stream} ${count === 1 ? 'is' : 'are'} new here; stored as sent: ${problem}`;
  }
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Days since 1970. In UTC, because a day already belongs to the account's time zone. */
export const dayNumber = (day: string): number => Date.parse(day.slice(0, 10)) / DAY_MS;

/** Adds days to a day. */
export function dayAfter(day: string, days: number): string {
  return new Date((dayNumber(day) + days) * DAY_MS).toISOString().slice(0, 10);
}

/** Days since the Monday of the day's week; the first day of 1970 was a Thursday. */
const daysSinceMonday = (day: string): number => (dayNumber(day) + 3) % 7;

const weekdayOf = (day: string): string => WEEKDAYS[daysSinceMonday(day)] ?? '';

/** A year beyond 9999 has more than four digits. */
function partsOf(day: string) {
  const [year = '', month = '', date = ''] = day.split('-');
  return { year, month: MONTHS[Number(month) - 1] ?? '', date: Number.parseInt(date, 10) };
}

/** For example `1 Mar 2026`. */
export function formatDay(day: string | null): string {
  return day === null ? '–' : `${formatShortDay(day)} ${partsOf(day).year}`;
}

/** For example `1 Mar`. */
function formatShortDay(day: string): string {
  const { month, date } = partsOf(day);
  return `${date} ${month}`;
}

/** For example `Mon 2 Mar`. */
export function formatWeekday(day: string): string {
  return `${weekdayOf(day)} ${formatShortDay(day)}`;
}

/** For example `1 Mar 2026, 14:30`, in the given time zone. */
export function formatMoment(ms: number, timezone: string): string {
  const time = localTime(ms, timezone);
  return `${formatDay(time)}, ${time.slice(11, 16)}`;
}

/** Whole percents with a non-breaking space; 0 and 100 only when exact. */
export function formatShare(count: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = Math.round((100 * count) / whole);
  const shown = percent === 100 && count < whole ? 99 : percent === 0 && count > 0 ? 1 : percent;
  return `${shown}\u00a0%`;
}

/** Truncates a text that is shown in full in a table next to it. */
export function shorten(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}

export function describeRetention({ deletedDays, runsDays, issuesDays }: StorageRules): string {
  const periods = [
    ['rows that the source deleted', deletedDays],
    ['runs', runsDays],
    ['resolved data issues', issuesDays],
  ] as const;
  if (periods.every(([, days]) => days === null)) {
    return 'Kept for ever: rows that the source deleted, runs, resolved data issues.';
  }
  const texts = periods.map(
    ([what, days]) => `${what} ${days === null ? 'for ever' : formatNumber(days, 'day')}`,
  );
  return `Kept: ${texts.join(', ')}.`;
}

/** Describes privacy settings; null: there are none. */
export function describeProtection({ omitted, pseudonyms }: StorageRules): string | null {
  const phrases = [
    ...(omitted.length === 0 ? [] : [`Never stored: ${omitted.join(', ')}.`]),
    ...(pseudonyms.length === 0 ? [] : [`Stored as pseudonyms: ${pseudonyms.join(', ')}.`]),
  ];
  return phrases.length === 0 ? null : phrases.join(' ');
}
