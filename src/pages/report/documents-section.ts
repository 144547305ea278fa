import { html, type Html } from '../html.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { empty, section } from './section.ts';
import { table } from './table.ts';
import { formatDay, personOf } from './words.ts';

export function documentsSection(report: Report): Html {
  const [now] = report.answers.documentsNow;
  const { documents = 0, not_approved: open = 0, older_than_two_years: old = 0 } = now ?? {};
  const approval =
    open === 0
      ? `The newest version of each of ${formatNumber(documents, 'document')} is approved.`
      : `The newest version of ${formatCount(open)} of ${formatNumber(documents, 'document')} is not approved.`;
  const age =
    old === 0 ? '' : ` ${formatCount(old)} ${old === 1 ? 'has' : 'have'} had no new version for two years.`;
  return section(report, {
    id: 'documents',
    title: 'Documents',
    stream: 'resources',
    hasRows: documents > 0,
    lead: `${approval}${age}`,
    body: () =>
      open === 0
        ? empty('No document waits for its approval.')
        : table(
            'Not approved, longest first',
            [
              { title: 'document' },
              { title: 'version' },
              { title: 'by', isSpare: true },
              { title: 'since', isNumber: true },
            ],
            report.answers.notApproved.map((row) => [
              html`${row.title ?? row.resource_id}`,
              row.version,
              personOf(row.creator_name, row.creator_id),
              formatDay(row.created_on),
            ]),
          ),
  });
}
