import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTATIONS } from './mutations.ts';
import { createTypeCheck } from './type-errors.ts';

// Half a minute on a machine that has nothing else to do.
test('every break compiles, so that tests detect its behaviour and not a compile error', () => {
  const typeErrorOf = createTypeCheck();
  expect(
    MUTATIONS.flatMap((mutation) => {
      const error = typeErrorOf(mutation);
      return error === null ? [] : [`${mutation.breaks}: ${error}`];
    }),
  ).toEqual([]);
}, 900_000);

test('a break is reported as not run if its tests cannot run', async () => {
  const run = fileURLToPath(new URL('run.ts', import.meta.url));
  const env = { ...process.env, TEST_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const ended = await new Promise<{ code: unknown; output: string }>((resolve) => {
    const args = ['--import', 'tsx', run, '--only', 'children of a changed record are not replaced'];
    execFile(process.execPath, args, { env }, (error, output) =>
      resolve({ code: error === null ? 0 : error.code, output }),
    );
  });
  expect(ended.output).toMatch(/^not run: 1\. children of a changed record are not replaced/m);
  expect(ended.output).toContain('0 of 1 breaks caught');
  expect(ended.code).toBe(1);
});
