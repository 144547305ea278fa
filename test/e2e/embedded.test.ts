import { existsSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { createGate } from '../support/gate.ts';
import { forAllTests } from '../support/lifetime.ts';
import { inProof } from '../support/proof.ts';

const fixture = forAllTests(() => createCliFixture());
const env = () => ({ ...fixture.env, DATABASE_URL: undefined });

const isServing = () =>
  existsSync(join(fixture.cli.directory, '.data', 'postgres', 'cluster', 'data', 'postmaster.pid'));

it('two commands share the embedded server, the last one stops it, and stored rows are kept', async () => {
  expect((await fixture.cli.run(['sync', 'resources'], env())).code).toBe(0);
  const held = createGate();
  const released = createGate();
  fixture.sandbox.hooks.beforeResponse = async () => {
    held.open();
    await released.opened;
  };
  const sync = fixture.cli.start(['sync', 'resources'], { ...env(), LOG_LEVEL: 'warn', CI: 'true' });
  await held.opened;
  const status = await fixture.cli.run(['status'], env());
  expect(status.stderr).toContain('(already running)');
  expect(status.stdout).toMatch(/^resources +fresh .* 25 +0 +0 /m);
  expect(isServing()).toBe(true);
  released.open();
  const { code, stdout, stderr } = await sync.finished;
  const dataDir = join(realpathSync(fixture.cli.directory), '.data', 'postgres');
  expect(stderr).toBe(`DATABASE_URL is not set: using the embedded PostgreSQL in ${dataDir} (started)\n`);
  expect(stdout).toMatch(/^resources +succeeded +25 +0 /m);
  expect(code).toBe(0);
  expect(isServing()).toBe(false);
});

inProof(() => {
  it('the demo needs no configuration, shows two syncs and a few answers, and leaves no server running', async () => {
    const { code, stdout, stderr } = await fixture.cli.run(['demo']);
    expect(stdout).toMatch(/^ {2}followups +succeeded +2,001 +2,000 /m);
    expect(stdout.match(/^ {2}training-employee-status +succeeded /gm)).toHaveLength(2);
    expect(stdout).toMatch(/^ {2}Overdue follow-ups +\d/m);
    expect(stdout).toMatch(/^Done in /m);
    expect(stdout).toMatch(/^ {2}while this runs: psql 'postgres:\/\/safety_sync:/m);
    expect(stdout).not.toMatch(/[ \t]$/m);
    const report = join(realpathSync(fixture.cli.directory), '.data', 'safety-report.html');
    expect(stdout).toContain(`  ${report}\n`);
    const page = await readFile(report, 'utf8');
    expect(page).toContain('<h1>Northline Yards (demo)</h1>');
    expect(page).toContain('<a href="safety-report.xlsx">workbook</a>');
    expect(page).not.toMatch(/<code>safety-sync/);
    expect(existsSync(report.replace('.html', '.xlsx'))).toBe(true);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(isServing()).toBe(false);
  });

  it('Ctrl-C ends the demo with 1 and stops its server', async () => {
    const demo = fixture.cli.start(['demo']);
    await demo.untilStdout(/^safety-sync demo/);
    demo.kill('SIGINT');
    const { code, stdout, stderr } = await demo.finished;
    expect(stderr).toBe(
      'interrupted: the demo was stopped\nThe run was stopped by a signal; run again when it suits.\n',
    );
    expect(stdout).not.toContain('What the warehouse can answer');
    expect(code).toBe(1);
    expect(isServing()).toBe(false);
  });

  it('demo --serve keeps worker, sandbox and database running until a signal, and a second demo is refused', async () => {
    const demo = fixture.cli.start(['demo', '--serve'], { HTTP_PORT: '0' });
    const [, url = ''] = await demo.untilStderr(/health at (http:\/\/[^"\s]+\/healthz)/);
    expect((await fetch(url)).status).toBe(200);
    expect(await demo.untilStdout(/http:\/\/127\.0\.0\.1:\d+\/ +the worker's status page/)).not.toBeNull();
    expect(demo.stdout).toMatch(
      /psql 'postgres:\/\/safety_sync:[0-9a-f]+@127\.0\.0\.1:\d+\/safety_sync_demo'/,
    );
    expect(isServing()).toBe(true);
    const second = await fixture.cli.run(['demo']);
    expect(second.stderr).toMatch(/^usage_invalid: another demo runs in .*: stop it first/);
    expect(second.code).toBe(2);
    demo.kill('SIGTERM');
    expect((await demo.finished).code).toBe(0);
    expect(isServing()).toBe(false);
  });
});
