import { formatCount, formatNumber } from '../../shared/format.ts';
import { table } from '../table.ts';
import { formatDay } from '../words.ts';
import { empty, type Section, streamSection } from './section.ts';
import { linked, linkedPerson, restOf, type ShownReport } from './shown-report.ts';

export function documentsSection(report: ShownReport): Section {
  const { documentsNow, notApproved: rows } = report.answers;
  const { documents, not_approved: open, older_than_two_years: old } = documentsNow[0];
  const approval =
    open === 0
      ? `The newest version of each of ${formatNumber(documents, 'document')} is approved.`
      : `The newest version of ${formatCount(open)} of ${formatNumber(documents, 'document')} is not approved.`;
  const age =
    old === 0 ? '' : ` ${formatCount(old)} ${old === 1 ? 'has' : 'have'} had no new version for two years.`;
  const notApproved = () => [
    table({
      caption: 'Not approved, longest first',
      rows,
      columns: [
        ['document', (row) => linked(report, 'resource', row.resource_id, row.title ?? row.resource_id)],
        ['version', (row) => row.version],
        ['category', (row) => row.category_label, 'spare'],
        [
          'by',
          ({ creator_name: name, creator_id: id }) => (id === null ? '–' : linkedPerson(report, name, id)),
          'spare',
        ],
        ['since', (row) => formatDay(row.created_on), 'num'],
      ],
    }),
    restOf(report, 'documents', open - rows.length),
  ];
  return streamSection(report, {
    id: 'documents',
    title: 'Documents',
    stream: 'resources',
    hasRows: documents > 0,
    lead: `${approval}${age}`,
    body: () => (open === 0 ? empty('No document waits for its approval.') : notApproved()),
  });
}
