/** Departures of the service from its usual responses. A worker has to cope with each of them. */
import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import type { Fault, Sandbox, SandboxOptions } from '../../src/sandbox/index.ts';
import { ask, askList, createTestSandbox, errorOf, NOON, post } from './sandbox-ask.ts';

async function given(options: SandboxOptions = {}): Promise<Sandbox> {
  return await createTestSandbox({ oddities: false, ...options });
}

const always = (): boolean => true;

type Row = Record<string, unknown>;

test('a list without a paging object is complete when pages are requested until one is empty', async () => {
  const sandbox = await given({
    readings: { followupsPaging: 'absent', trainingPaging: 'absent', largestPage: 15, pastLastPage: 'empty' },
  });
  for (const [method, list, size] of [
    ['followups.list', 'followups', 240],
    ['training-employee-status.list', 'employees', 40],
  ] as const) {
    const pages: Row[][] = [];
    for (let page = 1; page <= Math.ceil(size / 15) + 1; page += 1) {
      const { body } = await ask(sandbox, method, { page });
      expect(body).not.toHaveProperty('paging');
      pages.push(body[list] as Row[]);
    }
    expect(pages.at(-1)).toEqual([]);
    expect(pages.flat().length).toBe(size);
  }
});

test.each([
  [{}, { total: 240, last_page: 3 }],
  [{ pagingFields: 'total-only' }, { total: 240 }],
  [{ pagingFields: 'last-page-only' }, { last_page: 3 }],
  [{ pagingFields: 'none' }, {}],
  [{ pagingTotal: 'counts-deleted' }, { total: 243, last_page: 3 }],
  [{ pagingTotal: 'capped' }, { total: 20, last_page: 3 }],
] as const)('in the reading %j the paging object is %j', async (readings, paging) => {
  const sandbox = await given({ readings });
  expect((await ask(sandbox, 'followups.list')).body['paging']).toEqual(paging);
});

test('a record can be on two pages', async () => {
  const sandbox = await given({
    readings: { pagesOverlap: 'by-one', resourcesPaging: 'pages', unaskedPageSize: 8 },
  });
  for (const [method, asked, length] of [
    ['followups.list', { limit: 30 }, 31],
    ['training-employee-status.list', { limit: 30 }, 11],
    ['resources.list', {}, 9],
  ] as const) {
    const first = await askList(sandbox, method, asked);
    const second = await askList(sandbox, method, { ...asked, page: 2 });
    expect(second[0]).toEqual(first.at(-1));
    expect(second).toHaveLength(length);
  }
});

test('the clock of the service can be ahead in every field with a time, until it is corrected', async () => {
  const sandbox = await given();
  const seen = async () => {
    const { headers, body } = await ask(sandbox, 'training-employee-status.list');
    return [Date.parse(headers.get('date') ?? ''), body['last_updated']];
  };
  sandbox.serviceClock.aheadMs = HOUR_MS;
  expect(await seen()).toEqual([NOON + HOUR_MS, NOON + HOUR_MS]);
  sandbox.serviceClock.aheadMs = 0;
  expect(await seen()).toEqual([NOON, NOON]);
});

test('last_updated and the Date header can be ahead separately', async () => {
  const sandbox = await given({ readings: { lastUpdatedAheadMs: HOUR_MS, dateHeaderAheadMs: MINUTE_MS } });
  const { headers, body } = await ask(sandbox, 'training-employee-status.list');
  expect(body['last_updated']).toBe(NOON + HOUR_MS);
  expect(Date.parse(headers.get('date') ?? '')).toBe(NOON + MINUTE_MS);
});

test.each([
  ['present', 'Mon, 02 Mar 2026 12:00:00 GMT'],
  ['asctime', 'Mon Mar  2 12:00:00 2026'],
  ['iso', '2026-03-02T12:00:00.000Z'],
  ['unreadable', 'now'],
  ['absent', null],
] as const)('in the reading %s the Date header is %s', async (dateHeader, text) => {
  const sandbox = await given({ readings: { dateHeader } });
  expect((await ask(sandbox, 'resources.list')).headers.get('date')).toBe(text);
});

test('a permission can be missing for one method only, also after the token was inactive', async () => {
  const sandbox = await given();
  const errors = async () => [
    await errorOf(sandbox, 'resources.list'),
    await errorOf(sandbox, 'followups.list'),
  ];
  sandbox.access.set('inactive');
  expect(await errors()).toEqual(['token_inactive', 'token_inactive']);
  sandbox.access.setMethod('resources.list', 'without-permission');
  sandbox.access.set('active');
  expect(await errors()).toEqual(['token_permission', undefined]);
  sandbox.access.setMethod('resources.list', 'active');
  expect(await errors()).toEqual([undefined, undefined]);
});

test('equipment can have a subtype of the requested type', async () => {
  const sandbox = await given({ readings: { equipmentOwnType: 'sub-type' } });
  const found = await askList(sandbox, 'equipments.list', {
    equipmentType_id: '21',
    service_type: 'all',
  });
  const types = found.map((record) => record.equipmentType_id);
  expect(new Set(types)).toEqual(new Set(['21', '21.1']));
  expect(types).toHaveLength(12);
});

test('a record can be in a list twice, far apart and with different content', async () => {
  const sandbox = await given({ readings: { doubles: 'far-apart' } });
  const found = await askList(sandbox, 'resources.list');
  const [first] = found;
  const places = found.flatMap(({ id }, place) => (id === first?.id ? [place] : []));
  expect(places).toEqual([0, found.length - 1]);
  expect(found.length).toBeGreaterThan(2000);
  expect(found.at(-1)).toEqual({ ...first, title: 'as it was before' });
});

test('unknown fields can have dots in their names', async () => {
  const sandbox = await given({ readings: { extraFields: 'dotted' } });
  const [record] = await askList(sandbox, 'resources.list');
  expect(record).toHaveProperty(['x.extra.field']);
  expect(record?.versions[0]).toHaveProperty(['x.extra.field']);
});

async function once(sandbox: Sandbox, fault: Fault, method = 'followups.list'): Promise<Row> {
  sandbox.faults.next(always, fault);
  return (await ask(sandbox, method, { limit: 10 })).body;
}

test('one response can contain a record without its key, or an element that is no record', async () => {
  const sandbox = await given();
  const usual = await askList(sandbox, 'followups.list', { limit: 10 });
  const odd = async (how: Extract<Fault, { kind: 'oddRecord' }>['how']) =>
    (await once(sandbox, { kind: 'oddRecord', how, at: 13 }))['followups'] as Row[];
  const { id, ...keyless } = usual[3] ?? {};
  expect((await odd('key-absent'))[3]).toEqual(keyless);
  expect((await odd('key-null'))[3]).toEqual({ ...keyless, id: null });
  expect((await odd('key-object'))[3]).toEqual({ ...keyless, id: { value: id } });
  expect((await odd('key-empty'))[3]).toEqual({ ...keyless, id: '' });
  expect((await odd('nested'))[3]).toMatchObject({ id });
  expect((await odd('null'))[3]).toBeNull();
  expect((await odd('text'))[3]).toBe('not an object');
  expect((await odd('list'))[3]).toEqual([usual[3]]);
  expect(await odd('left-out')).toEqual(usual.toSpliced(3, 1));
  expect(await odd('repeated')).toEqual([...usual, usual[3]]);
  expect(await askList(sandbox, 'followups.list', { limit: 10 })).toEqual(usual);
});

test('one response can contain an employee without the key m_user_id', async () => {
  const sandbox = await given();
  const body = await once(sandbox, { kind: 'oddRecord', how: 'key-absent' }, 'training-employee-status.list');
  expect((body['employees'] as Row[])[0]).not.toHaveProperty('m_user_id');
});

test('a record can be larger than 16 MiB', async () => {
  const sandbox = await given();
  const body = await once(sandbox, { kind: 'oddRecord', how: 'too-large' });
  expect(JSON.stringify((body['followups'] as Row[])[0]).length).toBeGreaterThan(16 * 1024 * 1024);
});

test('a response can lack its usual fields, and its paging can be invalid', async () => {
  const sandbox = await given();
  const odd = (how: Extract<Fault, { kind: 'oddResponse' }>['how']) =>
    once(sandbox, { kind: 'oddResponse', how });
  expect(await odd('ok-absent')).not.toHaveProperty('ok');
  expect(await odd('ok-text')).toMatchObject({ ok: 'true' });
  expect(await odd('list-absent')).not.toHaveProperty('followups');
  expect(await odd('list-null')).toMatchObject({ followups: null });
  expect(await odd('list-object')).toMatchObject({ followups: {} });
  expect(await odd('total-text')).toMatchObject({ paging: { total: 'many', last_page: 24 } });
  expect(await odd('total-negative')).toMatchObject({ paging: { total: -1 } });
  expect(await odd('total-too-small')).toMatchObject({ paging: { total: 233 } });
  expect(await odd('total-too-large')).toMatchObject({ paging: { total: 247 } });
  expect(await odd('last-page-too-small')).toMatchObject({ paging: { total: 240, last_page: 23 } });
  expect(await odd('last-page-too-large')).toMatchObject({ paging: { total: 240, last_page: 31 } });
  expect(await odd('paging-null')).toMatchObject({ paging: null });
  expect(await odd('paging-list')).toMatchObject({ paging: [{ total: 240, last_page: 24 }] });
  const training = (how: 'last-updated-text' | 'last-updated-absent') =>
    once(sandbox, { kind: 'oddResponse', how }, 'training-employee-status.list');
  expect(await training('last-updated-text')).toMatchObject({ last_updated: '2026-03-02T12:00:00.000Z' });
  expect(await training('last-updated-absent')).not.toHaveProperty('last_updated');
});

test('a valid response can have another HTTP status, or be compressed', async () => {
  const sandbox = await given();
  sandbox.faults.script([
    { kind: 'oddHttp', httpStatus: 503 },
    { kind: 'oddHttp', encoding: 'gzip' },
  ]);
  const failed = await post(sandbox, 'resources.list', { token: sandbox.token });
  expect([failed.status, failed.body['ok']]).toEqual([503, true]);
  const packed = await post(sandbox, 'resources.list', { token: sandbox.token });
  expect([packed.status, packed.headers.get('content-encoding'), packed.body['ok']]).toEqual([
    200,
    'gzip',
    true,
  ]);
});
