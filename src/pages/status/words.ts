/** Status → plain words. Pure. */
import { formatAge, formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import type {
  DatabaseReport,
  Freshness,
  IssueReport,
  Level,
  RunReport,
  StreamDetail,
} from '../../status/status.ts';

export function ageOf(ms: number | null, nowMs: number): string {
  return ms === null ? 'never' : roughly(formatAge(new Date(ms).toISOString(), nowMs));
}

/** Why what is shown is not of now. */
export function whyOld({ isUp }: Pick<DatabaseReport, 'isUp'>): string {
  return isUp ? 'the database answers slowly' : 'the newest that is known';
}

export function untilOf(ms: number, nowMs: number): string {
  return ms <= nowMs ? 'now' : `in ${roughly(formatDuration(Math.ceil((ms - nowMs) / 1000) * 1000))}`;
}

/** `Fri 2026-03-06 14:30:05` in the time zone of the schedules. */
export function clockTime(ms: number, timezone: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(ms);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  const day = `${part('year')}-${part('month')}-${part('day')}`;
  return `${part('weekday')} ${day} ${part('hour')}:${part('minute')}:${part('second')}`;
}

export function badgeOf({ offReason, freshness, running, lastRun }: StreamDetail): {
  level: Level | 'off';
  text: string;
} {
  if (running !== null) return { level: 'busy', text: running.kind === 'sync' ? 'syncing' : running.kind };
  if (offReason !== null)
    return { level: 'off', text: offReason === 'not scheduled' ? offReason : `off: ${offReason}` };
  const texts: Readonly<Record<Freshness, string>> = {
    fresh: 'fresh',
    stale: 'stale',
    never: 'never synced',
  };
  if (freshness === 'fresh' && lastRun?.status === 'failed') return { level: 'warning', text: 'failed last' };
  return { level: freshness === 'fresh' ? 'good' : 'bad', text: texts[freshness] };
}

/** `13 updated, 2 new`; empty when nothing changed. */
export function changesOf({ inserted, updated, deleted, rejected }: RunReport): string {
  const parts = [
    [inserted, 'new'],
    [updated, 'changed'],
    [deleted, 'deleted'],
    [rejected, 'rejected'],
  ] as const;
  return parts.flatMap(([count, word]) => (count === 0 ? [] : [`${formatCount(count)} ${word}`])).join(', ');
}

export function describeRun(run: RunReport): string {
  const changes = run.status === 'succeeded' ? changesOf(run) || 'nothing changed' : (run.error?.code ?? '');
  const kind = run.kind === 'sync' ? '' : ` (${run.kind})`;
  return [`${run.status}${kind}`, formatDuration(run.durationMs), changes]
    .filter((text) => text !== '')
    .join(', ');
}

export function describeIssue({ kind, stream, field, count, problem }: IssueReport): string {
  const name = field ?? 'a field';
  switch (kind) {
    case 'record_rejected':
      return `${formatNumber(count, 'record')} of ${stream} could not be stored and ${count === 1 ? 'is' : 'are'} kept aside: ${problem}`;
    case 'field_nulled':
      return `${formatNumber(count, 'value')} of ${name} in ${stream} could not be stored and ${count === 1 ? 'is' : 'are'} empty: ${problem}`;
    case 'unknown_field':
      return `The service sends ${name} in ${stream}, which is not known here; it is kept in _raw.`;
    case 'unknown_value':
      return `${formatNumber(count, 'value')} of ${name} in ${stream} ${count === 1 ? 'is' : 'are'} new here; stored as sent: ${problem}`;
  }
}
