import { sql } from 'drizzle-orm';
import { describe } from 'vitest';
import { openConnection } from '../../src/engine/database/connection.ts';
import type { RunRow } from '../../src/engine/control-tables/runs.ts';
import { parseLog, type RunningCli } from '../support/cli.ts';
import { type CliStage, staged as it } from '../support/cli-stage.ts';
import { createGate } from '../support/gate.ts';

const EVERY_SECOND = '* * * * * *';

async function readRuns(
  stage: CliStage,
): Promise<Pick<RunRow, 'stream' | 'status' | 'trigger' | 'error_code' | 'note'>[]> {
  return await stage.query(
    'select stream, status, trigger, error_code, note from safety_sync.runs order by run_id',
  );
}

/** Resolves when the service has received a request, which it answers only after `release`. */
function holdFirstResponse(stage: CliStage): { held: Promise<void>; release: () => void } {
  const held = createGate();
  const released = createGate();
  stage.sandbox.hooks.beforeResponse = async () => {
    stage.sandbox.hooks.beforeResponse = undefined;
    held.open();
    await released.opened;
  };
  return { held: held.opened, release: () => released.open() };
}

async function healthUrl(worker: RunningCli): Promise<string> {
  const [, url = ''] = await worker.untilStderr(/health at (http:\/\/[^"\s]+\/healthz)/);
  return url;
}

describe.concurrent('start', () => {
  it('start syncs on schedule and is healthy, and a SIGTERM ends it with 0 and no open run', async ({
    stage,
    expect,
  }) => {
    const worker = stage.cli.start(['start'], { ...stage.env, SYNC_CRON: EVERY_SECOND });
    const answer = await fetch(await healthUrl(worker));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: 'ok' });
    await worker.untilStderr(/users: succeeded/);
    // A second tick has processed the results of the first one.
    await worker.untilStderr(/resources: succeeded, 25 read in/);
    worker.kill('SIGTERM');
    const { code, stdout, stderr } = await worker.finished;
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(parseLog(stderr).at(-1)).toMatchObject({ msg: 'stopped' });
    const runs = await readRuns(stage);
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
    expect(runs.every(({ trigger }) => trigger === 'schedule')).toBe(true);
  });

  it('start reports the variables to set if its port is in use', async ({ stage, expect }) => {
    const { port } = new URL(stage.sandbox.url);
    const { code, stderr } = await stage.run(['start'], { HTTP_PORT: port });
    expect(stderr).toMatch(
      /configuration_invalid: cannot serve HTTP on .*EADDRINUSE.*set HTTP_HOST and HTTP_PORT/,
    );
    // The log begins with the identity of the process, before any failure.
    expect(parseLog(stderr).map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^safety-sync \S+ is starting$/),
    ]);
    expect(code).toBe(2);
  });
});

describe.concurrent('sync', () => {
  it('a SIGINT while the service hangs closes the run as interrupted, and the next sync reads everything', async ({
    stage,
    expect,
  }) => {
    stage.sandbox.faults.next(() => true, { kind: 'hang' });
    const running = stage.cli.start(['sync', 'followups'], stage.env);
    await expect.poll(() => stage.sandbox.faults.counts.hang, { timeout: 45_000 }).toBe(1);
    running.kill('SIGINT');
    const { code, stdout } = await running.finished;
    expect(stdout).toMatch(/^interrupted: The run was stopped by a signal/m);
    expect(code).toBe(1);
    expect(await readRuns(stage)).toMatchObject([{ status: 'failed', error_code: 'interrupted' }]);
    const next = await stage.run(['sync', 'followups']);
    expect(next.stdout).toMatch(/^followups +succeeded +130 +130 /m);
  });

  it('a second sync of a stream waits for the first, reports its run, and then finds no change', async ({
    stage,
    expect,
  }) => {
    const { held, release } = holdFirstResponse(stage);
    const first = stage.start(['sync', 'resources']);
    await held;
    const second = stage.start(['sync', 'resources']);
    await second.untilStderr(
      /resources: waiting for run \d+ \(sync, .* pid \d+\) to finish with this stream/,
    );
    release();
    expect((await first.finished).stdout).toMatch(/^resources +succeeded +25 +25 /m);
    const { code, stdout } = await second.finished;
    expect(stdout).toMatch(/^resources +succeeded +25 +0 +0 +25 /m);
    expect(code).toBe(0);
  });

  it('a second signal ends a sync at once, and the next sync closes the open run', async ({
    stage,
    expect,
  }) => {
    const connection = openConnection({ url: stage.databaseUrl, applicationName: 'test', max: 1 });
    const locked = createGate();
    const unlock = createGate();
    const { held, release } = holdFirstResponse(stage);
    const running = stage.cli.start(['sync', 'resources'], stage.env);
    await held;
    // The ledger of runs is locked, so the first signal has no effect yet.
    const holding = connection.db.transaction(async (tx) => {
      await tx.execute(sql`lock table safety_sync.runs in access exclusive mode`);
      locked.open();
      await unlock.opened;
    });
    try {
      await locked.opened;
      running.kill('SIGINT');
      await expect
        .poll(
          () =>
            stage.query(
              `select from pg_locks l join pg_database d on d.oid = l.database where not granted and datname = current_database() and relation = 'safety_sync.runs'::regclass`,
            ),
          { timeout: 45_000 },
        )
        .toHaveLength(1);
      running.kill('SIGINT');
      expect(await running.finished).toMatchObject({ code: 130 });
    } finally {
      release();
      unlock.open();
      await holding;
      await connection.close();
    }
    expect(await readRuns(stage)).toMatchObject([{ status: 'running' }]);
    const next = await stage.run(['sync', 'resources']);
    expect(next.stderr).toContain('resources: closed 1 run(s) that were left open');
    expect(next.code).toBe(0);
    expect(await readRuns(stage)).toMatchObject([
      { status: 'failed', error_code: 'worker_died' },
      { status: 'succeeded', error_code: null },
    ]);
  });
});

describe.concurrent('sandbox', () => {
  it('sandbox prints only its environment variables on stdout, serves requests, and ends on SIGINT', async ({
    stage,
    expect,
  }) => {
    const sandbox = stage.start(['sandbox', '--port', '0', '--resources', '7', '--followups', '20']);
    await sandbox.untilStdout(/SAFETY_EQUIPMENT_TYPES=.*\n/);
    const lines = sandbox.stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split('=')[0])).toEqual([
      'SAFETY_BASE_URL',
      'SAFETY_TOKEN',
      'SAFETY_EQUIPMENT_TYPES',
    ]);
    const exports = lines.map((line) => `export ${line}\n`).join('');
    await sandbox.untilStderr(/To use it, in another shell:/);
    expect(sandbox.stderr).toContain(`To use it, in another shell:\n${exports}`);
    const printed = Object.fromEntries(lines.map((line) => line.split('=') as [string, string]));
    const synced = await stage.run(['sync', 'resources'], { ...printed });
    expect(synced.stdout).toMatch(/^resources +succeeded +7 +7 /m);
    await sandbox.untilStderr(/POST resources\.list \{\} ok/);

    const { port } = new URL(printed['SAFETY_BASE_URL'] ?? '');
    const second = await stage.run(['sandbox', '--port', port]);
    expect(second.stderr).toMatch(/^usage_invalid: the sandbox cannot listen there: .*EADDRINUSE/);
    expect(second.code).toBe(2);

    sandbox.kill('SIGINT');
    expect(await sandbox.finished).toMatchObject({ code: 0, signal: null });
    expect(sandbox.stdout.trimEnd().split('\n')).toHaveLength(3);
  });
});
