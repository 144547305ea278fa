/**
 * Two workers on a fast schedule with a changing source, outages of the service and the database, stops and a manual
 * backfill. Run with `npm run soak -- --minutes 15`; `--plot FILE` draws their memory.
 */
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../../src/shared/time.ts';
import { type RunningCli } from '../support/cli.ts';
import { type CliFixture, createCliFixture } from '../support/cli-fixture.ts';
import { createRandom } from '../support/seeded-random.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { openConnection } from '../../src/engine/database/connection.ts';
import { type MemorySample, renderMemory, residentBytes } from './memory-plot.ts';

const { SOAK_MINUTES = '0', SOAK_SEED = '1', SOAK_PLOT } = process.env;
const EVERY_TWO_SECONDS = '*/2 * * * * *';
const REPLICAS = 2;
const SAMPLE_MS = 5 * SECOND_MS;
const MEGA = 1e6;
const SIZE = { followups: 2_000, employees: 200, equipment: 300, resources: 100, users: 60 };
/** Limits that the documentation promises. */
const MOST_MEGABYTES = 256;

interface Replica {
  readonly number: number;
  worker: RunningCli;
  bornMs: number;
}

const say = (line: string): void => void process.stdout.write(`soak: ${line}\n`);

function startReplica(fixture: CliFixture, number: number): Replica {
  const worker = fixture.cli.start(['start'], {
    ...fixture.env,
    SYNC_CRON: EVERY_TWO_SECONDS,
    RECONCILE_CRON: '17 * * * * *',
    REQUEST_TIMEOUT_MS: '3000',
    RETRY_MAX_DELAY_MS: '500',
    LOG_LEVEL: 'warn',
  });
  return { number, worker, bornMs: performance.now() };
}

test.runIf(Number(SOAK_MINUTES) > 0)(
  'two workers with outages, stops and backfills end equal to the source, and their memory stays below its limit',
  async () => {
    const fixture = await createCliFixture({
      sandbox: { size: SIZE, live: { changesPerMinute: 600, deletions: true } },
    });
    const admin = openConnection({
      url: fixture.databaseUrl.replace(/\/[^/]*$/, '/postgres'),
      applicationName: 'test',
      max: 1,
    });
    const name = new URL(fixture.databaseUrl).pathname.slice(1);
    const random = createRandom(Number(SOAK_SEED));
    const samples: MemorySample[] = [];
    const startedMs = performance.now();
    const endMs = startedMs + Number(SOAK_MINUTES) * MINUTE_MS;
    const tally = { service: 0, database: 0, stops: 0, backfills: 0 };
    let isServiceDown = false;
    const { sandbox } = fixture;
    try {
      sandbox.faults.next(() => isServiceDown, { kind: 'reset' }, Number.MAX_SAFE_INTEGER);
      sandbox.live.start();
      const replicas = Array.from({ length: REPLICAS }, (_, number) => startReplica(fixture, number));
      const restart = async (replica: Replica): Promise<void> => {
        replica.worker.kill('SIGTERM');
        const { code } = await replica.worker.finished;
        expect(code, 'exit code after SIGTERM').toBe(0);
        Object.assign(replica, startReplica(fixture, replica.number));
        tally.stops += 1;
      };
      const troubles: (() => Promise<void>)[] = [
        async () => {
          isServiceDown = true;
          await delay(random.below(20) * SECOND_MS);
          isServiceDown = false;
          tally.service += 1;
        },
        async () => {
          await admin.query(`alter database "${name}" with allow_connections false`);
          await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [
            name,
          ]);
          await delay(random.below(15) * SECOND_MS);
          await admin.query(`alter database "${name}" with allow_connections true`);
          tally.database += 1;
        },
        async () => {
          const replica = replicas[random.below(REPLICAS)];
          if (replica !== undefined) await restart(replica);
        },
        async () => {
          const { code, stderr } = await fixture.cli.run(['backfill', 'followups', '--restart'], fixture.env);
          if (code !== 0) throw new Error(`the backfill ended with ${String(code)}: ${stderr}`);
          tally.backfills += 1;
        },
      ];
      const sampling = (async () => {
        while (performance.now() < endMs) {
          for (const { number, worker, bornMs } of replicas) {
            const bytes = await residentBytes(worker.pid);
            if (bytes === undefined) continue;
            const nowMs = performance.now();
            samples.push({
              replica: number,
              bornMs,
              minutes: (nowMs - startedMs) / MINUTE_MS,
              ageMs: nowMs - bornMs,
              megabytes: bytes / MEGA,
            });
          }
          await delay(SAMPLE_MS);
        }
      })();
      for (let turn = 0; performance.now() < endMs; turn += 1) {
        await delay((10 + random.below(20)) * SECOND_MS);
        await troubles[turn % troubles.length]?.();
        say(
          `${((performance.now() - startedMs) / MINUTE_MS).toFixed(1)} min: ${tally.service} outages of the service, ${tally.database} of the database, ${tally.stops} stops, ${tally.backfills} backfills`,
        );
      }
      await sampling;
      sandbox.live.stop();
      sandbox.faults.clear();
      for (const { worker } of replicas) {
        worker.kill('SIGTERM');
        expect((await worker.finished).code).toBe(0);
      }
      expect((await fixture.cli.run(['reconcile'], fixture.env)).code).toBe(0);
      expect((await fixture.cli.run(['sync', '--force'], fixture.env)).code).toBe(0);
      const query = <Row>(text: string) => fixture.query<Row>(text);
      await expectWarehouseEqualsSource({
        sandbox,
        settings: { equipmentTypes: sandbox.equipmentTypes },
        query,
      });
      expect(await fixture.query(`select run_id from safety_sync.runs where status = 'running'`)).toEqual([]);
      const overlaps = await fixture.query(
        `select a.run_id from safety_sync.runs a join safety_sync.runs b
         on b.stream = a.stream and b.run_id > a.run_id and b.started_at < a.finished_at
       where a.status <> 'skipped' and b.status <> 'skipped' and a.error_code is distinct from 'worker_died'`,
      );
      expect(overlaps, 'runs of one stream at one time').toEqual([]);
      const runs = await fixture.query<{ status: string; error_code: string | null; count: number }>(
        'select status, error_code, count(*)::int as count from safety_sync.runs group by 1, 2 order by 3 desc',
      );
      say(
        `runs: ${runs.map((run) => `${run.count} ${run.status}${run.error_code === null ? '' : ` (${run.error_code})`}`).join(', ')}`,
      );
      if (SOAK_PLOT !== undefined) await writeFile(SOAK_PLOT, renderMemory(samples));
      const most = Math.max(...samples.map(({ megabytes }) => megabytes));
      say(`equal to the source after ${SOAK_MINUTES} minutes; at most ${Math.round(most)} MB of memory`);
      expect(most, 'MB of memory').toBeLessThan(MOST_MEGABYTES);
    } finally {
      await admin.query(`alter database "${name}" with allow_connections true`);
      await admin.close();
      await fixture.close();
    }
  },
);
