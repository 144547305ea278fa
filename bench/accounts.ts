/**
 * A hundred accounts in one worker: how long the first read of all of them takes, and what the worker costs while nothing
 * changes. The worker and its service are processes, as their users start them. `npm run bench:accounts [-- 100]`, with
 * DATABASE_URL for a server on which it may create databases; default: the embedded one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './support/database.ts';
import { withService } from './support/fixture.ts';
import { PROGRAM } from './support/processes.ts';
import { processorSeconds } from './support/processor-time.ts';

const SIZE = { followups: 200, employees: 20, equipment: 20, resources: 25, users: 20 };
const STREAMS = 4;
const WATCHED_MS = 60_000;
const LOOK_MS = 500;

const count = Number(process.argv[2] ?? 100);
const say = (what: string, value: string) => process.stdout.write(`${what.padEnd(48)} ${value}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const folder = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
const server = await startServer();
const warehouse = await server.createWarehouse();

async function measure(service: Readonly<Record<string, string>>): Promise<void> {
  const accounts = Array.from({ length: count }, (_, index) => ({
    name: `account-${index}`,
    base_url: service['SAFETY_BASE_URL'],
    token: service['SAFETY_TOKEN'],
  }));
  const path = join(folder, 'accounts.json');
  await writeFile(path, JSON.stringify(accounts), { mode: 0o600 });
  const begunMs = performance.now();
  const worker = spawn(process.execPath, [PROGRAM, 'start'], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      SAFETY_ACCOUNTS_FILE: path,
      DATABASE_URL: warehouse.url,
      HTTP_PORT: '0',
      SYNC_CRON: '* * * * *',
    },
  });
  const pid = worker.pid ?? 0;
  const wellRead = `select count(*)::int as streams from safety_sync.stream_state where last_success_at is not null
    and stream in ('resources', 'followups', 'equipments', 'training-employee-status')`;
  for (let streams = 0; streams < count * STREAMS;) {
    await pause(LOOK_MS);
    if (worker.exitCode !== null) throw new Error(`start ended with ${worker.exitCode}`);
    [{ streams } = { streams: 0 }] = await warehouse.connection.query<{ streams: number }>(wellRead);
  }
  say(`first read of ${count} accounts`, `${((performance.now() - begunMs) / 1000).toFixed(0)} s`);
  const before = (await processorSeconds(pid)) ?? NaN;
  await pause(WATCHED_MS);
  const seconds = ((await processorSeconds(pid)) ?? NaN) - before;
  say('processor time in a minute with a tick', `${seconds.toFixed(1)} s`);
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]);
  say('most memory of the worker', `${(kilobytes / 1024).toFixed(0)} MB`);
  const stoppedMs = performance.now();
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  say('time to stop', `${((performance.now() - stoppedMs) / 1000).toFixed(1)} s`);
}

try {
  await withService({ size: SIZE }, (service) => measure(service.env));
} finally {
  await warehouse.drop();
  await server.close();
  await rm(folder, { recursive: true, force: true });
}
