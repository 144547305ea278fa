/** The sandbox against the protocol of the specification, and its faults. */
import { describe, expect, test } from 'vitest';
import { ask, createSmallSandbox, createTestSandbox, errorOf, NOON, send } from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';
import { CRANES } from '../support/equipment-types.ts';

const sandbox = forEachTest(() => createSmallSandbox());
const METHODS = {
  'resources.list': {},
  'followups.list': {},
  'training-employee-status.list': {},
  'equipments.list': { equipmentType_id: CRANES },
  'users.info': { id: '10003' },
};
const post = (body: string) => send(sandbox, '/v1/resources.list', { method: 'POST', body });

test('every method accepts GET and POST with equal responses, and pretty adds white space', async () => {
  for (const [method, parameters] of Object.entries(METHODS)) {
    const posted = await ask(sandbox, method, parameters);
    const query = encodeURIComponent(JSON.stringify({ token: sandbox.token, ...parameters }));
    expect(posted.body['ok'], method).toBe(true);
    expect((await send(sandbox, `/v1/${method}?${query}`, {})).text).toBe(posted.text);
    expect((await ask(sandbox, method, { ...parameters, pretty: true })).text).toContain('\n  "');
  }
});

test('every response has HTTP status 200, JSON, a unique alphanumeric SVC-Request-ID and a numeric SVC-Response-Time', async () => {
  const answers = [
    await ask(sandbox, 'resources.list'),
    await ask(sandbox, 'no.such.method'),
    await post('not json'),
    await ask(sandbox, 'followups.list', { limit: 501 }),
  ];
  expect(answers.at(-1)?.body).toEqual({
    ok: false,
    error: 'parameter_invalid',
    description: expect.stringMatching(/^limit: ./) as string,
  });
  for (const { status, headers } of answers) {
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(headers.get('svc-request-id')).toMatch(/^[0-9a-zA-Z]+$/);
    expect(headers.get('svc-response-time')).toMatch(/^\d+$/);
  }
  expect(new Set(answers.map(({ headers }) => headers.get('svc-request-id'))).size).toBe(answers.length);
});

test('addresses, HTTP methods and bodies that the specification does not know are refused', async () => {
  for (const path of ['/v1/followups.delete', '/v2/followups.list', '/', '/v1/followups.list/'])
    expect((await send(sandbox, path, {})).body['error'], path).toBe('api_method_not_found');
  for (const method of ['PUT', 'DELETE', 'OPTIONS'])
    expect((await send(sandbox, '/v1/resources.list', { method })).body['error']).toBe(
      'request_method_invalid',
    );
  for (const text of ['', 'token=x', '[]', 'null', '7', '{"token":', '%zz']) {
    expect((await post(text)).body['error'], text).toBe('request_data_invalid');
    expect((await send(sandbox, `/v1/resources.list?${text}`, {})).body['error']).toBe(
      'request_data_invalid',
    );
  }
});

test.each([
  ['no token', 'resources.list', { token: undefined }, 'token_missing'],
  ['an empty token', 'resources.list', { token: '' }, 'token_missing'],
  ['a token that is no text', 'resources.list', { token: 7 }, 'token_invalid'],
  [
    'an unknown token, before its parameters',
    'followups.list',
    { token: 'other', limit: -1 },
    'token_invalid',
  ],
  ['equipment without a type', 'equipments.list', {}, 'parameter_missing'],
  ['users.info without a user', 'users.info', {}, 'parameter_missing'],
  ['an unsupported parameter', 'followups.list', { colour: 'red', limit: -1 }, 'parameter_unexpected'],
  ['pretty that is no boolean', 'followups.list', { pretty: 'true' }, 'parameter_invalid'],
  ['an unknown user', 'users.info', { id: 'nobody' }, 'content_not_found'],
])('the response to %s (%s %j) is refused', async (_, method, parameters, error) => {
  expect(await errorOf(sandbox, method, parameters)).toBe(error);
});

test('a token is refused while it is inactive, without permission, of an inactive account, or revoked', async () => {
  for (const [state, error] of [
    ['inactive', 'token_inactive'],
    ['without-permission', 'token_permission'],
    ['account-inactive', 'account_inactive'],
    ['active', undefined],
  ] as const) {
    sandbox.access.set(state);
    for (const [method, parameters] of Object.entries(METHODS))
      expect(await errorOf(sandbox, method, parameters), method).toBe(error);
  }
  sandbox.access.revoke();
  sandbox.access.set('active', 'successor');
  expect(await errorOf(sandbox, 'resources.list')).toBe('token_invalid');
  expect(await errorOf(sandbox, 'resources.list', { token: 'successor' })).toBeUndefined();
});

test('the request log has method and parameters, but not the token', async () => {
  await ask(sandbox, 'followups.list', { limit: 3, status: 'open' });
  expect(sandbox.requests).toMatchObject([
    {
      ...{ at: NOON, httpMethod: 'POST', method: 'followups.list', params: { limit: 3, status: 'open' } },
      ...{ outcome: 'ok', fault: null, records: 3 },
    },
  ]);
  expect(JSON.stringify(sandbox.requests)).not.toContain(sandbox.token);
});

describe('faults', () => {
  const raw = (): Promise<Response> =>
    fetch(`${sandbox.url}/v1/resources.list`, {
      method: 'POST',
      body: JSON.stringify({ token: sandbox.token }),
    });

  test('reset closes the connection before any response, cut in the middle of it, and slow sends it whole', async () => {
    sandbox.faults.next(() => true, { kind: 'reset' });
    await expect(raw()).rejects.toThrow('fetch failed');
    expect(sandbox.requests.at(-1)).toMatchObject({
      fault: 'reset',
      outcome: 'no-response',
      requestId: null,
    });
    sandbox.faults.next(() => true, { kind: 'cut', share: 0.9 });
    const cut = await raw();
    await expect(cut.text()).rejects.toThrow('terminated');
    sandbox.faults.next(() => true, { kind: 'slow', durationMs: 20 });
    expect(((await (await raw()).json()) as { resources: object[] }).resources).toHaveLength(20);
  });

  test('nonJson is a page of a gateway with its status and no header of the service', async () => {
    for (const [fault, expected] of [
      [{}, [502, '<html>', null]],
      [{ httpStatus: 429, body: 'slow down', headers: { 'retry-after': '3' } }, [429, 'slow d', '3']],
    ] as const) {
      sandbox.faults.next(() => true, { kind: 'nonJson', ...fault });
      const response = await raw();
      expect(response.headers.get('svc-request-id')).toBeNull();
      const text = (await response.text()).slice(0, 6);
      expect([response.status, text, response.headers.get('retry-after')]).toEqual(expected);
    }
  });

  test('rates apply faults to about their share of requests, and equal seeds to equal requests', async () => {
    const faultsOf = async (seed: number) => {
      const faulty = await createTestSandbox({ seed, faults: { rateLimit: 0.2, serverError: 0.2 } });
      for (let count = 0; count < 100; count += 1) await ask(faulty, 'users.info');
      return faulty.requests.map((entry) => entry.fault);
    };
    const first = await faultsOf(1);
    for (const kind of ['rateLimit', 'serverError']) {
      const count = first.filter((fault) => fault === kind).length;
      expect([kind, count > 10 && count < 30]).toEqual([kind, true]);
    }
    expect(await faultsOf(1)).toEqual(first);
    expect(await faultsOf(2)).not.toEqual(first);
  });

  test('one request too many locks every token out for the window, and then the count begins anew', async () => {
    sandbox.faults.set({ limiter: { requests: 3, windowMs: 1000 } });
    sandbox.access.set('active', 'other');
    const send = async (token = sandbox.token) => await errorOf(sandbox, 'resources.list', { token });
    const LIMITED = 'rate_limit_exceeded';
    const first = [await send(), await send(), await send(), await send()];
    expect(first).toEqual([undefined, undefined, undefined, LIMITED]);
    sandbox.clock.now += 999;
    expect(await send('other')).toBe(LIMITED);
    sandbox.clock.now += 1;
    expect([await send(), await send(), await send(), await send()]).toEqual(first);
  });
});
