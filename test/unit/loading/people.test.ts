import { expect, test } from 'vitest';
import { createPeople, forgottenTexts } from '../../../src/engine/privacy/people.ts';
import { createPseudonyms, shortenPseudonyms } from '../../../src/shared/pseudonym.ts';

const pseudonyms = createPseudonyms('k'.repeat(32));
const forget = (id: string, ...names: readonly string[]) => {
  const people = createPeople(pseudonyms, forgottenTexts(pseudonyms, { id, names }));
  return { people, person: pseudonyms.of(id) };
};

test('a pseudonym has 32 digits, of which a page shows eight, and is its own pseudonym', () => {
  const person = pseudonyms.of('10001');
  expect(person).toMatch(/^pseudonym:[0-9a-f]{32}$/);
  expect(pseudonyms.of(person)).toBe(person);
  expect(shortenPseudonyms(`by ${person}.`)).toBe(`by ${person.slice(0, 18)}….`);
});

test('a name inside a text is replaced in both orders and any case, and the rest of the text is unchanged', () => {
  const { people, person } = forget('10001', 'Maria Lopez-Díaz');
  expect(people.find('Ask Maria Lopez-Díaz, or LOPEZ-DÍAZ, MARIA; not Maria or Lopez.')).toBe(
    `Ask ${person}, or ${person}; not Maria or Lopez.`,
  );
  expect(people.find('Mariana Lopez-Díaz')).toBe('Mariana Lopez-Díaz');
});

test('a distinctive id is replaced inside other text, and blanks around an id do not count', () => {
  const { people, person } = forget('EMP-7654321');
  expect(people.find('mail EMP-7654321@example.org')).toBe(`mail ${person}@example.org`);
  expect(people.ofId(' EMP-7654321\t')).toBe(person);
});

test('an id with dots, or within a name of a file, is replaced', () => {
  const dotted = forget('maria.lopez@example.org');
  expect(dotted.people.find('by maria.lopez@example.org.')).toBe(`by ${dotted.person}.`);
  const { people, person } = forget('808a87ce233135971190d9c4');
  expect(people.find('files/808a87ce233135971190d9c4_photo.jpg')).toBe(`files/${person}_photo.jpg`);
});

test('a short id is replaced only as a whole value, a distinctive one also inside a text', () => {
  const short = forget('10001');
  expect(short.people.find('10001')).toBe(short.person);
  expect(short.people.find('room 10001')).toBe('room 10001');
  expect(short.people.find('10001', true)).toBe('10001');
  const long = forget('AD-10051');
  expect(long.people.find('asked (AD-10051).')).toBe(`asked (${long.person}).`);
  expect(long.people.find('AD-100511')).toBe('AD-100511');
  const digits = forget('65000700');
  expect(digits.people.find({ '65000700': 1 })).toEqual({ [digits.person]: 1 });
  expect(short.people.find({ '10001': 1 })).toEqual({ '10001': 1 });
});
