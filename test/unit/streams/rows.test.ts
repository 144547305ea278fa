import { readdirSync, readFileSync } from 'node:fs';
import { generateDrizzleJson } from 'drizzle-kit/api';
import { expect, test } from 'vitest';
import { followupsStream } from '../../../src/engine/streams/followups.ts';
import { equipmentsStream } from '../../../src/engine/streams/equipments.ts';
import { runsLast, STREAM_NAMES, streamNamed, STREAMS } from '../../../src/engine/streams/index.ts';
import { namesStream, toNameRecords } from '../../../src/engine/streams/names.ts';
import type { OptionalListName } from '../../../src/engine/streams/optional-methods.ts';
import { columnName, userColumns } from '../../../src/engine/streams/stored-columns.ts';
import { usersStream } from '../../../src/engine/streams/users.ts';
import type { ReadContext, Row, StreamDefinition } from '../../../src/engine/streams/stream.ts';
import { Received } from '../../../src/shared/received.ts';
import { casesOf } from '../../support/proof.ts';
import { createRandom } from '../../support/seeded-random.ts';
import { type ColumnKind, LISTS, TABLES, TABLES_OF } from '../../support/source-oracle.ts';
import type { ExpectedTables } from '../../support/source-rows.ts';
import { type Cell, sorted, type WireObject } from '../../support/source-wire.ts';
import { specimenOf } from '../../support/specimens.ts';

const random = createRandom(7);
const ROUNDS = casesOf({ few: 100, all: 2000 });
/** Values that a service may send in the place of an identifier, and in the place of any value. */
const KEYS = ['a', 'b', ' a', 'A', 7, '7', '', null, {}, ['a'], 1.5, 2 ** 60, 'é'];
const VALUES = [
  '7',
  '7.50',
  -7,
  0,
  2 ** 60,
  true,
  'false',
  null,
  'NULL',
  [],
  ['7', 7.5, null],
  { item_ids: [1, 'x'] },
];
const TIMES = [20_240_229, '20230229', 1_700_000_000_000.7, '1600000000000', -62_135_553_600_001, 'x'];

/** The record with some values replaced, and some elements of its lists left out, repeated or added. */
function distort(value: unknown, name = ''): unknown {
  if (/name$/.test(name)) return value;
  if (name !== '' && random.below(8) === 0)
    return random.pick(/id$|key$/i.test(name) ? KEYS : [...VALUES, ...TIMES]);
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) =>
      Array.from({ length: random.below(4) }, () => distort(item, name)),
    );
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, distort(inner, field)]));
}

const TEXT_OF: Readonly<Record<ColumnKind, (value: string) => Cell>> = {
  text: String,
  number: String,
  ms: (value) => String(Date.parse(value)),
  day: (value) => value.replaceAll('-', ''),
  bool: Boolean,
  json: sorted,
  list: JSON.stringify,
};

/** A row of a table as the model writes it. */
const cellsOf = (table: keyof typeof TABLES, row: Row) =>
  Object.fromEntries(
    Object.entries(TABLES[table].columns).map(([column, kind]) => {
      const value = row[column] ?? null;
      return [column, value === null ? null : TEXT_OF[kind](value as string)];
    }),
  );

test.each(STREAMS.filter(({ name }) => name in LISTS).map((stream) => [stream.name, stream] as const))(
  'a %s record becomes the rows that the model makes of it, with the parent of each child, because COPY does not look up foreign keys',
  (name, stream) => {
    const specimen = specimenOf(name);
    const samples = [specimen.build('k'), ...(specimen.observed?.('k') ?? [])];
    for (let round = 0; round < ROUNDS; round += 1) {
      const sent = distort(random.pick(samples)) as WireObject;
      const kept = { [stream.keyField]: 'k', deleted: false, email: null, username: null };
      const record = { ...sent, ...kept };
      const made = stream.toRows(record, { equipmentTypeId: '21' }, () => undefined);
      const rows: readonly (readonly Row[])[] = [[made.parent], ...made.children];
      expect(rows).toHaveLength(TABLES_OF[name]?.length ?? 0);
      const expected: ExpectedTables = {};
      LISTS[name as keyof typeof LISTS].add(expected, record, '21');
      for (const [at, table] of (TABLES_OF[name] ?? []).entries()) {
        const actual = rows[at]?.map((row) => sorted(cellsOf(table, row))).toSorted();
        expect(actual, JSON.stringify(record)).toEqual(expected[table]?.map(sorted).toSorted() ?? []);
      }
    }
  },
);

test('the summary of messages has their number, those that hand over, the latest, and the first not from the observer', () => {
  const messages = [
    { id: 'a', date: 5000, m_user_id: 'p', m_reassignee_id: '' },
    { id: 'b', date: 9000, m_user_id: 'o' },
    { id: 'c', date: 3000, m_user_id: 'p', m_reassignee_id: 'q' },
    { id: 'd', date: 4000 },
    { id: 'e', m_user_id: 'p', m_reassignee_id: 'o' },
    { id: 'f', date: 2000, m_user_id: 'o' },
  ];
  const record = { id: 'k', m_observer_id: 'o', messages };
  expect(followupsStream.toRows(record, {}, () => undefined).parent).toMatchObject({
    ...{ _message_count: 6, _last_message_at: '1970-01-01T00:00:09.000Z' },
    ...{ _reassignment_count: 2, _first_response_at: '1970-01-01T00:00:03.000Z' },
  });
});

test.each([
  [{ name: 'Ann Lee', firstname: 'A', lastname: 'L' }, 'Ann Lee'],
  [{ name: '', firstname: ' Ann ', lastname: 'Lee' }, 'Ann Lee'],
  [{ firstname: 'Ann', lastname: ' ' }, 'Ann'],
  [{ firstname: null, lastname: 'Lee' }, 'Lee'],
  [{ firstname: ' ', lastname: 7 }, null],
])('the person %j has the name %s', (record, name) => {
  expect(usersStream.personal?.nameOf(record) ?? null).toBe(name);
  expect(usersStream.toRows({ id: '7', ...record }, {}, () => undefined).parent['name']).toBe(name);
});

/** As drizzle-kit writes it. */
type Snapshot = Readonly<Record<'tables', Readonly<Record<string, unknown>>>>;

test('a row of training has the time of its list, where the service sends one; users run last', () => {
  const stream = streamNamed('training-employee-status');
  const timeOf = (about: ReadContext) => stream.toRows({ m_user_id: '7' }, about, () => undefined).parent;
  expect(timeOf({ calculatedAtMs: 1 })).toMatchObject({ calculated_at: '1970-01-01T00:00:00.001Z' });
  expect(timeOf({})).toMatchObject({ calculated_at: null });
  expect(() => streamNamed('training')).toThrow('no stream is named training');
  expect(STREAM_NAMES.filter(runsLast)).toEqual(['users']);
});

test('the ids of people are in these columns', () => {
  const expected = `resource_versions.creator_id followups.observer_id followups.assigner_id followups.assignee_id
    followups.completer_id followup_messages.user_id followup_messages.reassignee_id training_employee_status.user_id
    equipment.assigned_user_ids equipment.assigned_user_id training_records.user_id training_records.instructor_id
    users.id users.supervisor_id users.manager_id`;
  const columns = STREAMS.flatMap(userColumns).map(({ table, column }) => columnName(table, column));
  expect(columns).toEqual(expected.split(/\s+/));
});

test('the tables of the streams are those of the last migration', () => {
  const all = STREAMS.flatMap((stream) => [
    ...[stream.parent, ...stream.children, ...stream.histories.map(({ states }) => states)],
  ]);
  const { tables } = generateDrizzleJson(Object.fromEntries(all.entries())) as Snapshot;
  const last = readdirSync('migrations/meta').toSorted().at(-2) ?? '';
  const migrated = JSON.parse(readFileSync(`migrations/meta/${last}`, 'utf8')) as Snapshot;
  for (const [name, table] of Object.entries(tables)) expect(table).toEqual(migrated.tables[name]);
});

test('each value that cannot be stored is an issue with its place in the record', () => {
  const issuesOf = (stream: StreamDefinition, record: WireObject) => {
    const found: unknown[] = [];
    stream.toRows({ id: 'k', ...record }, {}, ({ kind, field, value }) => found.push([kind, field, value]));
    return found;
  };
  const attachments = [{ key: 7, caption: {} }, null, { key: 'k', mood: 'x' }];
  const last = { id: 'n', date: 2, m_user_id: ['x'], attachments };
  const messages = [
    { id: 'm', date: 1 },
    { id: 'm', date: 'noon', mood: 'bad' },
    { date: 1, note: 'no id' },
    'no message',
    ...[last, last],
  ];
  expect(issuesOf(followupsStream, { due: 20_260_230, colour: 'red', constructor: 1, messages })).toEqual([
    ['field_nulled', 'due', 20_260_230],
    ['record_rejected', 'messages[3]', 'no message'],
    ['unknown_field', 'colour', 'red'],
    ['unknown_field', 'constructor', 1],
    ['record_rejected', 'messages[0]', messages[0]],
    ['record_rejected', 'messages[2]', messages[2]],
    ['field_nulled', 'messages[1].date', 'noon'],
    ['unknown_field', 'messages[].mood', 'bad'],
    ['field_nulled', 'messages[4].m_user_id', ['x']],
    ['record_rejected', 'messages[4].attachments[1]', null],
    ['field_nulled', 'messages[4].attachments[0].caption', {}],
    ['unknown_field', 'messages[].attachments[].mood', 'x'],
  ]);
  const long = 'x'.repeat(601);
  const metavalues = { a: true, b: null, c: 'NULL', d: { item_ids: [1, 'x', null] }, e: {}, [long]: 1 };
  expect(issuesOf(equipmentsStream, { metavalues })).toEqual([
    ['field_nulled', 'metavalues.a', true],
    ['field_nulled', 'metavalues.d[1]', 'x'],
    ['field_nulled', 'metavalues.d[2]', null],
    ['field_nulled', 'metavalues.e', {}],
    ['record_rejected', 'metavalues', { [long]: 1 }],
  ]);
  const unasked = { id: 'k', equipmentType_id: '21', metavalues: { [long]: 1 } };
  expect(equipmentsStream.toRows(unasked, {}, () => undefined).children).toEqual([[], [], []]);
});

test('records of a list become names; those inside of a record come after it, with its id as parent', () => {
  const namesOf = (method: OptionalListName, list: readonly unknown[], parentId?: string) =>
    toNameRecords(
      method,
      list.map((one) => Received.of(one)),
      parentId,
    ).map((one) => one.parse());
  const form = { id: 7, name: 'Walk', folder_id: 3, hidden: true, more: 1 };
  expect(namesOf('forms.list', [form, { name: 'x' }, 'text'])).toEqual([
    { _key: 'form:7', kind: 'form', id: 7, name: 'Walk', parent_id: 3, is_active: false, more: 1 },
    { kind: 'form', name: 'x' },
    'text',
  ]);
  const noIssue = () => expect.unreachable();
  const { parent, children } = namesStream.toRows({ ...form, kind: 'form', parent_id: '3' }, {}, noIssue);
  expect(parent).toMatchObject({ _key: 'form:7', id: '7', name: 'Walk', parent_id: '3', code: null });
  expect(children).toEqual([]);
  const type = { id: '6', title: 'Harness', schedules: 1 };
  expect(namesOf('equipmenttypes.list', [{ ...type, metafields: [{ id: 8, name: 'Size' }, null] }])).toEqual([
    {
      ...{ _key: 'equipment_type:6', kind: 'equipment_type', id: '6', name: 'Harness' },
      ...{ metafields: [{ id: 8 }], schedules: 1 },
    },
    { _key: 'metafield:8', kind: 'metafield', id: 8, name: 'Size', parent_id: '6' },
  ]);
  const project = { id: '5', name: 'P', number: 'N', active: true };
  expect(namesOf('projects.list', [project])).toMatchObject([{ name: 'P', code: 'N', is_active: true }]);
  expect(namesOf('datalistitems.list', [{ id: 4 }], '2')).toMatchObject([{ parent_id: '2' }]);
});
