/** Links from the report to records in the service. */
import { recordUrlOf } from '../../shared/record-urls.ts';
import type { Row } from './cells.ts';
import { type List, type ListName, LISTS } from './lists.ts';
import type { Report } from './read-report.ts';

const idOf = (row: Row, column: string): string | null => {
  const id = row[column] ?? null;
  return id === null ? null : String(id);
};

/** null: the row is no record, or there is no template for its kind. */
export function linkOf({ recordUrls }: Pick<Report, 'recordUrls'>, list: ListName, row: Row): string | null {
  const { records }: List = LISTS[list];
  const [kind, column] = records.find(([, one]) => idOf(row, one) !== null) ?? [];
  if (kind === undefined || column === undefined) return null;
  return recordUrlOf(recordUrls, kind, {
    id: idOf(row, column),
    response_id: idOf(row, 'response_id'),
    form_id: idOf(row, 'form_id'),
  });
}
