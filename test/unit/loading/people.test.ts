import { expect, test } from 'vitest';
import { createPeople, forgottenTexts } from '../../../src/loading/people.ts';
import { createPseudonyms } from '../../../src/shared/pseudonym.ts';

const pseudonyms = createPseudonyms('k'.repeat(32));
const forget = (id: string, name: string | null) => {
  const people = createPeople(pseudonyms, forgottenTexts(pseudonyms, { id, name }));
  if (people === null) throw new TypeError('nobody was forgotten');
  return { people, person: pseudonyms.of(id) };
};

test('a name is found inside of texts in both orders and any case, and nothing else of the text changes', () => {
  const { people, person } = forget('10001', 'Maria Lopez-Díaz');
  expect(people.inText('Ask Maria Lopez-Díaz, or LOPEZ-DÍAZ, MARIA; not Maria or Lopez.')).toBe(
    `Ask ${person}, or ${person}; not Maria or Lopez.`,
  );
  expect(people.inText('Mariana Lopez-Díaz')).toBe('Mariana Lopez-Díaz');
});

test('a short id is found as a whole value only, a distinctive one also inside of texts', () => {
  const short = forget('10001', null);
  expect(short.people.inText('10001')).toBe(short.person);
  expect(short.people.inText('room 10001')).toBe('room 10001');
  expect(short.people.amongWords('10001')).toBe('10001');
  const long = forget('AD-10051', null);
  expect(long.people.inText('asked (AD-10051).')).toBe(`asked (${long.person}).`);
  expect(long.people.inText('AD-100511')).toBe('AD-100511');
});

test('a name of one word is everybody’s: it stays inside of texts', () => {
  const { people } = forget('10001', 'Maria');
  expect(people.inText('Maria says so')).toBe('Maria says so');
});

test('what is a pseudonym already stays as it is, and another key makes others', () => {
  const { people, person } = forget('10001', 'Maria Lopez');
  expect(pseudonyms.of(person)).toBe(person);
  expect(people.inText(person)).toBe(person);
  const other = createPseudonyms('other'.repeat(8));
  expect(other.of('10001')).not.toBe(person);
  expect(other.keyId).not.toBe(pseudonyms.keyId);
});
