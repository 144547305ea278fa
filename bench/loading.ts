/**
 * The cost of loading many accounts at once, on one PostgreSQL and on Citus, each beside the floor of the same run: as many
 * sessions that `COPY` the same rows at once into tables that have nothing but their primary keys.
 *
 *   npm run bench:loading [-- --accounts 2,8,32 --followups 2000 --rounds 3 --workers 2]
 *
 * Needs the built program. DATABASE_URL: a server on which databases may be created; else the embedded one. TEST_CITUS_URL: the
 * coordinator of a Citus cluster, as for the tests; without it only the one PostgreSQL is measured. Both should have the same
 * settings, fsync above all. Each worker and each worker's service is a process of its own. The table has medians, s.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pc from 'picocolors';
import { renderRows } from '../src/cli/table.ts';
import { startServer, type Warehouse } from './support/database.ts';
import { measureSharedFloor, median } from './support/floor.ts';
import type { Loaded } from './support/load-accounts.ts';
import { startService } from './support/processes.ts';

const { values: flags } = parseArgs({
  options: {
    accounts: { type: 'string', default: '2,8,32' },
    followups: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    workers: { type: 'string', default: '2' },
  },
});

const TABLES = ['followups', 'followup_messages', 'followup_attachments'];
const LOADER = fileURLToPath(new URL('support/load-accounts.ts', import.meta.url));

/** Some accounts of a measurement, with the service that they are loaded from. */
async function startLoader(url: string, names: readonly string[]) {
  const service = await startService({ size: { followups: Number(flags.followups), users: 50 } });
  const folder = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
  const path = join(folder, 'accounts.json');
  const { SAFETY_BASE_URL, SAFETY_TOKEN, SAFETY_EQUIPMENT_TYPES } = service.env;
  const equipmentTypes = SAFETY_EQUIPMENT_TYPES?.split(',');
  await writeFile(
    path,
    JSON.stringify(
      names.map((name) => ({
        name,
        base_url: SAFETY_BASE_URL,
        token: SAFETY_TOKEN,
        equipment_types: equipmentTypes,
      })),
    ),
  );
  const child = fork(LOADER, {
    env: {
      PATH: process.env['PATH'],
      SAFETY_ACCOUNTS_FILE: path,
      DATABASE_URL: url,
      LOG_LEVEL: 'error',
    },
  });
  await once(child, 'message');
  return {
    async load(): Promise<number> {
      child.send('load');
      const [told] = (await once(child, 'message')) as [Loaded];
      return told.records;
    },
    async close() {
      child.kill();
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Measured {
  readonly seconds: number;
  readonly floorSeconds: number;
  readonly rows: number;
}

async function measure(warehouse: Warehouse, accounts: number): Promise<Measured> {
  const names = Array.from({ length: accounts }, (_, index) => `account-${index}`);
  const workers = Math.min(Number(flags.workers), accounts);
  const loaders = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      startLoader(
        warehouse.url,
        names.filter((__, index) => index % workers === worker),
      ),
    ),
  );
  try {
    const startedMs = performance.now();
    const records = await Promise.all(loaders.map((loader) => loader.load()));
    const seconds = (performance.now() - startedMs) / 1000;
    const loaded = records.reduce((sum, one) => sum + one, 0);
    if (loaded !== accounts * Number(flags.followups)) throw new Error(`${loaded} follow-ups were loaded`);
    const floor = await measureSharedFloor(warehouse, { tables: TABLES, accounts: names });
    return { seconds, floorSeconds: floor.seconds, rows: floor.rows };
  } finally {
    for (const loader of loaders) await loader.close();
  }
}

const coordinator = process.env['TEST_CITUS_URL'] ?? '';
const servers = [await startServer(), ...(coordinator === '' ? [] : [await startServer(coordinator)])];
try {
  const lines: string[][] = [];
  for (const accounts of flags.accounts.split(',').map(Number)) {
    const rounds: Measured[][] = servers.map(() => []);
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      for (const [position, server] of servers.entries()) {
        const warehouse = await server.createWarehouse();
        const measured = await measure(warehouse, accounts).finally(() => warehouse.drop());
        rounds[position]?.push(measured);
        process.stdout.write(`${JSON.stringify({ on: server.description, accounts, ...measured })}\n`);
      }
    }
    const cells = rounds.flatMap((some) => {
      const [seconds, floor] = [
        median(some.map((one) => one.seconds)),
        median(some.map((one) => one.floorSeconds)),
      ];
      return [seconds.toFixed(1), floor.toFixed(1), (floor / seconds).toFixed(2)];
    });
    lines.push([
      String(accounts),
      Math.round(median(rounds.flat().map((one) => one.rows))).toLocaleString('en-US'),
      ...cells,
    ]);
  }
  const titles = [
    'accounts',
    'rows',
    ...servers.flatMap((_, on) => [on === 0 ? 'plain' : 'Citus', 'floor', 'ratio']),
  ];
  const columns = titles.map(
    (title, at) => ({ title, align: 'right', cellOf: (line: readonly string[]) => line[at] ?? '' }) as const,
  );
  process.stderr.write(
    `${renderRows(lines, columns, { colors: pc.createColors(false) })}\n${servers.map(({ description }) => description).join('; ')}; ${availableParallelism()} cores for all of it, Node ${process.versions.node}\n`,
  );
} finally {
  for (const server of servers) await server.close();
}
