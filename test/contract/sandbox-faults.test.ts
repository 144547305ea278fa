import { describe, expect, it } from 'vitest';
import type { FaultKind, FaultOptions } from '../../src/sandbox/index.ts';
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
});

describe('the choice of requests for a fault', () => {
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
    sandbox.clock.now += 1;
    for (let count = 0; count < 3; count += 1) {
      expect(await errorOf(sandbox, 'resources.list')).toBeUndefined();
    }
    expect(await errorOf(sandbox, 'resources.list')).toBe('rate_limit_exceeded');
  });
});
