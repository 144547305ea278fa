/** `start`, `sync` and `sandbox` as long as they run: endpoints, schedules, signals, outages. */
import { describe, expect } from 'vitest';
import { openConnection } from '../../src/engine/database/connection.ts';
import type { RunRow } from '../../src/engine/control-tables/runs.ts';
import { parseLog, type RunningCli } from '../support/cli.ts';
import { type CliFixture, staged as it } from '../support/cli-fixture.ts';
import { createGate } from '../support/gate.ts';
import { inProof } from '../support/proof.ts';

const EVERY_SECOND = '* * * * * *';

async function baseUrl(worker: RunningCli): Promise<string> {
  const [, url = ''] = await worker.untilStderr(/status page (http:\/\/[^"\s]+)\//);
  return url;
}

const readRuns = (fixture: CliFixture) =>
  fixture.query<RunRow>('select * from safety_sync.runs order by run_id');

async function reasonsOf(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/readyz`);
  const { reasons } = (await answer.json()) as { reasons: string[] };
  expect(answer.status).toBe(reasons.length === 0 ? 200 : 503);
  return reasons;
}

/** Refuses new connections and ends the present ones. */
async function setDatabase(fixture: CliFixture, isOpen: boolean): Promise<void> {
  const url = new URL(fixture.databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const connection = openConnection({ url: url.href, applicationName: 'test', max: 1 });
  try {
    await connection.query(`alter database ${name} with allow_connections ${String(isOpen)}`);
    if (!isOpen) {
      await connection.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
      );
    }
  } finally {
    await connection.close();
  }
}

describe.concurrent('start', () => {
  it('the endpoints of start show metrics, status and page, accept only GET and HEAD, and show neither token nor password', async ({
    fixture,
    expect,
  }) => {
    const canary = 'canary-token-5d1f';
    fixture.sandbox.access.set('active', canary);
    const database = new URL(fixture.databaseUrl);
    // The test server accepts any password.
    if (database.password === '') database.password = 'canary-password-77aa';
    const secrets = [canary, decodeURIComponent(database.password)];
    const worker = fixture.start(['start'], {
      SAFETY_TOKEN: canary,
      DATABASE_URL: database.href,
      LOG_LEVEL: 'trace',
    });
    const url = await baseUrl(worker);
    await expect.poll(() => reasonsOf(url)).toEqual([]);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    // A second run where the schedule comes due at this moment.
    expect(metrics).toMatch(
      /^safety_sync_runs_total\{stream="followups",kind="sync",status="succeeded",account="default"\} [12]$/m,
    );
    expect(metrics).toContain(
      'safety_sync_rows_total{stream="resources",op="inserted",account="default"} 25',
    );
    expect(metrics).toMatch(/^safety_sync_database_up\{account="default"\} 1$/m);
    const status = await (await fetch(`${url}/api/status`)).text();
    expect(JSON.parse(status)).toMatchObject({ verdict: { sentence: 'Everything is fresh.' } });
    const page = await fetch(`${url}/`);
    const html = await page.text();
    expect(html).toContain('Everything is fresh.');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');

    const head = await fetch(`${url}/healthz`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(`${url}/`, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    for (const path of ['/nowhere', '/constructor', '/../package.json']) {
      expect((await fetch(`${url}${path}`)).status).toBe(404);
    }

    worker.kill('SIGTERM');
    const { code, stdout, stderr } = await worker.finished;
    expect([code, stdout]).toEqual([0, '']);
    expect(parseLog(stderr).at(-1)).toMatchObject({ msg: 'stopped' });
    const runs = await readRuns(fixture);
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
    expect(runs.every(({ trigger }) => trigger === 'schedule')).toBe(true);
    expect(parseLog(stderr)[0]).toMatchObject({ accounts: 1, api: { concurrency: 4 } });
    for (const secret of secrets)
      for (const output of [stderr, html, metrics, status]) expect(output).not.toContain(secret);
  });

  it('a SIGTERM while the service hangs ends the run as interrupted and the worker with 0', async ({
    fixture,
    expect,
  }) => {
    fixture.sandbox.faults.next(({ method }) => method === 'followups.list', { kind: 'hang' }, 100);
    const worker = fixture.cli.start(['start'], fixture.env);
    await expect.poll(() => fixture.sandbox.requests.filter(({ fault }) => fault === 'hang').length).toBe(1);
    const startedMs = performance.now();
    worker.kill('SIGTERM');
    expect(await worker.finished).toMatchObject({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    const runs = await readRuns(fixture);
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
    expect(runs.find(({ stream }) => stream === 'followups')).toMatchObject({
      status: 'failed',
      error_code: 'interrupted',
    });
  });

  inProof(() => {
    it('a SIGTERM while the database is away ends the worker before the pool connects again', async ({
      fixture,
      expect,
    }) => {
      const worker = fixture.start(['start'], { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/safety' });
      await worker.untilStderr(/started; status page/);
      const startedMs = performance.now();
      worker.kill('SIGTERM');
      expect((await worker.finished).code).toBe(0);
      expect(performance.now() - startedMs).toBeLessThan(3_500);
    });
  });

  inProof(() => {
    it('a worker waits for a database that is away at its start', async ({ fixture, expect }) => {
      await setDatabase(fixture, false);
      const worker = fixture.start(['start'], { SYNC_CRON: 'off', SYNC_CRON_RESOURCES: EVERY_SECOND });
      const url = await baseUrl(worker);
      await worker.untilStderr(/the database cannot be used/);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      // Health is polled during the run, so it may lag behind the log.
      await expect
        .poll(() => reasonsOf(url))
        .toEqual([
          expect.stringMatching(/^The database is unreachable \(database_unreachable\): PostgreSQL: /),
        ]);
      expect(await (await fetch(url)).text()).toContain('The database is unreachable');
      expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^safety_sync_database_up\{[^}]*\} 0$/m);
      await setDatabase(fixture, true);
      await worker.untilStderr(/the database is back after/);
      await expect.poll(() => reasonsOf(url)).toEqual([]);
      expect(parseLog(worker.stderr).filter(({ level }) => level === 50)).toHaveLength(1);
      worker.kill('SIGTERM');
      expect((await worker.finished).code).toBe(0);
    });

    it('two workers run a scheduled reconcile once: the second one finds it under way and skips it', async ({
      fixture,
      expect,
    }) => {
      const env = {
        ...fixture.env,
        ...{ SYNC_CRON: 'off', RECONCILE_CRON: '*/4 * * * * *', LOG_LEVEL: 'debug' },
      };
      const workers = [fixture.start(['start'], env), fixture.start(['start'], env)] as const;
      const untilOneSays = (line: RegExp) => Promise.race(workers.map((worker) => worker.untilStderr(line)));
      await untilOneSays(/resources reconcile: skipped, another run of this stream is under way/);
      await untilOneSays(/resources reconcile: succeeded/);
      for (const worker of workers) worker.kill('SIGTERM');
      for (const worker of workers) expect((await worker.finished).code).toBe(0);
      const runs = (await readRuns(fixture)).filter(({ stream }) => stream === 'resources');
      expect(runs.map(({ status }) => status)).not.toContain('skipped');
      expect(runs.find(({ status }) => status === 'succeeded')).toMatchObject({
        kind: 'reconcile',
        trigger: 'schedule',
      });
    });
  });
});

describe.concurrent('sync', () => {
  it('a second sync of a stream waits for the first, reports its run, and then finds no change', async ({
    fixture,
    expect,
  }) => {
    const held = createGate();
    const released = createGate();
    fixture.sandbox.hooks.beforeResponse = async () => {
      fixture.sandbox.hooks.beforeResponse = undefined;
      held.open();
      await released.opened;
    };
    const first = fixture.start(['sync', 'resources']);
    await held.opened;
    const second = fixture.start(['sync', 'resources']);
    await second.untilStderr(
      /resources: waiting for run \d+ \(sync, .* pid \d+\) to finish with this stream/,
    );
    released.open();
    expect((await first.finished).stdout).toMatch(/^resources +succeeded +25 +25 /m);
    const { code, stdout } = await second.finished;
    expect(stdout).toMatch(/^resources +succeeded +25 +0 +0 +0 /m);
    expect(code).toBe(0);
  });
});

describe.concurrent('sandbox', () => {
  it('sandbox prints only its environment variables on stdout, serves requests, and ends on SIGINT', async ({
    fixture,
    expect,
  }) => {
    const sandbox = fixture.start(['sandbox', '--port', '0', '--resources', '7', '--followups', '20']);
    await sandbox.untilStdout(/SAFETY_EQUIPMENT_TYPES=.*\n/);
    const lines = sandbox.stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split('=')[0])).toEqual([
      'SAFETY_BASE_URL',
      'SAFETY_TOKEN',
      'SAFETY_EQUIPMENT_TYPES',
    ]);
    const printed = Object.fromEntries(lines.map((line) => line.split('=') as [string, string]));
    const synced = await fixture.run(['sync', 'resources'], { ...printed });
    expect(synced.stdout).toMatch(/^resources +succeeded +7 +7 /m);
    await sandbox.untilStderr(/POST resources\.list \{\} ok/);

    const { port } = new URL(printed['SAFETY_BASE_URL'] ?? '');
    const second = await fixture.run(['sandbox', '--port', port]);
    expect(second.stderr).toMatch(/^usage_invalid: the sandbox cannot listen there: .*EADDRINUSE/);
    expect(second.code).toBe(2);

    sandbox.kill('SIGINT');
    expect(await sandbox.finished).toMatchObject({ code: 0, signal: null });
    expect(sandbox.stdout.trimEnd().split('\n')).toHaveLength(3);
  });
});
