import { beforeEach, expect, test } from 'vitest';
import { type RequestEvent, createRequestMeter } from '../../src/engine/api/requests.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { clientFor } from '../support/api-client.ts';
import { forEachTest } from '../support/lifetime.ts';
import { SMALL_SANDBOX } from '../support/worker.ts';

const sandbox = forEachTest(() => createSandbox({ size: SMALL_SANDBOX, token: 'canary-token-5d1f' }));
const events: RequestEvent[] = [];

beforeEach(() => {
  events.length = 0;
});

test('each request is logged with its range, attempt, records, size and request id, without token, user or record', async () => {
  const api = clientFor(sandbox, { mostRetries: 1, onRequest: (event) => events.push(event) });
  const meter = createRequestMeter();
  sandbox.faults.next(() => true, { kind: 'error', error: 'server_error' });
  await api.page({
    method: 'followups.list',
    listKey: 'followups',
    params: { limit: 7, page: 2, updated_after: 5 },
    meter,
  });
  await api
    .fetchObject({ method: 'users.info', objectKey: 'user', params: { id: 'person-4711' }, meter })
    .catch(() => undefined);
  await api.close();
  expect(
    events.map(({ method, range, attempt, records, errorCode }) => [
      method,
      range,
      attempt,
      records,
      errorCode,
    ]),
  ).toEqual([
    ['followups.list', { page: 2, limit: 7, updated_after: 5 }, 1, null, 'server_error'],
    ['followups.list', { page: 2, limit: 7, updated_after: 5 }, 2, 7, null],
    ['users.info', {}, 1, null, 'content_not_found'],
  ]);
  expect(events.map(({ requestId }) => requestId)).toEqual(
    sandbox.requests.map(({ requestId }) => requestId),
  );
  expect(events.map(({ bytes }) => bytes > 0)).toEqual([true, true, true]);
  expect(JSON.stringify(events)).not.toMatch(/canary|person/);
});
