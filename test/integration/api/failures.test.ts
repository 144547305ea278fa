import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { type ApiClientOptions, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import {
  type ProtocolServer,
  respondJson,
  type Responder,
  startProtocolServer,
  TOKEN,
} from './protocol-server.ts';

let server: ProtocolServer;
const REQUEST = { method: 'x.list', listKey: 'items', params: { limit: 5 } };

async function failureOf(
  respond: Responder,
  options: Partial<ApiClientOptions> = {},
): Promise<SafetySyncError> {
  server = await startProtocolServer(respond);
  const request = server.client(options).page({ ...REQUEST, meter: createRequestMeter() });
  const error: unknown = await request.catch((caught: unknown) => caught);
  if (!(error instanceof SafetySyncError)) throw error;
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(TOKEN.slice(0, 12));
  return error;
}

test('an error response that repeats the token in every place leads to an error with its identifier, description, request and request ID, without the token', async () => {
  const error = await failureOf((response, request) => {
    const refusal = { ok: false, error: `x_${TOKEN}`, description: request.body };
    respondJson(response, refusal, { 'SVC-Request-ID': TOKEN });
  });
  expect(error).toMatchObject({ code: 'service_error_unknown', requestId: '[token]' });
  expect(error.message).toBe(
    'The service refused x.list {"limit":5} with an identifier that its specification does not name: x_[token]: {"limit":5,"token":"[token]"}',
  );
});

test.each([
  [
    200,
    '{"ok":false,"error":"parameter_invalid"}',
    'parameter_invalid',
    'x.list {"limit":5}: parameter_invalid',
  ],
  [
    200,
    '{"ok":false,"error":"token_expired"}',
    'token_invalid',
    'with an identifier that its specification does not name: token_expired',
  ],
  [429, 'slow down', 'rate_limit_exceeded', '(HTTP 429); it begins: slow down'],
  [429, '{"ok":false,"error":"request_data_invalid"}', 'request_data_invalid', 'request_data_invalid'],
  [200, '{}', 'response_invalid', 'there is no ok that is true or false; its fields: none (HTTP 200)'],
  [
    200,
    '{"ok":true,"items":{"note":"what somebody wrote"}}',
    'response_invalid',
    'items is not a list; its fields: ok, items',
  ],
  [
    500,
    '{"ok":true,"items":[1]}',
    'response_invalid',
    'ok is true under a status that the service never uses',
  ],
  [
    200,
    '{"ok":true,"items":[{"note":"what somebody wrote"},2',
    'response_cut',
    'ends in the middle, after 52 bytes',
  ],
  [
    200,
    '<html>Log in</html>',
    'response_not_json',
    'not a JSON object (HTTP 200); it begins: <html>Log in</html>',
  ],
])('a response with status %i and the body %s is %s', async (status, body, code, says) => {
  const error = await failureOf((response) => response.writeHead(status).end(body));
  expect(error.code).toBe(code);
  expect(error.message).toContain(says);
  expect(error.message).not.toContain('somebody');
});

test('a redirect is not followed, and its target is named', async () => {
  const error = await failureOf((response) => response.writeHead(307, { location: '/elsewhere' }).end());
  expect(error.message).toContain('HTTP 307, a redirect to /elsewhere that is not followed');
  expect(server.requests.map((request) => request.url)).toEqual(['/v1/x.list']);
});

test('a connection that breaks is network_error before the response, and response_cut in the middle of its body', async () => {
  const reset = await failureOf((response) => response.socket?.resetAndDestroy());
  expect(reset.code).toBe('network_error');
  const refused = await failureOf(() => undefined, { baseUrl: 'http://127.0.0.1:1' });
  expect(refused).toMatchObject({ code: 'network_error', cause: expect.any(Error) as Error });
  expect(refused.message).toContain(
    'no response from http://127.0.0.1:1 (ECONNREFUSED: connect ECONNREFUSED',
  );
  const cut = await failureOf((response) => {
    response.writeHead(200, { 'SVC-Request-ID': 'r9' });
    response.write('{"ok":true,"items":[1,2,', () => response.socket?.destroy());
  });
  expect(cut).toMatchObject({ code: 'response_cut', requestId: 'r9' });
});

test('a response that never ends is request_timeout; a list that comes whole has twice the time', async () => {
  server = await startProtocolServer((response) => response.write('{"ok":true,"items":['));
  const client = server.client({ requestTimeoutMs: 100 });
  const request = { ...REQUEST, meter: createRequestMeter() };
  await expect(client.page(request)).rejects.toMatchObject({
    code: 'request_timeout',
    message: 'x.list: no complete response within 100 ms (after the only attempt)',
  });
  await expect(client.page({ ...request, comesWhole: true })).rejects.toThrow('within 200 ms');
});

test('a response of more than 256 MB is response_too_large and is not requested again', async () => {
  const tooLong = { 'content-length': String(257 * 1024 * 1024) };
  const respond: Responder = (response) => void response.writeHead(200, tooLong).write('{"ok":true,');
  const error = await failureOf(respond, { mostRetries: 2 });
  expect(error).toMatchObject({ code: 'response_too_large', recovery: 'fail_stream' });
  expect(server.requests).toHaveLength(1);
});
