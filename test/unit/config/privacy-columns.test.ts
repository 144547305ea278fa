import { expect, test } from 'vitest';
import { privacyProblems } from '../../../src/config/privacy-columns.ts';

const problemsOf = (omit: readonly string[], pseudonymize: readonly string[] = []) =>
  privacyProblems({ omit, pseudonymize });

test('text columns without a role in a key can be omitted or pseudonymized', () => {
  const texts = ['followup_messages.note', 'equipment.notes', 'users.name', 'resources.tags'];
  texts.push('equipment_metavalues.text_value', 'followup_attachments.caption');
  expect([problemsOf(texts), problemsOf([], texts)]).toEqual([[], []]);
  expect(problemsOf(['followups.observer_id', 'followups.due_on', 'equipment.metavalues'])).toEqual([]);
});

test('an unknown column, a key, a version and what no field fills cannot be omitted; ids and other types cannot be pseudonyms', () => {
  expect(problemsOf(['followup_messages.notes'])[0]).toContain('did you mean followup_messages.note?');
  const needed = `followups.id identifies, followups.updated_at newer, followups.is_deleted_at_source deleted,
    equipment.equipment_type_id list, followups._raw not a field, names.id not a field, names.account_id identifies,
    equipment_metavalues.metafield_id identifies, equipment_metavalues.equipment_id identifies`;
  for (const one of needed.split(/,\s+/)) {
    const [, name = '', why = ''] = /^(\S+) (.*)$/.exec(one) ?? [];
    expect(problemsOf([name])[0]).toMatch(new RegExp(`^PRIVACY_OMIT: ${name} .*${why}`));
  }
  const pseudonymize = [
    'followups.observer_id',
    'users.id',
    'equipment_schedules.status',
    'equipment_metavalues.item_ids',
  ];
  const problems = problemsOf([], pseudonymize);
  expect(problems).toHaveLength(4);
  expect(problems[0]).toMatch(/^PRIVACY_PSEUDONYMIZE: followups.observer_id .* only text /);
});

test('a column cannot be both omitted and pseudonymized', () => {
  expect(problemsOf(['users.name'], ['users.name'])[0]).toContain('is in PRIVACY_OMIT too');
});
