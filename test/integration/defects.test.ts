/** An error inside of a run that has none of the error codes of this program. */
import { expect, test } from 'vitest';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import { forAllTests } from '../support/lifetime.ts';
import { createTestWorker } from '../support/worker.ts';

const worker = forAllTests(() => createTestWorker());
test.each([
  [
    'with a code of Node.js',
    Object.assign(new RangeError('a text is too long'), { code: 'ERR_STRING_TOO_LONG' }),
  ],
  ['with a cause', new TypeError('a text is too long', { cause: new Error('some other failure') })],
])('an error %s is reported as internal_error, not as an error of PostgreSQL', async (_what, thrown) => {
  const api = (): never => {
    throw thrown;
  };
  const request = { stream: 'resources', kind: 'sync', trigger: 'manual', force: false } as const;
  const result = await runStream({ ...worker.context, api }, { ...request, allowMassDelete: false });
  expect(result).toMatchObject({
    outcome: 'failed',
    error: { code: 'internal_error', message: 'a text is too long' },
  });
  expect(await worker.query(`select error_code from safety_sync.runs order by run_id desc limit 1`)).toEqual([
    { error_code: 'internal_error' },
  ]);
});
