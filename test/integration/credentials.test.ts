/** Refused credentials are never tried again within a run (contract, 5.6). */
import { afterEach, expect, test } from 'vitest';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

let worker: TestWorker;
afterEach(() => worker.close());

test.each([
  'token_missing',
  'token_invalid',
  'token_inactive',
  'token_permission',
  'account_inactive',
] as const)('%s ends the run after the one request that was refused', async (error) => {
  worker = await createTestWorker({ retryAttempts: 3 });
  worker.sandbox.faults.next(() => true, { kind: 'error', error }, 10);
  for (const stream of ['followups', 'resources', 'equipments', 'training-employee-status'] as const) {
    worker.sandbox.requests.length = 0;
    const result = await worker.run(stream);
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: error, recovery: 'fail_run' },
      requests: 1,
    });
    expect(worker.sandbox.requests).toHaveLength(1);
  }
});
