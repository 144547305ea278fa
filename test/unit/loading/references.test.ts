import { expect, test } from 'vitest';
import { streamNamed } from '../../../src/engine/streams/index.ts';
import { RawJson } from '../../../src/shared/exact-json.ts';
import { createReferenceCheck } from '../../../src/engine/loading/references.ts';
import type { PreparedRecord } from '../../../src/engine/loading/normalize.ts';
import { streamShape } from '../../../src/engine/database/table-shape.ts';

const check = createReferenceCheck(streamShape(streamNamed('followups')));

const message = (followup_id: string, id: string) => ({ followup_id, id });
const attachment = (followup_id: string, message_id: string) => ({ followup_id, message_id, position: 1 });

function record(children: PreparedRecord['children']) {
  return { parent: { id: 'a', _hash: '', _raw: new RawJson('{}') }, children };
}

test('rows that refer to each other', () => {
  expect(check(record([[], []]))).toBe(true);
  expect(check(record([[message('a', '1')], [attachment('a', '1')]]))).toBe(true);
  const messages = [message('a', '1'), message('a', '2')];
  expect(check(record([messages, [attachment('a', '2'), attachment('a', '1')]]))).toBe(true);
});

test.each<[string, PreparedRecord['children']]>([
  ['a message of another follow-up', [[message('a', '1'), message('b', '2')], []]],
  ['an attachment without any message', [[], [attachment('a', '1')]]],
  ['an attachment of another message', [[message('a', '1')], [attachment('a', '2')]]],
  [
    'an attachment of none of several messages',
    [
      [message('a', '1'), message('a', '2')],
      [attachment('a', '2'), attachment('a', '3')],
    ],
  ],
  [
    'an attachment of another follow-up’s message',
    [[message('a', '1'), message('a', '2')], [attachment('b', '2')]],
  ],
])('%s refers to something else', (_, children) => {
  expect(check(record(children))).toBe(false);
});
