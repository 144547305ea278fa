/** How far the page can be trusted: how fresh its data is, and what could not be taken as it came. */
import { html, type Html } from '../html.ts';
import { describeIssue } from '../status/words.ts';
import { formatAge, roughly } from '../../shared/format.ts';
import { streamNamed } from '../../streams/index.ts';
import type { Report } from './read-report.ts';
import { table } from './table.ts';
import { formatMoment } from './words.ts';

const LISTED_ISSUES = 12;

function freshness({ streams, asOfMs, timezone }: Report): Html {
  const hasFailures = streams.some(({ failedWith }) => failedWith !== null);
  return table(
    'When each part was last read from the service',
    [
      { title: 'what' },
      { title: 'last read', isNumber: true },
      { title: 'that is', isNumber: true },
      ...(hasFailures ? [{ title: 'remark' }] : []),
    ],
    streams.map(({ stream, lastSuccessMs, failedWith }) => [
      streamNamed(stream).contents,
      lastSuccessMs === null ? '–' : formatMoment(lastSuccessMs, timezone),
      lastSuccessMs === null ? 'never' : roughly(formatAge(new Date(lastSuccessMs).toISOString(), asOfMs)),
      ...(hasFailures ? [failedWith === null ? '' : `the newest attempt failed: ${failedWith}`] : []),
    ]),
  );
}

function issues({ issues: groups }: Report): Html {
  if (groups.length === 0) return html`<p class="empty">Everything was stored as the service sent it.</p>`;
  const rest = groups.length - LISTED_ISSUES;
  return html`<p>Not everything could be taken as it came:</p>
    <ul>
      ${groups
        .slice(0, LISTED_ISSUES)
        .map(
          (group) =>
            html`<li>${describeIssue({ ...group, firstSeenMs: Date.parse(group.firstSeenAt) })}</li>`,
        )}
    </ul>
    ${rest > 0 && html`<p class="note">and ${rest} more kinds.</p>`}
    <p class="note">One by one: <code>safety-sync data-issues</code></p>`;
}

export function dataSection(report: Report): Html {
  return html`<section id="data" aria-labelledby="data-title">
    <h2 id="data-title">About this data</h2>
    ${freshness(report)} ${issues(report)}
  </section>`;
}
