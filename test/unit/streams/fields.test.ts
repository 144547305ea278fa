import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import { accountId, safetySchema } from '../../../src/engine/streams/columns.ts';
import { as, field, meaningsOf, tableColumns } from '../../../src/engine/streams/fields.ts';

const fields = {
  id: field('id', as.key, 'Identifier.'),
  opened_at: field('opened', as.instant, 'When it opened.'),
  closes_on: field('closes', as.date, 'Day of its end.', 'null when it stays.'),
  tags: field('tags', as.texts, 'Tags.'),
};

test('the description of a column names its field, its unit, and when it is null', () => {
  expect(meaningsOf(fields)).toEqual({
    id: 'Identifier. Source: id.',
    opened_at: 'When it opened. Source: opened (ms); null when not sent.',
    closes_on: 'Day of its end. Source: closes (YYYYMMDD); null when it stays.',
    tags: 'Tags. Source: tags; null when not sent.',
  });
});

test('each table gets separate builders of equal columns', () => {
  const table = safetySchema.table('sites', { account_id: accountId(), ...tableColumns(fields) });
  expect(getTableConfig(table).columns.map(({ name, notNull }) => [name, notNull])).toEqual([
    ['account_id', true],
    ['id', true],
    ['opened_at', false],
    ['closes_on', false],
    ['tags', false],
  ]);
  expect([table.id, table.opened_at, table.closes_on, table.tags].map((one) => one.getSQLType())).toEqual([
    'text collate "C"',
    'timestamp with time zone',
    'date',
    'text[]',
  ]);
  expect(tableColumns(fields).id).not.toBe(tableColumns(fields).id);
});
