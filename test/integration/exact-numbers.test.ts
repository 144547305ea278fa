/** Numbers that a double does not hold: what PostgreSQL has is what the service sent, to the last digit. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ElementCutter } from '../../src/engine/api/element-cutter.ts';
import { RawNumber } from '../../src/sandbox/index.ts';
import { stringifyExactJson } from '../../src/shared/exact-json.ts';
import { resourcesStream } from '../../src/engine/streams/resources.ts';
import { parseRecord, toReadRecord } from '../../src/engine/loading/record.ts';
import { toUserParameters } from '../../src/engine/reading/lookup.ts';
import { readIssues } from '../../src/engine/control-tables/issues.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { createTimedWorker, expectSucceeded } from '../support/timed-worker.ts';

const raw = (text: string) => new RawNumber(text);

const start = async () =>
  untilTestEnds(
    await createTimedWorker({
      sandbox: { size: { followups: 20, employees: 12, equipment: 12, resources: 10, users: 6 } },
    }),
  );

const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`));
const numberText = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: fc.oneof(
      fc.constant('0'),
      digits(25).map((text) => text.replace(/^0+(?=.)/, '')),
    ),
    fraction: fc.option(digits(25), { nil: undefined }),
    power: fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits(3)), { nil: undefined }),
  })
  .map(
    ({ sign, whole, fraction, power }) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${power?.join('') ?? ''}`,
  );
const texts = fc.string({
  unit: fc.constantFrom('1', '0', '.', 'e', ',', ':', '[', ']', '{', '}', '"', '\\', 'ä', ' '),
});
const jsonText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    numberText,
    fc.oneof(texts, fc.constantFrom(true, false, null)).map((value) => JSON.stringify(value)),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(texts, tie('value')), { maxLength: 5 })
      .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  ),
})).value;

test('the stored record equals the JSON that PostgreSQL reads from the received text', async () => {
  const connection = untilTestEnds(await openTestDatabase());
  await fc.assert(
    fc.asyncProperty(fc.array(jsonText, { minLength: 40, maxLength: 40 }), fc.nat(), async (values, at) => {
      const records = values.map((value, id) => `{"id":${id},"value":${value}}`);
      const response = Buffer.from(`{"ok":true,"items":[${records.join(',')}]}`);
      const end = at % response.length;
      const cutter = new ElementCutter('items');
      cutter.push(response.subarray(0, end));
      cutter.push(response.subarray(end));
      cutter.end();
      const stored = cutter
        .take()
        .map(
          (one) =>
            parseRecord(resourcesStream, toReadRecord(one, { stream: resourcesStream, about: {} })).text,
        );
      expect(stored).toHaveLength(records.length);
      const differing = await connection.query(
        `select * from json_to_recordset($1::json) as r (received text, stored text)
           where received::jsonb::text is distinct from stored::jsonb::text`,
        [JSON.stringify(records.map((received, index) => ({ received, stored: stored[index] })))],
      );
      expect(differing).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test('columns keep every digit, and a value that is too large for its column becomes null with an issue that keeps every digit', async () => {
  const worker = await start();
  const { sandbox, connection } = worker;
  sandbox.store.followups.put({
    ...SPECIMENS.followups.build('f'),
    form_id: raw('9007199254740993'),
    response_id: raw('9223372036854775808'),
    created_on: raw('1700000000000.0'),
  });
  sandbox.store.employees.put({
    ...SPECIMENS['training-employee-status'].build('e'),
    percent_complete: raw('33.333333333333333333'),
    incomplete_training_ids: [raw('9223372036854775807'), raw('9223372036854775806'), raw('12.0')],
    last_completed: [
      { id: raw('9007199254740993'), date_number: raw('20260101.0') },
      { id: raw('9007199254740992'), date_number: 20_260_102 },
    ],
  });
  sandbox.store.equipment.put({
    ...SPECIMENS.equipments.build('q'),
    metavalues: {
      huge: raw('1e999'),
      long: raw('0.12345678901234567890'),
      beyond: raw('1e200000'),
      items: { item_ids: [raw('9007199254740993'), raw('9223372036854775808')] },
    },
  });
  for (const stream of ['followups', 'training-employee-status', 'equipments'] as const) {
    expectSucceeded(await worker.run(stream, { force: true }));
  }

  expect(
    await worker.query(`select form_id::text, response_id::text, extract(epoch from created_at)::bigint::text as created
      from safety.followups where id = 'f'`),
  ).toEqual([{ form_id: '9007199254740993', response_id: null, created: '1700000000' }]);
  expect(
    await worker.query(`select percent_complete::text, incomplete_training_ids::text
      from safety.training_employee_status where user_id = 'e'`),
  ).toEqual([
    {
      percent_complete: '33.333333333333333333',
      incomplete_training_ids: '{9223372036854775807,9223372036854775806,12}',
    },
  ]);
  expect(
    await worker.query(`select training_id::text, completed_on::text from safety.training_completions
      where user_id = 'e' order by 1`),
  ).toEqual([
    { training_id: '9007199254740992', completed_on: '2026-01-02' },
    { training_id: '9007199254740993', completed_on: '2026-01-01' },
  ]);
  expect(
    await worker.query(`select metafield_id, number_value = '1e999' as is_huge, number_value::text, item_ids::text
      from safety.equipment_metavalues where equipment_id = 'q' and metafield_id ~ '^[a-z]' order by 1`),
  ).toEqual([
    { metafield_id: 'beyond', is_huge: null, number_value: null, item_ids: null },
    { metafield_id: 'huge', is_huge: true, number_value: `1${'0'.repeat(999)}`, item_ids: null },
    { metafield_id: 'items', is_huge: null, number_value: null, item_ids: '{9007199254740993}' },
    { metafield_id: 'long', is_huge: false, number_value: '0.12345678901234567890', item_ids: null },
  ]);
  expect(
    await worker.query(`select metavalues = _raw->'metavalues' as is_same, metavalues->'long' as long,
        metavalues->>'beyond' as beyond, metavalues #>> '{items,item_ids}' as items
      from safety.equipment where id = 'q'`),
  ).toMatchObject([{ is_same: true, beyond: '1e200000', items: '[9007199254740993, 9223372036854775808]' }]);
  const issues = await readIssues(connection.db, { accountIds: ['default'], includeResolved: false });
  expect(issues.map(({ field, problem, value }) => [field, problem, stringifyExactJson(value)])).toEqual([
    ['metavalues.beyond', 'expected a number, got number 1e200000', '"1e200000"'],
    [
      'metavalues.items.item_ids[1]',
      'expected a whole number, got number 9223372036854775808',
      '9223372036854775808',
    ],
    ['response_id', 'expected a whole number, got number 9223372036854775808', '9223372036854775808'],
  ]);
});

test('records keep every digit in a retry of data issues', async () => {
  const worker = await start();
  const { sandbox } = worker;
  sandbox.store.followups.put(
    {
      ...SPECIMENS.followups.build('late'),
      id: null,
      form_id: raw('9007199254740993'),
    },
    'keyless',
  );
  sandbox.store.followups.put({
    ...SPECIMENS.followups.build('stored'),
    form_id: raw('9007199254740995'),
    due: 20_260_230,
    measured: raw('1.50'),
  });
  expectSucceeded(await worker.run('followups'));
  await worker.query(
    `update safety_sync.data_issues set value = jsonb_set(value, '{id}', '"late"') where record_id is null`,
  );
  await worker.query(`update safety.followups set form_id = null, _hash = null where id = 'stored'`);
  const { counts } = expectSucceeded(await worker.run('followups', { retryIssues: true }));
  expect(counts).toMatchObject({ inserted: 1, rejected: 0, deleted: 0 });
  expect(
    await worker.query(`select id, form_id::text, (_raw->'form_id')::text as form, (_raw->'measured')::text as measured
      from safety.followups where id in ('late', 'stored') order by id`),
  ).toEqual([
    { id: 'late', form_id: '9007199254740993', form: '9007199254740993', measured: null },
    { id: 'stored', form_id: '9007199254740995', form: '9007199254740995', measured: '1.50' },
  ]);
});

test('a request for a user has every digit of the id, first as text if the service may round it as a number', () => {
  const asked = (userId: string) => toUserParameters(userId).map((user) => stringifyExactJson({ user }));
  expect(asked('10001')).toEqual(['{"user":10001}', '{"user":"10001"}']);
  expect(asked('12345678901234567890')).toEqual([
    '{"user":"12345678901234567890"}',
    '{"user":12345678901234567890}',
  ]);
  for (const text of ['007', '1e3', '', 'x', '-0']) expect(asked(text)).toEqual([`{"user":"${text}"}`]);
});
