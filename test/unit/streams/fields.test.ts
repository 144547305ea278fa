import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import { accountId, safetySchema } from '../../../src/streams/columns.ts';
import { as, field, meaningsOf, tableColumns } from '../../../src/streams/fields.ts';
import { readFields } from '../../../src/streams/read-fields.ts';
import type { RecordIssue } from '../../../src/streams/stream.ts';

const fields = {
  id: field('id', as.key, 'Identifier.'),
  opened_at: field('opened', as.instant, 'When it opened.'),
  closes_on: field('closes', as.date, 'Day of its end.', 'null when it stays.'),
  tags: field('tags', as.texts, 'Tags.'),
};

test('the meaning of a column names its field, the unit, and when it is null', () => {
  expect(meaningsOf(fields)).toEqual({
    id: 'Identifier. Source: id.',
    opened_at: 'When it opened. Source: opened (ms); null when not sent.',
    closes_on: 'Day of its end. Source: closes (YYYYMMDD); null when it stays.',
    tags: 'Tags. Source: tags; null when not sent.',
  });
});

test('two tables of one declaration have the same columns, each its own', () => {
  const [one, other] = ['sites', 'site_states'].map((name) =>
    getTableConfig(safetySchema.table(name, { account_id: accountId(), ...tableColumns(fields) })),
  );
  const columnsOf = (table = one) =>
    table?.columns.map((column) => [column.name, column.getSQLType(), column.notNull]);
  expect(columnsOf(one)).toEqual([
    ['account_id', 'text', true],
    ['id', 'text', true],
    ['opened_at', 'timestamp with time zone', false],
    ['closes_on', 'date', false],
    ['tags', 'text[]', false],
  ]);
  expect(columnsOf(other)).toEqual(columnsOf(one));
  expect(other?.columns.map(({ table }) => getTableConfig(table).name)).not.toContain('sites');
});

test('a record is read by the names of its fields and gives values by column', () => {
  const issues: RecordIssue[] = [];
  const values = readFields(
    fields,
    { id: 7, opened: 0, closes: 20_260_131, opened_at: 5 },
    { report: (issue) => issues.push(issue) },
  );
  expect(values).toEqual({
    id: '7',
    opened_at: '1970-01-01T00:00:00.000Z',
    closes_on: '2026-01-31',
    tags: null,
  });
  expect(issues.map(({ kind, field: name }) => [kind, name])).toEqual([['unknown_field', 'opened_at']]);
});
