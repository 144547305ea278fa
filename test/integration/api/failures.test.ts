import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type ApiClientOptions, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { respondJson, startProtocolServer, TOKEN } from './protocol-server.ts';
import type { ProtocolServer, Responder } from './protocol-server.ts';

let server: ProtocolServer;

async function failureOf(
  respond: Responder,
  options: Partial<ApiClientOptions> = {},
): Promise<SafetySyncError> {
  server = await startProtocolServer(respond);
  const request = { method: 'x.list', listKey: 'items', params: { limit: 5 }, meter: createRequestMeter() };
  try {
    await server.client(options).page(request);
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(TOKEN.slice(0, 12));
    return error;
  }
  throw new Error('the request succeeded');
}

describe('an error response of the service', () => {
  test('an error of an error response has its identifier, its description, the request and the request ID', async () => {
    const error = await failureOf((response) => {
      respondJson(
        response,
        { ok: false, error: 'parameter_invalid', description: 'limit is too small' },
        { 'SVC-Request-ID': 'r7' },
      );
    });
    expect(error).toMatchObject({ code: 'parameter_invalid', recovery: 'fail_stream', requestId: 'r7' });
    expect(error.message).toBe(
      'The service refused x.list {"limit":5}: parameter_invalid: limit is too small',
    );
    expect(server.requests).toHaveLength(1);
  });

  test('an error response with an unknown identifier is service_error_unknown', async () => {
    const error = await failureOf((response) => {
      respondJson(response, { ok: false, error: 'quota_gone', description: 'buy more' });
    });
    expect(error.code).toBe('service_error_unknown');
    expect(error.message).toBe(
      'The service refused x.list {"limit":5} with an identifier that its specification does not name: quota_gone: buy more',
    );
  });

  test('an error response is recognized with any HTTP status', async () => {
    const error = await failureOf((response) => {
      response.writeHead(500).end('{"ok":false,"error":"token_invalid"}');
    });
    expect(error).toMatchObject({ code: 'token_invalid', recovery: 'fail_run' });
  });

  test('an error response that repeats the token in every place leads to an error without the token', async () => {
    const error = await failureOf((response, request) => {
      respondJson(
        response,
        { ok: false, error: `x_${TOKEN}`, description: request.body },
        { 'SVC-Request-ID': TOKEN },
      );
    });
    expect(error.requestId).toBe('[token]');
    expect(error.message).toContain('x_[token]: {"limit":5,"token":"[token]"}');
  });
});

describe('an invalid response', () => {
  test.each([
    ['{}', 'response_invalid', 'x.list: there is no ok that is true or false (HTTP 200); its fields: none'],
    [
      '{"ok":false}',
      'response_invalid',
      'x.list: ok is false, but there is no error identifier (HTTP 200); its fields: ok',
    ],
    [
      '{"ok":"true","items":[1]}',
      'response_invalid',
      'x.list: there is no ok that is true or false (HTTP 200); its fields: ok, items',
    ],
    [
      '{"ok":false,"error":5}',
      'response_invalid',
      'x.list: ok is false, but there is no error identifier (HTTP 200); its fields: ok, error',
    ],
    ['{"ok":true}', 'response_invalid', 'x.list: items is missing (HTTP 200); its fields: ok'],
    [
      '{"ok":true,"items":{}}',
      'response_invalid',
      'x.list: items is not a list (HTTP 200); its fields: ok, items',
    ],
    ['', 'response_cut', 'x.list: the response is empty (HTTP 200)'],
    [
      '{"ok":true,"items":[1,2',
      'response_cut',
      'x.list: the response ends in the middle, after 23 bytes (HTTP 200)',
    ],
    [
      '{"ok":true,"user":{"name":"somebody"},"items":{"note":"what somebody wrote"}}',
      'response_invalid',
      'x.list: items is not a list (HTTP 200); its fields: ok, user, items',
    ],
    [
      '{"items":[{"note":"what somebody wrote"},{"note":oops}],"ok":true}',
      'response_not_json',
      'x.list: the response is not JSON (HTTP 200)',
    ],
    [
      '[{"note":"what somebody wrote"}]',
      'response_not_json',
      'x.list: the response is not a JSON object (HTTP 200)',
    ],
    [
      '<html>Log in</html>',
      'response_not_json',
      'x.list: the response is not a JSON object (HTTP 200); it begins: <html>Log in</html>',
    ],
  ])('the response %s is an error with a precise message', async (body, code, message) => {
    const error = await failureOf((response) => response.end(body));
    expect(error).toMatchObject({ code, recovery: 'retry', message: `${message} (after the only attempt)` });
  });

  test('an error for the page of a gateway contains its status, and no token that the page repeats', async () => {
    const error = await failureOf((response, request) => {
      response
        .writeHead(502, { 'retry-after': '3' })
        .end(`<h1>Bad\nGateway</h1> ${request.body}${'x'.repeat(100_000)}`);
    });
    expect(error).toMatchObject({ code: 'response_not_json', retryAfterMs: 3_000 });
    expect(error.message).toContain(
      '(HTTP 502); it begins: <h1>Bad Gateway</h1> {"limit":5,"token":"[token]"}xxx',
    );
  });

  test('an error message contains no record of a failing response, with any status', async () => {
    const error = await failureOf((response) =>
      response.writeHead(500).end('{"ok":true,"items":[{"note":"what somebody wrote"},{]}'),
    );
    expect(error.message).toBe('x.list: the list is closed by a brace (HTTP 500) (after the only attempt)');
  });

  test.each([206, 203, 404, 500])(
    'a response with ok: true and status %i is response_invalid',
    async (status) => {
      const error = await failureOf((response) => response.writeHead(status).end('{"ok":true,"items":[1]}'));
      expect(error).toMatchObject({
        code: 'response_invalid',
        recovery: 'retry',
        message: `x.list: ok is true under a status that the service never uses (HTTP ${status}); its fields: ok, items (after the only attempt)`,
      });
    },
  );

  test.each([
    ['slow down', 'rate_limit_exceeded'],
    ['{"ok":false,"error":"slow_down"}', 'rate_limit_exceeded'],
    ['{"ok":false,"error":"server_error"}', 'rate_limit_exceeded'],
    ['{"ok":false,"error":"request_data_invalid"}', 'request_data_invalid'],
  ])('a response with status 429 and the body %s is %s', async (body, code) => {
    const error = await failureOf((response) => response.writeHead(429).end(body));
    expect(error.code).toBe(code);
  });

  test('a redirect is not followed', async () => {
    const error = await failureOf((response) => response.writeHead(307, { location: '/elsewhere' }).end());
    expect(error.code).toBe('response_not_json');
    expect(error.message).toContain('HTTP 307, a redirect to /elsewhere, not followed');
    expect(server.requests.map((request) => request.url)).toEqual(['/v1/x.list']);
  });
});

describe('a broken connection', () => {
  test('a connection that breaks before the response is network_error', async () => {
    const error = await failureOf((response) => response.socket?.resetAndDestroy());
    expect(error.code).toBe('network_error');
    expect(error.message).toMatch(/no response from http:\/\/127\.0\.0\.1:\d+ \((ECONNRESET|UND_ERR_SOCKET)/);
  });

  test('a connection that breaks in the middle of a body is response_cut', async () => {
    const error = await failureOf((response) => {
      response.writeHead(200, { 'SVC-Request-ID': 'r9' });
      response.write('{"ok":true,"items":[1,2,', () => response.socket?.destroy());
    });
    expect(error).toMatchObject({ code: 'response_cut', requestId: 'r9' });
  });

  test('a refused connection is network_error with the code of the system', async () => {
    const error = await failureOf(() => undefined, { baseUrl: 'http://127.0.0.1:1' });
    expect(error.code).toBe('network_error');
    expect(error.message).toContain(
      'no response from http://127.0.0.1:1 (ECONNREFUSED: connect ECONNREFUSED',
    );
  });
});

describe('waiting', () => {
  test('a response that never begins is request_timeout', async () => {
    const error = await failureOf(() => undefined, { requestTimeoutMs: 50 });
    expect(error.message).toBe('x.list: no response within 50 ms (after the only attempt)');
    expect(error.code).toBe('request_timeout');
  });

  test('a response that goes on too long is request_timeout; a list that comes whole has twice the time', async () => {
    const drips: NodeJS.Timeout[] = [];
    server = await startProtocolServer((response) => {
      response.write('{"ok":true,"items":[');
      drips.push(setInterval(() => response.write(' '), 5));
    });
    const request = { method: 'x.list', listKey: 'items', params: {}, meter: createRequestMeter() };
    const client = server.client({ requestTimeoutMs: 800 });
    await expect(client.page(request)).rejects.toMatchObject({
      code: 'request_timeout',
      message: 'x.list: the response was not complete within 800 ms (after the only attempt)',
    });
    await expect(client.page({ ...request, comesWhole: true })).rejects.toThrow('within 1600 ms');
    drips.forEach(clearInterval);
  });

  test('a response of more than 256 MB is response_too_large and is not requested again', async () => {
    const tooLong = { 'content-length': String(257 * 1024 * 1024) };
    const respond: Responder = (response) => void response.writeHead(200, tooLong).write('{"ok":true,');
    const error = await failureOf(respond, { mostRetries: 2 });
    expect(error).toMatchObject({ code: 'response_too_large', recovery: 'fail_stream' });
    expect(server.requests).toHaveLength(1);
  });
});
