import { html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { empty, type Section, streamSection } from './section.ts';
import { linked, linkedPerson, restOf, type ShownReport } from './shown-report.ts';
import { formatDay } from '../words.ts';

export function documentsSection(report: ShownReport): Section {
  const [now] = report.answers.documentsNow;
  const { documents = 0, not_approved: open = 0, older_than_two_years: old = 0 } = now ?? {};
  const approval =
    open === 0
      ? `The newest version of each of ${formatNumber(documents, 'document')} is approved.`
      : `The newest version of ${formatCount(open)} of ${formatNumber(documents, 'document')} is not approved.`;
  const age =
    old === 0 ? '' : ` ${formatCount(old)} ${old === 1 ? 'has' : 'have'} had no new version for two years.`;
  return streamSection(report, {
    id: 'documents',
    title: 'Documents',
    stream: 'resources',
    hasRows: documents > 0,
    lead: `${approval}${age}`,
    body: () =>
      open === 0
        ? empty('No document waits for its approval.')
        : html`${table({
            caption: 'Not approved, longest first',
            rows: report.answers.notApproved,
            columns: [
              {
                title: 'document',
                cell: (row) => linked(report, 'resource', row.resource_id, row.title ?? row.resource_id),
              },
              { title: 'version', cell: (row) => row.version },
              { title: 'category', isSpare: true, cell: (row) => row.category_label },
              {
                title: 'by',
                isSpare: true,
                cell: (row) =>
                  row.creator_id === null ? '–' : linkedPerson(report, row.creator_name, row.creator_id),
              },
              { title: 'since', isNumber: true, cell: (row) => formatDay(row.created_on) },
            ],
          })}
          ${restOf(report, 'documents', { count: open - report.answers.notApproved.length })}`,
  });
}
