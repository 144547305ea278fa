import { expect, test } from 'vitest';
import { privacyProblems } from '../../../src/config/privacy-columns.ts';
import { STREAMS } from '../../../src/engine/streams/index.ts';

const KEY = 'k'.repeat(32);
const problemsOf = (
  omit: readonly string[],
  pseudonymize: readonly string[] = [],
  key: string | undefined = KEY,
) => privacyProblems({ omit, pseudonymize, key }, STREAMS);

test('text columns without a role in a key can be omitted or pseudonymized', () => {
  const texts = [
    'followup_messages.note',
    'equipment.notes',
    'users.name',
    'resources.tags',
    'equipment_metavalues.text_value',
  ];
  expect(problemsOf(texts)).toEqual([]);
  expect(problemsOf([], texts)).toEqual([]);
  expect(
    problemsOf([
      'followups.observer_id',
      'followup_messages.signature',
      'followups.due_on',
      'equipment.metavalues',
    ]),
  ).toEqual([]);
});

test('an unknown column is refused with the most similar name', () => {
  expect(problemsOf(['followup_messages.notes'])).toEqual([
    'PRIVACY_OMIT: there is no column followup_messages.notes; did you mean followup_messages.note? (expected table.column, separated by commas)',
  ]);
});

test('a key column, a version column or a column that no field fills cannot be omitted, and the error lists possible columns', () => {
  const told = problemsOf([
    'followups.id',
    'followups.updated_at',
    'equipment.equipment_type_id',
    'followup_messages.position',
    'followups._raw',
  ]);
  expect(told).toHaveLength(5);
  expect(told[0]).toContain('it identifies records; of this table can: followups.form_id');
  expect(told[1]).toContain('which of two versions');
  expect(told[2]).toContain('the list that contains');
  expect(told[3]).toContain('not a field that the service sends');
});

test('only free text can be pseudonymized, because ids join tables', () => {
  for (const column of [
    'followups.observer_id',
    'users.id',
    'followups.due_on',
    'equipment.metavalues',
    'equipment.status',
    'equipment.client_ids',
  ]) {
    expect(problemsOf([], [column]), column).toHaveLength(1);
  }
});

test('a column cannot be both omitted and pseudonymized, and pseudonyms need a key', () => {
  expect(problemsOf(['users.name'], ['users.name'])).toEqual([
    'PRIVACY_PSEUDONYMIZE: users.name is in PRIVACY_OMIT too: keep one of them',
  ]);
  expect(privacyProblems({ omit: [], pseudonymize: ['users.name'], key: undefined }, STREAMS)[0]).toContain(
    'PRIVACY_KEY is not set',
  );
});
