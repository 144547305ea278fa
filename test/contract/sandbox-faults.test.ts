import { describe, expect, it } from 'vitest';
import type { FaultKind, FaultOptions, RequestLogEntry } from '../../src/sandbox/index.ts';
import { ask, createTestSandbox, errorOf, createSmallSandbox } from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';

const sandbox = forEachTest(() => createSmallSandbox());

const raw = (init: RequestInit = {}): Promise<Response> =>
  fetch(`${sandbox.url}/v1/resources.list`, {
    method: 'POST',
    body: JSON.stringify({ token: sandbox.token }),
    ...init,
  });

describe('the effect of a fault', () => {
  it('the fault reset destroys the connection before any response', async () => {
    sandbox.faults.script([{ kind: 'reset' }]);
    await expect(raw()).rejects.toThrow('fetch failed');
    expect(sandbox.requests.at(-1)).toMatchObject({
      fault: 'reset',
      outcome: 'no-response',
      requestId: null,
    });
  });

  it('the fault hang sends no response to a request, until the sandbox is closed', async () => {
    sandbox.faults.next((entry) => entry.method === 'resources.list', { kind: 'hang' }, 2);
    const patience = new AbortController();
    const impatient = expect(raw({ signal: patience.signal })).rejects.toThrow('aborted');
    const untilClosed = expect(raw()).rejects.toThrow('fetch failed');
    while (sandbox.faults.counts.hang < 2) await ask(sandbox, 'users.info', { id: '1' });
    patience.abort();
    await impatient;
    await sandbox.close();
    await untilClosed;
  });

  it('the fault cut ends a body of known length in the middle', async () => {
    sandbox.faults.script([{ kind: 'cut', framing: 'content-length' }]);
    const response = await raw();
    expect(response.headers.get('content-length')).toMatch(/^\d+$/);
    await expect(response.text()).rejects.toThrow();
  });

  it('the fault cut ends a chunked body in the middle', async () => {
    sandbox.faults.script([{ kind: 'cut', framing: 'chunked', share: 0.9 }]);
    const response = await raw();
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    await expect(response.text()).rejects.toThrow();
  });

  it('the fault nonJson returns a page of a gateway with its status and no header of the service', async () => {
    sandbox.faults.script([
      { kind: 'nonJson' },
      { kind: 'nonJson', httpStatus: 503 },
      { kind: 'nonJson', httpStatus: 200, body: '' },
      { kind: 'nonJson', httpStatus: 429, body: 'slow down', headers: { 'retry-after': '3' } },
    ]);
    const seen: unknown[] = [];
    for (let count = 0; count < 4; count += 1) {
      const response = await raw();
      expect(response.headers.get('svc-request-id')).toBeNull();
      seen.push([response.status, (await response.text()).slice(0, 6), response.headers.get('retry-after')]);
    }
    expect(seen).toEqual([
      [502, '<html>', null],
      [503, '<html>', null],
      [200, '', null],
      [429, 'slow d', '3'],
    ]);
  });

  it('the fault slow sends the usual response in pieces', async () => {
    const whole = await (await raw()).text();
    sandbox.faults.script([{ kind: 'slow', durationMs: 60, pieces: 4 }]);
    const startedAt = performance.now();
    expect(await (await raw()).text()).toBe(whole);
    expect(performance.now() - startedAt).toBeGreaterThan(50);
  });
});

describe('the choice of requests for a fault', () => {
  it('a script sets the fault of each following request, and null sets none', async () => {
    sandbox.faults.script([{ kind: 'serverError' }, null, { kind: 'rateLimit' }]);
    const errors: unknown[] = [];
    for (let count = 0; count < 4; count += 1) errors.push(await errorOf(sandbox, 'resources.list'));
    expect(errors).toEqual(['server_error', undefined, 'rate_limit_exceeded', undefined]);
  });

  it('next applies a fault to matching requests, as often as requested', async () => {
    const isPage2 = (entry: RequestLogEntry): boolean => entry.params['page'] === 2;
    sandbox.faults.next(isPage2, { kind: 'serverError' }, 2);
    expect(await errorOf(sandbox, 'followups.list')).toBeUndefined();
    expect(await errorOf(sandbox, 'followups.list', { page: 2 })).toBe('server_error');
    expect(await errorOf(sandbox, 'followups.list', { page: 2 })).toBe('server_error');
    expect(await errorOf(sandbox, 'followups.list', { page: 2 })).toBeUndefined();
  });

  it('clear removes all planned faults', async () => {
    sandbox.faults.set({ serverError: 1, limiter: { requests: 0, windowMs: 1000 } });
    sandbox.faults.script([{ kind: 'rateLimit' }]);
    sandbox.faults.next(() => true, { kind: 'nonJson' });
    sandbox.faults.clear();
    expect(await errorOf(sandbox, 'resources.list')).toBeUndefined();
  });

  it('rates apply faults to about their share of requests, and equal seeds apply them to equal requests', async () => {
    const faults: FaultOptions = { rateLimit: 0.2, serverError: 0.2, nonJson: 0.1 };
    const outcomes = async (seed: number): Promise<(FaultKind | null)[]> => {
      const faulty = await createTestSandbox({ seed, faults });
      for (let count = 0; count < 100; count += 1) {
        await fetch(`${faulty.url}/v1/users.info`, { method: 'POST', body: '{}' }).then((response) =>
          response.text(),
        );
      }
      await faulty.close();
      return faulty.requests.map((entry) => entry.fault);
    };
    const first = await outcomes(1);
    const share = (kind: FaultKind): number => first.filter((fault) => fault === kind).length / 100;
    expect(share('rateLimit')).toBeGreaterThan(0.1);
    expect(share('rateLimit')).toBeLessThan(0.3);
    expect(share('serverError')).toBeGreaterThan(0.1);
    expect(share('nonJson')).toBeGreaterThan(0.03);
    expect(await outcomes(1)).toEqual(first);
    expect(await outcomes(2)).not.toEqual(first);
  });

  it('rates outside 0 to 1, or above 1 together, are refused', () => {
    expect(() => sandbox.faults.set({ reset: -0.1 })).toThrow('expected rates from 0 to 1');
    expect(() => sandbox.faults.set({ reset: 0.6, hang: 0.6 })).toThrow('together at most 1');
  });
});

describe('the request limit', () => {
  it('one request too many locks every token out for the window, and then the count begins anew', async () => {
    sandbox.faults.set({ limiter: { requests: 3, windowMs: 1000 } });
    sandbox.access.set('active', 'other');
    const errors: unknown[] = [];
    for (let count = 0; count < 4; count += 1) errors.push(await errorOf(sandbox, 'resources.list'));
    expect(errors).toEqual([undefined, undefined, undefined, 'rate_limit_exceeded']);
    sandbox.clock.now += 999;
    expect(await errorOf(sandbox, 'resources.list', { token: 'other' })).toBe('rate_limit_exceeded');
    expect(sandbox.faults.limited).toBe(2);
    sandbox.clock.now += 1;
    for (let count = 0; count < 3; count += 1) {
      expect(await errorOf(sandbox, 'resources.list')).toBeUndefined();
    }
    expect(await errorOf(sandbox, 'resources.list')).toBe('rate_limit_exceeded');
  });
});

describe('hooks', () => {
  it('beforeResponse can change the source between two pages', async () => {
    const [newest] = [...sandbox.store.followups.values()].toReversed();
    sandbox.hooks.beforeResponse = (entry, store) => {
      if (entry.params['page'] === 2) store.followups.delete(newest?.id ?? '');
    };
    const first = await ask(sandbox, 'followups.list', { limit: 100 });
    const second = await ask(sandbox, 'followups.list', { limit: 100, page: 2 });
    expect(first.body['paging']).toEqual({ total: 240, last_page: 3 });
    expect(second.body['paging']).toEqual({ total: 239, last_page: 3 });
  });

  it('rewriteResponse can replace responses and errors', async () => {
    sandbox.hooks.rewriteResponse = (_entry, response) =>
      response['ok'] === true
        ? { ...response, paging: { total: 999, last_page: 9 } }
        : { ...response, error: 'new_error' };
    expect((await ask(sandbox, 'resources.list')).body['paging']).toEqual({ total: 999, last_page: 9 });
    expect(await errorOf(sandbox, 'no.such.method')).toBe('new_error');
  });

  it('onRequest receives every request with its outcome, also requests without a response', async () => {
    const seen: unknown[] = [];
    const watched = await createTestSandbox({
      onRequest: (entry) => seen.push([entry.method, entry.outcome]),
    });
    watched.faults.script([null, { kind: 'reset' }]);
    await ask(watched, 'resources.list');
    await expect(ask(watched, 'resources.list')).rejects.toThrow();
    await errorOf(watched, 'users.info', { id: '1' });
    await watched.close();
    expect(seen).toEqual([
      ['resources.list', 'ok'],
      ['resources.list', 'no-response'],
      ['users.info', 'content_not_found'],
    ]);
  });

  it('the largest number of requests in flight is counted', async () => {
    sandbox.faults.script(Array.from({ length: 3 }, () => ({ kind: 'slow', durationMs: 100 }) as const));
    await Promise.all([raw(), raw(), raw()].map(async (response) => (await response).text()));
    expect(sandbox.load.peak).toBe(3);
  });

  it('latency is added to every response', async () => {
    const far = await createTestSandbox({ latencyMs: 40 });
    const startedAt = performance.now();
    await ask(far, 'resources.list');
    expect(performance.now() - startedAt).toBeGreaterThan(38);
  });
});
