import { expect, test } from 'vitest';
import { createPeople, forgottenTexts } from '../../../src/engine/privacy/people.ts';
import { createPseudonyms } from '../../../src/shared/pseudonym.ts';

const pseudonyms = createPseudonyms('k'.repeat(32));
const forget = (id: string, ...names: readonly string[]) => {
  const people = createPeople(pseudonyms, forgottenTexts(pseudonyms, { id, names }));
  if (people === null) throw new TypeError('no person is forgotten');
  return { people, person: pseudonyms.of(id) };
};

test('a name inside a text is replaced in both orders and any case, and the rest of the text is unchanged', () => {
  const { people, person } = forget('10001', 'Maria Lopez-Díaz');
  expect(people.inText('Ask Maria Lopez-Díaz, or LOPEZ-DÍAZ, MARIA; not Maria or Lopez.')).toBe(
    `Ask ${person}, or ${person}; not Maria or Lopez.`,
  );
  expect(people.inText('Mariana Lopez-Díaz')).toBe('Mariana Lopez-Díaz');
});

test('a name is replaced with any spelling of its accents, hyphens and commas', () => {
  const { people, person } = forget('10001', 'María del Mar Lopez-Díaz');
  for (const text of [
    'María del Mar Lopez-Díaz',
    'Maria del Mar Lopez Diaz',
    'María del Mar Lopez-Díaz'.normalize('NFD'),
    'Lopez-Díaz, María del Mar',
    'Díaz, Maria del Mar Lopez',
    'maria.del.mar.lopez-diaz',
    'Maria_del_Mar_Lopez_Diaz',
  ])
    expect(people.inText(`${text}.Next`), text).toBe(`${person}.Next`);
  expect(people.inText('Maria del Mar')).toBe('Maria del Mar');
  expect(forget('1', 'Jean-Pierre').people.inText('Jean-Pierre')).toBe('Jean-Pierre');
});

test('a name is replaced in URL encoding, HTML entities, tags and with soft hyphens, and the surrounding text is unchanged', () => {
  const { people, person } = forget('emp-maria77', 'Maria Lopez-Ångström');
  for (const text of [
    'Maria%20Lopez%20%C3%85ngstr%C3%B6m',
    'Maria%20Lopez%2d%c3%85ngstrom',
    'Maria+Lopez+%C3%85ngstr%C3%B6m',
    '%4Daria%20Lopez-A%CC%8Angstr%C3%B6m',
    'Maria Lopez &Aring;ngstr&ouml;m',
    'Maria&nbsp;Lopez-&#197;ngstr&#xF6;m',
    '<b>Maria</b> <i class="x">Lopez-Ångström</i>',
    'Ma\u00adria Lo&shy;pez-Ångs&#173;tröm',
    'emp%2Dmaria77',
  ])
    expect(people.inText(`at 100%, R&D: ${text}/x%2Fy.pdf`), text).toMatch(
      /^at 100%, R&D: (<b>)?pseudonym:[0-9a-f]{32}(<\/i>)?\/x%2Fy\.pdf$/,
    );
  expect(
    people.inText('<a title="Maria%20Lopez-Ångström">Maria <b>Lopez-Ångström</b></a> & Maria%20Lopez'),
  ).toBe(`<a title="${person}">${person}</b></a> & Maria%20Lopez`);
  expect(people.inText('1 <x Maria Lopez-Ångström> 2, %FF%20')).toBe(`1 <x ${person}> 2, %FF%20`);
  for (const text of ['50%20 of a%2', '&unknown; &#99999999; <br>', 'a\u00adb%E2%82'])
    expect(people.inText(text)).toBe(text);
});

test('all given names of a person are replaced', () => {
  const { people, person } = forget('10001', 'Maria Lopez', 'Maria Garcia');
  expect(people.inText('Maria Garcia, once Maria Lopez')).toBe(`${person}, once ${person}`);
});

test('a distinctive id is replaced in any case and inside other text, a short id only exactly', () => {
  const { people, person } = forget('EMP-7654321');
  expect(people.ofId('emp-7654321')).toBe(person);
  expect(people.inText('mail emp-7654321@example.org')).toBe(`mail ${person}@example.org`);
  const short = forget('aB1').people;
  expect(people.ofId(' EMP-7654321\t')).toBe(person);
  expect([short.ofId('AB1'), short.ofId('aB1')]).toEqual([undefined, pseudonyms.of('aB1')]);
});

test('a short id is replaced only as a whole value, a distinctive one also inside a text', () => {
  const short = forget('10001');
  expect(short.people.inText('10001')).toBe(short.person);
  expect(short.people.inText('room 10001')).toBe('room 10001');
  expect(short.people.amongWords('10001')).toBe('10001');
  const long = forget('AD-10051');
  expect(long.people.inText('asked (AD-10051).')).toBe(`asked (${long.person}).`);
  expect(long.people.inText('AD-100511')).toBe('AD-100511');
});

test('a name of one word is not replaced inside a text, because it is too common', () => {
  const { people } = forget('10001', 'Maria');
  expect(people.inText('Maria says so')).toBe('Maria says so');
});

test('a pseudonym is not replaced again, and another key makes other pseudonyms', () => {
  const { people, person } = forget('10001', 'Maria Lopez');
  expect(pseudonyms.of(person)).toBe(person);
  expect(people.inText(person)).toBe(person);
  const other = createPseudonyms('other'.repeat(8));
  expect(other.of('10001')).not.toBe(person);
  expect(other.secretId).not.toBe(pseudonyms.secretId);
});
