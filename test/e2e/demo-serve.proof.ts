import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCli } from '../support/cli.ts';
import { forAllTests } from '../support/lifetime.ts';

const cli = forAllTests(() => createCli());

const isServing = () =>
  existsSync(join(cli.directory, '.data', 'postgres', 'cluster', 'data', 'postmaster.pid'));

it('demo --serve keeps worker, sandbox and database running until a signal, and a second demo is refused', async () => {
  const demo = cli.start(['demo', '--serve'], { HTTP_PORT: '0' });
  const [, url = ''] = await demo.untilStderr(/health at (http:\/\/[^"\s]+\/healthz)/);
  expect((await fetch(url)).status).toBe(200);
  expect(demo.stdout).toMatch(/psql 'postgres:\/\/safety_sync:[0-9a-f]+@127\.0\.0\.1:\d+\/safety_sync_demo'/);
  expect(isServing()).toBe(true);
  const second = await cli.run(['demo']);
  expect(second.stderr).toMatch(/^usage_invalid: another demo runs in .*: stop it first/);
  expect(second.code).toBe(2);
  demo.kill('SIGTERM');
  expect((await demo.finished).code).toBe(0);
  expect(isServing()).toBe(false);
});
