import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { CliEnvironment } from '../support/cli.ts';
import { createCliStage } from '../support/cli-stage.ts';
import { findText } from '../support/find-text.ts';
import { forAllTests } from '../support/lifetime.ts';

/** Characters that JSON and URLs encode. */
const CANARY = 'canary/7f3a+b"c\\9d&e=token';
const SPELLINGS = [CANARY, JSON.stringify(CANARY).slice(1, -1), encodeURIComponent(CANARY), 'canary/7f3a'];

const stage = forAllTests(() => createCliStage({ sandbox: { token: CANARY } }));
it('the token is in no output and in no table, also if the service or a gateway returns it', async () => {
  let output = '';
  async function run(args: readonly string[], env: CliEnvironment = {}) {
    const said = await stage.run(args, { LOG_LEVEL: 'trace', RETRY_ATTEMPTS: '1', ...env });
    output += `${said.stdout}\n${said.stderr}\n`;
    return said;
  }
  await run(['sync']);
  await run(['check']);

  stage.sandbox.hooks.rewriteResponse = (_entry, response) => ({
    ...response,
    ok: false,
    error: 'parameter_invalid',
    description: `what does ${CANARY} or ${encodeURIComponent(CANARY)} mean`,
  });
  expect((await run(['sync', '--force'])).code).toBe(1);
  await run(['sync', '--force', '--json'], { LOG_FORMAT: 'pretty' });
  await run(['check', '--json']);

  stage.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, ok: false, error: CANARY });
  expect((await run(['sync', '--force'])).stdout).toContain('service_error_unknown');

  stage.sandbox.hooks.rewriteResponse = undefined;
  stage.sandbox.faults.next(
    () => true,
    {
      kind: 'nonJson',
      httpStatus: 302,
      headers: { location: `https://login.example.com/?t=${encodeURIComponent(CANARY)}` },
      body: `<html>you sent ${JSON.stringify(CANARY)}</html>`,
    },
    100,
  );
  expect((await run(['sync', '--force'])).stdout).toContain('response_not_json');
  stage.sandbox.faults.clear();

  stage.sandbox.access.set('without-permission');
  expect((await run(['sync', '--force'])).code).toBe(3);
  stage.sandbox.access.set('active');
  for (const verb of ['status', 'runs', 'data-issues']) {
    await run([verb]);
    await run([verb, '--json']);
  }

  expect(output.length).toBeGreaterThan(10_000);
  for (const spelling of SPELLINGS) expect(output).not.toContain(spelling);
  expect(await findText(stage, ['parameter_invalid'])).not.toEqual([]);
  expect(await findText(stage, SPELLINGS)).toEqual([]);
});

it('a token in the wrong variable is not shown in the error', async () => {
  const { code, stderr } = await stage.run(['sync'], { SAFETY_ACCOUNT: CANARY });
  expect(stderr).toContain('SAFETY_ACCOUNT: expected');
  for (const spelling of SPELLINGS) expect(stderr).not.toContain(spelling);
  expect(code).toBe(2);
});

it('the command line of a running process contains neither token nor password, and its database session no token', async () => {
  stage.sandbox.faults.next(() => true, { kind: 'hang' });
  const running = stage.cli.start(['sync', 'resources'], stage.env);
  await expect
    .poll(() => stage.sandbox.requests.some(({ fault }) => fault === 'hang'), { timeout: 45_000 })
    .toBe(true);
  const password = new URL(stage.databaseUrl).password;
  if (existsSync(`/proc/${running.pid}/cmdline`)) {
    const title = await readFile(`/proc/${running.pid}/cmdline`, 'utf8');
    expect(title).toContain('main.js');
    expect(title).not.toContain('canary');
    if (password !== '') expect(title).not.toContain(password);
  }
  const sessions = await stage.query<{ name: string; query: string }>(
    `select application_name as name, query from pg_stat_activity where datname = current_database()`,
  );
  expect(sessions.map(({ name }) => name)).toContain('safety-sync resources');
  expect(JSON.stringify(sessions)).not.toContain('canary');
  // A terminal that is closed stops a command as Ctrl-C does.
  running.kill('SIGHUP');
  expect(await running.finished).toMatchObject({ code: 1, signal: null });
  expect(await stage.query('select error_code from safety_sync.runs order by run_id desc limit 1')).toEqual([
    { error_code: 'interrupted' },
  ]);
});
