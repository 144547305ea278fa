import { describe, expect } from 'vitest';
import { openConnection } from '../../src/engine/database/connection.ts';
import type { RunRow } from '../../src/engine/control-tables/runs.ts';
import { parseLog, type RunningCli } from '../support/cli.ts';
import { type CliStage, staged as it } from '../support/cli-stage.ts';
import { createGate } from '../support/gate.ts';
import { inProof } from '../support/proof.ts';

const EVERY_SECOND = '* * * * * *';
const TIMEOUT = { timeout: 45_000, interval: 50 };

async function baseUrl(worker: RunningCli): Promise<string> {
  const [, url = ''] = await worker.untilStderr(/status page (http:\/\/[^"\s]+)\//);
  return url;
}

async function readRuns(stage: CliStage): Promise<RunRow[]> {
  return await stage.query('select * from safety_sync.runs order by run_id');
}

async function reasonsOf(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/readyz`);
  const { reasons } = (await answer.json()) as { reasons: string[] };
  expect(answer.status).toBe(reasons.length === 0 ? 200 : 503);
  return reasons;
}

const errorsOf = (worker: RunningCli) => parseLog(worker.stderr).filter(({ level }) => level === 50);

/** Refuses new connections and ends the present ones. */
async function setDatabase(stage: CliStage, isOpen: boolean): Promise<void> {
  const url = new URL(stage.databaseUrl);
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

describe.concurrent('the endpoints of start', () => {
  it('the endpoints of start show metrics, status and page, accept only GET and HEAD, and show neither token nor password', async ({
    stage,
    expect,
  }) => {
    const canary = 'canary-token-5d1f';
    stage.sandbox.access.set('active', canary);
    const database = new URL(stage.databaseUrl);
    // The test server accepts any password.
    const password = 'canary-password-77aa';
    if (database.password === '') database.password = password;
    const secrets = [canary, decodeURIComponent(database.password)];
    const worker = stage.start(['start'], {
      SAFETY_TOKEN: canary,
      DATABASE_URL: database.href,
      LOG_LEVEL: 'trace',
    });
    const url = await baseUrl(worker);
    await expect.poll(() => reasonsOf(url), TIMEOUT).toEqual([]);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    // A second run where the schedule comes due at this moment.
    expect(metrics).toMatch(
      /^safety_sync_runs_total\{stream="followups",kind="sync",status="succeeded",account="default"\} [12]$/m,
    );
    expect(metrics).toContain(
      'safety_sync_rows_total{stream="resources",op="inserted",account="default"} 25',
    );
    expect(metrics).toMatch(/^safety_sync_database_up\{account="default"\} 1$/m);
    const status = (await (await fetch(`${url}/api/status`)).json()) as { verdict: { sentence: string } };
    expect(status.verdict.sentence).toBe('Everything is fresh.');
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
    const { stderr } = await worker.finished;
    expect(parseLog(stderr)[0]).toMatchObject({
      account_id: 'default',
      timezone: 'UTC',
      reconcile: '30 2 * * 0',
    });
    for (const secret of secrets) {
      for (const output of [stderr, html, metrics, JSON.stringify(status)])
        expect(output).not.toContain(secret);
    }
  });
});

describe.concurrent('an outage', { timeout: 120_000 }, () => {
  it('an outage of the service is logged as one error, shown on the page, and ends with one log line', async ({
    stage,
    expect,
  }) => {
    const schedule = { SYNC_CRON: 'off', SYNC_CRON_RESOURCES: EVERY_SECOND, RETRY_ATTEMPTS: '0' };
    const worker = stage.start(['start'], { ...schedule });
    const url = await baseUrl(worker);
    await worker.untilStderr(/resources: succeeded/);
    stage.sandbox.faults.set({ reset: 1 });
    await worker.untilStderr(/the service cannot be used \(network_error/);
    await expect
      .poll(async () => (await readRuns(stage)).filter(({ status }) => status === 'failed').length, TIMEOUT)
      .toBeGreaterThanOrEqual(3);
    expect(await (await fetch(url)).text()).toContain('The service has been unavailable for');
    stage.sandbox.faults.clear();
    await worker.untilStderr(/the service is back after .*; \d+ runs failed meanwhile/);
    expect(errorsOf(worker)).toHaveLength(1);
    expect(worker.stderr).not.toMatch(/resources: failed/);
    worker.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });

  inProof(() => {
    it('a worker waits for a database that is away at its start, and survives a later outage', async ({
      stage,
      expect,
    }) => {
      await setDatabase(stage, false);
      const schedule = { SYNC_CRON: 'off', SYNC_CRON_RESOURCES: EVERY_SECOND };
      const worker = stage.start(['start'], { ...schedule });
      const url = await baseUrl(worker);
      await worker.untilStderr(/the database cannot be used/);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      // Health is polled during the run, so it may lag behind the log.
      await expect
        .poll(() => reasonsOf(url))
        .toEqual([expect.stringMatching(/^the database is unreachable: PostgreSQL: /)]);
      expect(await (await fetch(url)).text()).toContain('The database is unreachable.');
      await setDatabase(stage, true);
      await worker.untilStderr(/the database is back after/);
      await expect.poll(() => reasonsOf(url), TIMEOUT).toEqual([]);

      await setDatabase(stage, false);
      await worker.untilStderr(/the database is back after[^]*the database cannot be used/);
      await expect
        .poll(() => reasonsOf(url), TIMEOUT)
        .toEqual([expect.stringMatching(/^the database is unreachable/)]);
      expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^safety_sync_database_up\{[^}]*\} 0$/m);
      await setDatabase(stage, true);
      await worker.untilStderr(/is back after[^]*is back after[^]*resources: succeeded/);
      await expect.poll(() => reasonsOf(url), TIMEOUT).toEqual([]);
      expect(errorsOf(worker)).toHaveLength(2);
      worker.kill('SIGTERM');
      expect((await worker.finished).code).toBe(0);
    });
  });
});

describe.concurrent('a SIGTERM', () => {
  it('a SIGTERM while the service hangs ends the run as interrupted and the worker with 0', async ({
    stage,
    expect,
  }) => {
    stage.sandbox.faults.next(({ method }) => method === 'followups.list', { kind: 'hang' }, 100);
    const worker = stage.cli.start(['start'], stage.env);
    await expect.poll(() => stage.sandbox.faults.counts.hang, TIMEOUT).toBe(1);
    const startedMs = performance.now();
    worker.kill('SIGTERM');
    expect(await worker.finished).toMatchObject({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    const runs = await readRuns(stage);
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
    expect(runs.find(({ stream }) => stream === 'followups')).toMatchObject({
      status: 'failed',
      error_code: 'interrupted',
    });
  });

  it('a SIGTERM while the database is away ends the worker before the pool connects again', async ({
    stage,
    expect,
  }) => {
    const worker = stage.start(['start'], { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/safety' });
    await worker.untilStderr(/started; status page/);
    const startedMs = performance.now();
    worker.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(3_500);
  });
});

describe.concurrent('two workers', () => {
  it('two workers never run one stream at the same time, and both end with 0', async ({ stage, expect }) => {
    const running = new Map<string, number>();
    let most = 0;
    const bothAsked = createGate();
    stage.sandbox.hooks.beforeResponse = async ({ method }) => {
      running.set(method, (running.get(method) ?? 0) + 1);
      if (method === 'resources.list') {
        most = Math.max(most, running.get(method) ?? 0);
        await bothAsked.opened;
      }
      running.set(method, (running.get(method) ?? 1) - 1);
    };
    const env = { ...stage.env, LOG_LEVEL: 'debug', SYNC_CRON: 'off', SYNC_CRON_RESOURCES: EVERY_SECOND };
    const workers = [stage.cli.start(['start'], env), stage.start(['start'], env)] as const;
    // One worker holds the stream in the middle of a request; the ticks of the other one find it locked.
    await expect
      .poll(() => workers.some(({ stderr }) => /resources: skipped, another run/.test(stderr)), TIMEOUT)
      .toBe(true);
    bothAsked.open();
    await expect
      .poll(
        async () => (await readRuns(stage)).filter(({ status }) => status === 'succeeded').length,
        TIMEOUT,
      )
      .toBeGreaterThan(2);
    for (const worker of workers) worker.kill('SIGTERM');
    for (const worker of workers) expect((await worker.finished).code).toBe(0);
    expect(most).toBe(1);
    expect((await readRuns(stage)).filter(({ status }) => status === 'running')).toEqual([]);
  });

  inProof(() => {
    it('two workers run a scheduled reconcile once: the second one waits for the lock and then skips it', async ({
      stage,
      expect,
    }) => {
      const env = { ...stage.env, SYNC_CRON: 'off', RECONCILE_CRON: '*/4 * * * * *' };
      const workers = [stage.start(['start'], env), stage.start(['start'], env)] as const;
      await expect
        .poll(
          async () =>
            (await readRuns(stage)).filter(
              ({ stream, status }) => stream === 'resources' && status === 'skipped',
            ).length,
          TIMEOUT,
        )
        .toBeGreaterThan(0);
      for (const worker of workers) worker.kill('SIGTERM');
      for (const worker of workers) expect((await worker.finished).code).toBe(0);
      const runs = (await readRuns(stage)).filter(({ stream }) => stream === 'resources');
      expect(runs.find(({ status }) => status === 'succeeded')).toMatchObject({
        kind: 'reconcile',
        trigger: 'schedule',
      });
      expect(runs.find(({ status }) => status === 'skipped')).toMatchObject({
        kind: 'reconcile',
        note: 'another worker has done this reconcile',
      });
    });
  });
});
