/** A first snapshot is compared with its rows in time that grows with their number. */
import type { SQL } from 'drizzle-orm';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, test } from 'vitest';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { countVanished, markVanished, selectVanished } from '../../src/engine/loading/merge-sql.ts';
import { openStaging } from '../../src/engine/loading/staging.ts';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { forEachTest } from '../support/lifetime.ts';
import { openTestDatabase } from '../support/test-database.ts';

/** A loop over both sides would meet 4,000,000 rows. */
const MANY = 2000;
const GONE = 2;
const NOW = '2026-11-20T10:00:00Z';
const scope = { accountId: 'default', stream: 'resources', now: NOW, syncedAt: NOW } as const;

const connection = forEachTest(() => openTestDatabase());
beforeEach(async () => {
  await openStaging(connection.db, streamShape(streamNamed('resources')));
});

/** Numbers, which PostgreSQL 18 spells as texts. */
type Plan = Readonly<
  Partial<
    Record<'Actual Rows' | 'Actual Loops' | 'Rows Removed by Filter' | 'Rows Removed by Join Filter', unknown>
  >
> & { readonly Plans?: readonly Plan[] };

/** Rows that the plan met, over all loops. */
function rowsMet(plan: Plan): number {
  const ofNode = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Join Filter'] as const;
  const perLoop = ofNode.reduce((sum, name) => sum + Number(plan[name] ?? 0), 0);
  const below = (plan.Plans ?? []).reduce((sum, one) => sum + rowsMet(one), 0);
  return perLoop * Number(plan['Actual Loops'] ?? 1) + below;
}

async function explain(statement: SQL): Promise<number> {
  const [row] = await connection.db.execute<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
    sql`explain (analyze, format json) ${statement}`,
  );
  return row === undefined ? Infinity : rowsMet(row['QUERY PLAN'][0].Plan);
}

test.each(['resources', 'equipments'] as const)(
  'the comparison of a snapshot of %s reads a limited number of rows for each key, although tables have no statistics',
  async (stream) => {
    const definition = streamNamed(stream);
    const shape = streamShape(definition);
    const { parent } = shape;
    const isPartitioned = definition.partitionedBy !== undefined;
    const covered = { partitions: isPartitioned ? ['21'] : null };
    const [column, value] = isPartitioned ? [', equipment_type_id', ", '21'"] : ['', ''];
    await connection.query(`insert into safety.${parent.name} (account_id, id, _run_id, _synced_at ${column})
      select 'default', 'r' || n, 1, '${NOW}' ${value} from generate_series(1, ${MANY}) as n`);
    for (const gone of [0, GONE]) {
      await connection.query('truncate pg_temp.stage_seen');
      await connection.query(
        `insert into pg_temp.stage_seen select 'r' || n from generate_series(1, ${MANY - gone}) as n`,
      );
      await connection.query('analyze pg_temp.stage_seen');
      const within = { ...scope, stream, runId: 2 };
      const before = { ...within, syncedAt: '2026-11-20T11:00:00Z' };
      expect(await explain(countVanished(shape, covered, before))).toBeLessThan(20 * MANY);
      // Some versions of PostgreSQL then choose the loop by themselves.
      await connection.query('set enable_hashjoin = off');
      for (const statement of [
        selectVanished(shape, covered, 'default'),
        markVanished(shape, covered, within),
      ]) {
        expect(await explain(statement)).toBeLessThan(20 * MANY);
      }
      await connection.query('reset enable_hashjoin');
    }
    const [row] = await connection.query(`select count(_deleted_at)::int as gone from safety.${parent.name}`);
    expect(row).toEqual({ gone: GONE });
  },
);
