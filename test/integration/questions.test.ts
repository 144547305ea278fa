/** The questions of docs/questions.md, asked as they stand there, by the role that BI has. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const text = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
const questions = [...text.matchAll(/^### \d+\. (.*)\n\n```sql\n([^`]*)```$/gm)].map(
  ([, title = '', sql = '']) => [title, sql] as const,
);

let worker: TestWorker;
beforeAll(async () => {
  worker = await createTestWorker({
    sandbox: { seed: 5, size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 } },
  });
  for (let round = 0; round < 2; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(100);
    worker.sandbox.store.recalculateTraining(Date.now() + MINUTE_MS);
  }
});
afterAll(() => worker.close());

test('there are thirty', () => {
  expect(questions).toHaveLength(30);
});

test.each(questions)('%s', async (_, sql) => {
  const rows = await worker.connection.db.transaction(async (tx) => {
    await tx.execute('set local role safety_reader');
    return await tx.execute(sql);
  });
  expect(rows.length).toBeGreaterThan(0);
});
