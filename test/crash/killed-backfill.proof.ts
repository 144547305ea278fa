/** A backfill that is killed again and again loses nothing and repeats little (contract, 5.1). */
import { expect, test } from 'vitest';
import { createCliFixture, type CliFixture } from '../support/cli-fixture.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { backfillWithKills } from './killed-backfill.ts';

const FOLLOWUPS = 6_000;
const KILLS = 3;
/** Responses of a second, and those in flight: at most these are read again after a kill. */
const LOST_RECORDS = 3_500;
const SIZE = { followups: FOLLOWUPS, employees: 4, equipment: 4, resources: 2, users: 40 };
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

interface LedgerRow {
  readonly status: string;
  readonly expected: number;
  readonly records: number;
  readonly isAdjoining: boolean;
}

async function readLedger(from: CliFixture): Promise<LedgerRow[]> {
  return await from.query<LedgerRow>(
    `select status, expected::int, records::int,
       created_from = lag(created_to, 1, created_from) over (order by created_from) as "isAdjoining"
     from safety_sync.backfill_slices order by created_from`,
  );
}

test(`after ${KILLS} kills a backfill of ${FOLLOWUPS} follow-ups equals the source and has read little again after each kill`, async () => {
  const fixture = untilTestEnds(await createCliFixture({ sandbox: { size: SIZE, latencyMs: 200 } }));
  const calm = untilTestEnds(await openTestDatabase());
  const { cli, sandbox } = fixture;
  // A page is lost while it is stored and another one while it waits, for each of the two readers.
  const env = { ...fixture.env, API_CONCURRENCY: '2' };
  const query = fixture.query.bind(fixture);
  const undisturbed = await backfillWithKills({
    cli,
    sandbox,
    env: { ...env, DATABASE_URL: calm.url },
    kills: 0,
    seed: 1,
    longestLifeRequests: 1,
  });
  const killed = await backfillWithKills({
    cli,
    sandbox,
    env,
    kills: KILLS,
    seed: 77,
    longestLifeRequests: 8,
  });
  expect(killed.kills).toBe(KILLS);
  expect(killed.pageRecords - undisturbed.pageRecords).toBeLessThanOrEqual(KILLS * LOST_RECORDS);
  const ledger = await readLedger(fixture);
  expect(ledger.filter((row) => row.status !== 'done' || row.records !== row.expected)).toEqual([]);
  expect(ledger.every((row) => row.isAdjoining)).toBe(true);
  expect(ledger.reduce((sum, row) => sum + row.records, 0)).toBe(FOLLOWUPS);
  await expectWarehouseEqualsSource({ sandbox, settings: { equipmentTypes: [] }, query }, { tables });
  const runs = await fixture.query<{ status: string; error_code: string | null; count: number }>(
    'select status, error_code, count(*)::int as count from safety_sync.runs group by 1, 2 order by 1',
  );
  expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
  expect(runs.find(({ status }) => status === 'succeeded')?.count).toBe(1);
  expect(runs.every(({ error_code }) => error_code === null || error_code === 'worker_died')).toBe(true);
}, 120_000);
