import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { NOON, answered, ask, createSmallSandbox, errorOf, get, post } from './sandbox-ask.ts';
import { forAllTests } from '../support/lifetime.ts';
import { CRANES } from '../support/equipment-types.ts';

/** A request with the token. */
const KNOWN = { token: 'sandbox-token' };
const methods: [string, object][] = [
  ['resources.list', {}],
  ['followups.list', {}],
  ['training-employee-status.list', {}],
  ['equipments.list', { equipmentType_id: CRANES }],
  ['users.info', { user: '10001' }],
];

const sandbox = forAllTests(() => createSmallSandbox({ readings: { usersInfo: 'user' } }));
beforeAll(() => {
  sandbox.store.users.put({ id: '10001', name: 'Ada Byron' });
});

describe('requests', () => {
  it.each(methods)('%s accepts GET and POST with equal responses', async (method, parameters) => {
    const request = { token: sandbox.token, ...parameters };
    const posted = await post(sandbox, method, request);
    const got = await get(sandbox, method, request);
    expect(posted.body['ok']).toBe(true);
    expect(got.text).toBe(posted.text);
  });

  it('a GET has the request object as JSON in the query string, URL-encoded where needed', async () => {
    const { hostname, port } = new URL(sandbox.url);
    const status = await new Promise<string>((resolve, reject) => {
      const path = `/v1/users.info?{"token":"${sandbox.token}","user":10001}`;
      request({ hostname, port, path }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
    expect(JSON.parse(status)).toEqual({ ok: true, user: { id: '10001', name: 'Ada Byron' } });
  });
});

describe('responses', () => {
  it('every response has a unique alphanumeric SVC-Request-ID and a numeric SVC-Response-Time', async () => {
    const answers = await Promise.all([
      ask(sandbox, 'resources.list'),
      ask(sandbox, 'followups.list'),
      ask(sandbox, 'no.such.method'),
      post(sandbox, 'resources.list', 'not json'),
      post(sandbox, 'resources.list', {}),
    ]);
    const ids = answers.map((answer) => answer.headers.get('svc-request-id') ?? '');
    for (const id of ids) expect(id).toMatch(/^[0-9a-zA-Z]+$/);
    expect(new Set(ids).size).toBe(ids.length);
    for (const answer of answers) expect(answer.headers.get('svc-response-time')).toMatch(/^\d+(\.\d+)?$/);
  });

  it('an error response has ok=false, an identifier and a description, with HTTP status 200', async () => {
    const { status, body, headers } = await ask(sandbox, 'followups.list', { limit: 501 });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toEqual({
      ok: false,
      error: 'parameter_invalid',
      description: 'limit: expected a whole number from 1 to 500',
    });
  });
});

describe('errors', () => {
  it('a URL that matches no method returns api_method_not_found', async () => {
    for (const path of [
      '/v1/followups.delete',
      '/v2/followups.list',
      '/followups.list',
      '/',
      '/v1/followups.list/',
    ]) {
      const { status, body } = await answered(
        await fetch(`${sandbox.url}${path}`, {
          method: 'POST',
          body: JSON.stringify({ token: sandbox.token }),
        }),
      );
      expect([path, status, body['ok'], body['error']]).toEqual([path, 200, false, 'api_method_not_found']);
    }
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'the HTTP method %s returns request_method_invalid',
    async (httpMethod) => {
      const response = await fetch(`${sandbox.url}/v1/resources.list`, { method: httpMethod });
      const { status, body } = await answered(response);
      expect([status, body['error']]).toEqual([200, 'request_method_invalid']);
    },
  );

  it.each(['', 'token=x', '[]', 'null', '"text"', '7', '{"token":', '{token:"x"}'])(
    'a POST with the body <%s> returns request_data_invalid, because it is no JSON request object',
    async (text) => {
      const { status, body } = await post(sandbox, 'resources.list', text);
      expect([status, body['error']]).toEqual([200, 'request_data_invalid']);
    },
  );

  it.each(['', 'token=x', '%7B', '%zz', '[]'])(
    'a GET with the query <%s> returns request_data_invalid, because it is no JSON request object',
    async (query) => {
      const { status, body } = await get(sandbox, 'resources.list', query);
      expect([status, body['error']]).toEqual([200, 'request_data_invalid']);
    },
  );

  it.each([
    ['a request without a token', 'resources.list', {}, 'token_missing'],
    ['an empty token', 'resources.list', { token: '' }, 'token_missing'],
    ['an unknown token', 'resources.list', { token: 'other' }, 'token_invalid'],
    ['a token that is no text', 'resources.list', { token: 7 }, 'token_invalid'],
    [
      'a refused token, before its parameters',
      'followups.list',
      { token: 'other', limit: -1 },
      'token_invalid',
    ],
    ['equipment without a type', 'equipments.list', KNOWN, 'parameter_missing'],
    ['users.info without a user', 'users.info', KNOWN, 'parameter_missing'],
    ['an unknown user', 'users.info', { ...KNOWN, user: 'nobody' }, 'content_not_found'],
  ])('the response to %s (%s %j) is %s', async (_, method, request, error) => {
    expect((await post(sandbox, method, request)).body['error']).toBe(error);
  });

  it.each([
    ['inactive', 'token_inactive'],
    ['without-permission', 'token_permission'],
    ['account-inactive', 'account_inactive'],
  ] as const)(
    'a token that becomes %s returns %s for every method until it is active again',
    async (state, id) => {
      sandbox.access.set(state);
      for (const [method, parameters] of methods) {
        const { status, body } = await ask(sandbox, method, parameters);
        expect([method, status, body['error']]).toEqual([method, 200, id]);
      }
      sandbox.access.set('active');
      expect((await ask(sandbox, 'resources.list')).body['ok']).toBe(true);
    },
  );

  it('a revoked token returns token_invalid, and its successor is accepted', async () => {
    sandbox.access.set('active', 'successor');
    sandbox.access.revoke();
    expect(await errorOf(sandbox, 'resources.list')).toBe('token_invalid');
    expect((await post(sandbox, 'resources.list', { token: 'successor' })).body['ok']).toBe(true);
    sandbox.access.set('active');
  });

  it.each(methods)(
    '%s refuses an unsupported parameter, and pretty if it is no boolean',
    async (method, parameters) => {
      expect(await errorOf(sandbox, method, { ...parameters, colour: 'red' })).toBe('parameter_unexpected');
      for (const pretty of ['true', 1, null]) {
        expect(await errorOf(sandbox, method, { ...parameters, pretty })).toBe('parameter_invalid');
      }
    },
  );
});

describe('the request log', () => {
  it('the request log has method and parameters, and whether a token was present, but not the token', async () => {
    await ask(sandbox, 'followups.list', { limit: 3, status: 'open' });
    expect(sandbox.requests.at(-1)).toMatchObject({
      at: NOON,
      httpMethod: 'POST',
      method: 'followups.list',
      params: { limit: 3, status: 'open' },
      token: 'present',
      outcome: 'ok',
      fault: null,
      records: 3,
    });
    expect(JSON.stringify(sandbox.requests)).not.toContain(sandbox.token);
  });
});
