import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { CliEnvironment } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { findText } from '../support/find-text.ts';
import { forAllTests } from '../support/lifetime.ts';

/** Characters that JSON and URLs encode. */
const CANARY = 'canary/7f3a+b"c\\9d&e=token';
const SPELLINGS = [CANARY, JSON.stringify(CANARY).slice(1, -1), encodeURIComponent(CANARY), 'canary/7f3a'];

const fixture = forAllTests(() => createCliFixture({ sandbox: { token: CANARY } }));
it('the token is in no output and in no table, also if the service or a gateway returns it', async () => {
  let output = '';
  async function run(args: readonly string[], env: CliEnvironment = {}) {
    const said = await fixture.run(args, { LOG_LEVEL: 'trace', RETRY_ATTEMPTS: '1', ...env });
    output += `${said.stdout}\n${said.stderr}\n`;
    return said;
  }
  await run(['sync']);
  await run(['check']);

  fixture.sandbox.hooks.rewriteResponse = (_entry, response) => ({
    ...response,
    ok: false,
    error: 'parameter_invalid',
    description: `what does ${CANARY} or ${encodeURIComponent(CANARY)} mean`,
  });
  const again = ['sync', 'resources', 'followups', '--force'];
  expect((await run(again)).code).toBe(1);
  await run([...again, '--json'], { LOG_FORMAT: 'pretty' });
  await run(['check', '--json']);

  fixture.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, ok: false, error: CANARY });
  expect((await run(again)).stdout).toContain('service_error_unknown');

  fixture.sandbox.hooks.rewriteResponse = undefined;
  fixture.sandbox.faults.next(
    () => true,
    {
      kind: 'nonJson',
      httpStatus: 302,
      headers: { location: `https://login.example.com/?t=${encodeURIComponent(CANARY)}` },
      body: `<html>you sent ${JSON.stringify(CANARY)}</html>`,
    },
    100,
  );
  expect((await run(again)).stdout).toContain('response_not_json');
  fixture.sandbox.faults.clear();

  fixture.sandbox.access.set('without-permission');
  expect((await run(again)).code).toBe(3);
  fixture.sandbox.access.set('active');
  for (const verb of ['status', 'runs', 'data-issues']) {
    await run([verb]);
    await run([verb, '--json']);
  }

  expect(output.length).toBeGreaterThan(10_000);
  for (const spelling of SPELLINGS) expect(output).not.toContain(spelling);
  expect(await findText(fixture, ['parameter_invalid'], 'tables')).not.toEqual([]);
  expect(await findText(fixture, SPELLINGS)).toEqual([]);
});

it('a token in the wrong variable is not shown in the error', async () => {
  const { code, stderr } = await fixture.run(['sync'], { SAFETY_ACCOUNT: CANARY });
  expect(stderr).toContain('SAFETY_ACCOUNT: expected');
  for (const spelling of SPELLINGS) expect(stderr).not.toContain(spelling);
  expect(code).toBe(2);
});

it('the command line of a running process contains neither token nor password, and its database session no token', async () => {
  fixture.sandbox.faults.next(() => true, { kind: 'hang' });
  const running = fixture.cli.start(['sync', 'resources'], fixture.env);
  await expect.poll(() => fixture.sandbox.requests.some(({ fault }) => fault === 'hang')).toBe(true);
  const password = new URL(fixture.databaseUrl).password;
  if (existsSync(`/proc/${running.pid}/cmdline`)) {
    const title = await readFile(`/proc/${running.pid}/cmdline`, 'utf8');
    expect(title).toContain('main.js');
    expect(title).not.toContain('canary');
    if (password !== '') expect(title).not.toContain(password);
  }
  const sessions = await fixture.query<{ name: string; query: string }>(
    `select application_name as name, query from pg_stat_activity where datname = current_database()`,
  );
  expect(sessions.map(({ name }) => name)).toContain('safety-sync resources');
  expect(JSON.stringify(sessions)).not.toContain('canary');
  // A terminal that is closed stops a command as Ctrl-C does.
  running.kill('SIGHUP');
  expect(await running.finished).toMatchObject({ code: 1, signal: null });
  expect(await fixture.query('select error_code from safety_sync.runs order by run_id desc limit 1')).toEqual(
    [{ error_code: 'interrupted' }],
  );
});
