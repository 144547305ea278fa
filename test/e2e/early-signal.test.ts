import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { BINARY } from '../support/built-cli.ts';
import { parseLog } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { inProof } from '../support/proof.ts';
import { connectForTest } from '../support/test-database.ts';

/** Runs in a separate process namespace as process 1, as in a container. */
const AS_PROCESS_ONE = ['--pid', '--fork', '--kill-child'];
const canBeProcessOne = spawnSync('unshare', [...AS_PROCESS_ONE, 'true']).status === 0;

const fixture = forEachTest(() => createCliFixture());
let env: NodeJS.ProcessEnv;

/** Sends a SIGTERM as soon as a statement of the command waits for a lock that outlasts the test. */
async function stopWhileBlocked(table: string, args: readonly string[]) {
  const blocker = connectForTest(fixture.databaseUrl);
  await blocker.query('begin');
  await blocker.query(`lock table ${table}`);
  const program = fixture.cli.start(args, fixture.env);
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'safety-sync%'
      and datname = current_database() and query_start < clock_timestamp() - interval '1 second'`;
  await expect.poll(() => fixture.query(waiting)).not.toEqual([]);
  const startedMs = performance.now();
  program.kill('SIGTERM');
  const { code, stderr } = await program.finished;
  expect(await fixture.query(waiting)).toEqual([]);
  return { code, stderr, tookMs: performance.now() - startedMs };
}

beforeEach(async () => {
  // Sends the signal when node is about to load the first module after main.js, before any of it runs or prints.
  const hook = join(fixture.cli.directory, 'signal.mjs');
  await writeFile(
    hook,
    `import { register } from 'node:module';
     register('data:text/javascript,' + encodeURIComponent(\`
       let isSent = false;
       export async function resolve(specifier, context, next) {
         const isOfMain = specifier.startsWith('./') && context.parentURL?.endsWith('/main.js');
         if (isOfMain && !isSent) process.kill(process.pid, 'SIGTERM');
         isSent ||= isOfMain;
         return await next(specifier, context);
       }\`));`,
  );
  env = { PATH: process.env['PATH'], ...fixture.env, NODE_OPTIONS: `--import=${hook}` };
});

async function endOf(command: string, args: readonly string[]) {
  const child = spawn(command, args, { cwd: fixture.cli.directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const { exitCode, signalCode } = child;
  return { code: exitCode, signal: signalCode, log: parseLog(stderr).map(({ msg }) => msg) };
}

inProof(() => {
  describe('a SIGTERM during a statement', () => {
    it('a SIGTERM during a statement ends start with 0, its run as interrupted, its statement and its lock', async () => {
      const { code, tookMs } = await stopWhileBlocked('safety.resources', ['start']);
      expect(code).toBe(0);
      expect(tookMs).toBeLessThan(7000);
      const runs = `select status, error_code from safety_sync.runs where stream = 'resources'`;
      expect(await fixture.query(runs)).toEqual([{ status: 'failed', error_code: 'interrupted' }]);
      const locks = `select from pg_locks join pg_database d on d.oid = database
        where locktype = 'advisory' and datname = current_database()`;
      await expect.poll(() => fixture.query(locks)).toEqual([]);
    });

    const verbs: [table: string, args: string[]][] = [
      ['safety_sync.runs', ['status']],
      ['safety.labels', ['labels', 'import', 'labels.csv']],
      ['safety.users', ['report']],
    ];
    it.each(verbs)(
      'a SIGTERM during a statement on %s ends %s, which runs no stream',
      async (table, args) => {
        await writeFile(join(fixture.cli.directory, 'labels.csv'), 'kind,id,label\nform,1,One\n');
        const { code, stderr, tookMs } = await stopWhileBlocked(table, args);
        expect(code).toBe(1);
        expect(stderr).toContain('interrupted: a statement was cancelled because a stop was requested');
        expect(tookMs).toBeLessThan(7000);
      },
    );
  });
});

describe('a SIGTERM while the program loads', () => {
  const clean = {
    code: 0,
    signal: null,
    log: [
      expect.stringMatching(/^safety-sync \S+ is starting$/),
      expect.stringMatching(/ started; status page /),
      'stopping by SIGTERM: runs under way are ended, nothing is half stored',
      'stopped',
    ],
  };

  it.runIf(canBeProcessOne)(
    'a SIGTERM while the program loads ends a worker that is process 1, as in a container, with 0',
    async () => {
      expect(await endOf('unshare', [...AS_PROCESS_ONE, process.execPath, BINARY, 'start'])).toEqual(clean);
      expect(fixture.sandbox.requests).toEqual([]);
    },
  );
});

it('a second signal ends a sync at once, and the next sync closes the open run', async () => {
  fixture.sandbox.faults.next(() => true, { kind: 'hang' });
  const running = fixture.cli.start(['sync', 'resources'], fixture.env);
  await expect
    .poll(() => fixture.sandbox.requests.filter(({ fault }) => fault === 'hang').length, { timeout: 45_000 })
    .toBe(1);
  // The ledger of runs is locked, so the first signal has no effect yet.
  const blocker = connectForTest(fixture.databaseUrl);
  await blocker.query('begin');
  await blocker.query('lock table safety_sync.runs');
  running.kill('SIGINT');
  const waiting = `select from pg_locks where not granted and relation = 'safety_sync.runs'::regclass`;
  await expect.poll(() => fixture.query(waiting), { timeout: 45_000 }).toHaveLength(1);
  running.kill('SIGINT');
  expect(await running.finished).toMatchObject({ code: 130 });
  await blocker.query('rollback');
  const runs = () => fixture.query('select status, error_code from safety_sync.runs order by run_id');
  expect(await runs()).toMatchObject([{ status: 'running' }]);
  const next = await fixture.run(['sync', 'resources']);
  expect(next.stderr).toContain('resources: closed 1 run(s) that were left open');
  expect(next.code).toBe(0);
  expect(await runs()).toEqual([
    { status: 'failed', error_code: 'worker_died' },
    { status: 'succeeded', error_code: null },
  ]);
});
