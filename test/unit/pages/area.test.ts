import { expect, test } from 'vitest';
import { parseArea } from '../../../src/pages/report/area.ts';

test('an area is a kind and a name; another kind, or none of the two, is no area', () => {
  expect(parseArea(' field_office = Houston = yard ')).toEqual({
    kind: 'field_office',
    name: 'Houston = yard',
  });
  expect(parseArea('client=Acme')).toEqual({ kind: 'client', name: 'Acme' });
  for (const text of [
    'office=Houston',
    'field_office=',
    '=Houston',
    'Houston',
    'an field_office=Houston',
    'client=a\nb',
    '',
  ])
    expect(() => parseArea(text, '--area'), text).toThrow('--area: expected KIND=NAME');
});
