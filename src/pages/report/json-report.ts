import { areaText } from '../../shared/area.ts';
import { toIso } from '../../shared/time.ts';
import { notesOf } from './first-screen.ts';
import type { Report } from './read-report.ts';

/** The report for programs: figures, how they moved, and the first rows of each list, with the names of columns. */
export function toJsonReport(report: Report) {
  const { accountId, area, timezone, asOfMs, figures, trends, lists, parts } = report;
  return {
    account_id: accountId,
    area: area === null ? null : areaText(area),
    timezone,
    as_of: toIso(asOfMs),
    notes: notesOf(report).map(({ text }) => text),
    read: Object.fromEntries(parts.map(({ stream, read_ms: ms }) => [stream, toIso(ms)])),
    figures,
    trends,
    lists: Object.fromEntries(
      Object.entries(lists).map(([name, { total, rows }]) => [name, { total, rows }]),
    ),
  };
}
