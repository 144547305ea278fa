/** A backfill of any size, killed any number of times. Run with `npm run soak -- --followups 100000 --kills 10`. */
import { expect, test } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { backfillWithKills } from './killed-backfill.ts';

const { SOAK_FOLLOWUPS = '0', SOAK_KILLS = '10', SOAK_SEED = '1' } = process.env;
const followups = Number(SOAK_FOLLOWUPS);
const kills = Number(SOAK_KILLS);
const READERS = 4;
/** Commits are at most so many records apart; and the responses in flight. */
const SLICE_RECORDS = 20_000 + 2 * READERS * 500;

test.runIf(followups > 0)(
  'a killed backfill equals the source and has read at most one slice again for each kill',
  async () => {
    const fixture = untilTestEnds(
      await createCliFixture({
        sandbox: { size: { followups, employees: 4, equipment: 4, resources: 2, users: 40 }, latencyMs: 5 },
      }),
    );
    const startedMs = performance.now();
    const killed = await backfillWithKills({
      cli: fixture.cli,
      sandbox: fixture.sandbox,
      env: { ...fixture.env, API_CONCURRENCY: String(READERS) },
      kills,
      seed: Number(SOAK_SEED),
      longestLifeRequests: Math.max(2, Math.floor(followups / 500 / kills)),
      onKill: (kill) => process.stdout.write(`soak: killed ${kill} of ${kills}\n`),
    });
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    const slices = await fixture.query<{ status: string; expected: number; records: number }>(
      'select status, expected::int, records::int from safety_sync.backfill_slices',
    );
    // Each page begins with the last record of the one before, and each slice ends with one that is not full.
    const again = killed.pageRecords - followups - followups / 500 - 2 * slices.length;
    process.stdout.write(
      `soak: ${followups} follow-ups in ${slices.length} slices, ${killed.kills} kills, about ${Math.round(again)} records (${(again / SLICE_RECORDS / Math.max(1, killed.kills)).toFixed(2)} slices a kill) read again, ${seconds} s\n`,
    );
    expect(killed.kills).toBe(kills);
    expect(again, 'records read again').toBeLessThanOrEqual(kills * SLICE_RECORDS);
    expect(slices.filter((slice) => slice.status !== 'done' || slice.records !== slice.expected)).toEqual([]);
    expect(slices.reduce((sum, { records }) => sum + records, 0)).toBe(followups);
    await expectWarehouseEqualsSource(
      { sandbox: fixture.sandbox, settings: { equipmentTypes: [] }, query: (text) => fixture.query(text) },
      { tables: ['followups', 'followup_messages', 'followup_attachments'] },
    );
  },
);
