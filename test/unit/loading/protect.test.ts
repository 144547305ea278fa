import { expect, test } from 'vitest';
import { forgottenTexts } from '../../../src/engine/privacy/people.ts';
import { createProtection, WITHHELD } from '../../../src/engine/privacy/protect.ts';
import { createPseudonyms } from '../../../src/shared/pseudonym.ts';
import { streamNamed } from '../../../src/engine/streams/index.ts';

const pseudonyms = createPseudonyms('k'.repeat(32));
const protectionOf = (stream: string, id: string, ...names: readonly string[]) =>
  createProtection({
    stream: streamNamed(stream),
    omit: [],
    pseudonymize: [],
    pseudonyms,
    forgotten: forgottenTexts(pseudonyms, { id, names }),
  });

test('the record of a forgotten person keeps only the pseudonym, in any form of the record', () => {
  const users = protectionOf('users', '10001');
  const record = { id: 10001, name: 'Maria', firstname: { said: 'x' }, manager_id: '7', terminationDate: 5 };
  const kept = users.ofRecord(record);
  expect(kept).toEqual({ id: pseudonyms.of('10001') });
  expect(users.ofRecord(kept)).toBe(kept);
  const other = { id: '10002', name: 'Hedwig' };
  expect(users.ofRecord(other)).toBe(other);
  expect(
    users.ofRecord({ ...other, supervisor_id: 10001, creator_id: { id: '10001', firstname: 'Maria' } }),
  ).toEqual({
    ...other,
    supervisor_id: pseudonyms.of('10001'),
    creator_id: pseudonyms.of('10001'),
  });
  expect(users.ofRecord('Maria')).toBe(WITHHELD);
});

test('a namesake of a forgotten person keeps the name in the namesake’s record only', () => {
  const users = protectionOf('users', '101', 'John Smith');
  for (const name of [
    { name: 'John Smith' },
    { firstname: 'John', lastname: 'Smith' },
    { name: 'SMITH, John' },
  ]) {
    const namesake = { id: '202', ...name, username: 'unknown' };
    expect(users.ofRecord(namesake)).toEqual({ id: '202', ...name });
    expect(users.ofRecord({ ...namesake, supervisor_id: 101 })).toEqual({
      id: '202',
      ...name,
      supervisor_id: pseudonyms.of('101'),
    });
    expect(users.ofRecord({ id: '101', ...name })).toEqual({ id: pseudonyms.of('101') });
  }
});

test('a number equal to a forgotten id is replaced where a field may hold any value, not in measures and other ids', () => {
  const person = pseudonyms.of('4242');
  const followups = protectionOf('followups', '4242');
  expect(
    followups.ofRecord({ id: 'a', form_id: 4242, due: 4242, approver: 4242, by: [4242, 4243, { of: 4242 }] }),
  ).toEqual({
    id: 'a',
    form_id: 4242,
    due: 4242,
    approver: person,
    by: [person, 4243, { of: person }],
  });
  const equipment = protectionOf('equipments', '4242');
  const measured = { id: 'e', parent_id: '4242', metavalues: { 4242: 4242, b: { item_ids: [4242] } } };
  expect(equipment.ofRecord(measured)).toBe(measured);
});
