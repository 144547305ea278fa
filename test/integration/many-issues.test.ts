/**
 * Tens of thousands of data issues at once, as when the service renames `id`, are opened and closed in time that grows with
 * their number, and so is a first snapshot compared with its rows.
 */
import type { SQL } from 'drizzle-orm';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, test } from 'vitest';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { countVanished, markVanished, selectVanished } from '../../src/engine/loading/merge-sql.ts';
import * as issues from '../../src/engine/loading/issue-sql.ts';
import { openStaging } from '../../src/engine/loading/staging.ts';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { forEachTest } from '../support/lifetime.ts';
import { openTestDatabase } from '../support/test-database.ts';

/** A loop over both sides would meet 4,000,000 rows. */
const MANY = 2000;
const GONE = 2;
const NOW = '2026-11-20T10:00:00Z';
const COVERED = { partitions: null };
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

const stageIssues = async (kind: string, recordId: string): Promise<void> => {
  await connection.query(`insert into pg_temp.stage_issues (ord, of_row, fingerprint, record_id, kind, problem, value, identity, times)
    select n, false, '${kind}' || n, ${recordId}, '${kind}', 'test', '{}', 'i' || n, 1 from generate_series(1, ${MANY}) as n`);
};

test('the statements that close issues read a limited number of rows for each issue, despite the planner’s estimates for new tables', async () => {
  await stageIssues('record_rejected', 'null');
  await stageIssues('field_nulled', `'r' || n`);
  await connection.query(`insert into safety.resources (account_id, id, _run_id, _synced_at, _hash, _raw)
    select 'default', 'r' || n, 1, '${NOW}', md5(n::text)::uuid, '{}' from generate_series(1, ${MANY}) as n`);
  await connection.query(
    `insert into pg_temp.stage_seen select n, 'r' || n from generate_series(1, ${MANY}) as n`,
  );
  await connection.db.execute(issues.recordIssues(scope));
  const parent = streamShape(streamNamed('resources')).parent;
  const later = { ...scope, now: '2026-11-20T11:00:00Z', syncedAt: '2026-11-20T11:00:00Z' };
  const keys = Array.from({ length: MANY }, (_, at) => `i${at + 1}`);
  await connection.query(`update safety.resources set _synced_at = '${later.now}'`);
  // Staged issues stay open. Later all of them vanish or come right.
  for (const at of [scope, later]) {
    expect(await explain(issues.readVanishedRejections(COVERED, at))).toBeLessThan(20 * MANY);
    expect(
      await explain(
        issues.resolveIssues(parent, {
          ...at,
          runId: 1,
          covered: COVERED,
          deletedKeys: [],
          resolvedKeys: keys,
          resolvedIdentities: keys,
        }),
      ),
    ).toBeLessThan(20 * MANY);
    expect(await explain(issues.deleteResolved('keyless', at))).toBeLessThan(20 * MANY);
  }
  expect(
    await connection.query(
      `select kind, resolved_at is null as is_open, count(*)::int from safety_sync.data_issues group by 1, 2 order by 1`,
    ),
  ).toEqual([
    { kind: 'field_nulled', is_open: false, count: MANY },
    { kind: 'record_rejected', is_open: false, count: 100 },
  ]);
});

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
        `insert into pg_temp.stage_seen select n, 'r' || n from generate_series(1, ${MANY - gone}) as n`,
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

test('70,000 returning keys are resolved by one statement, although a statement cannot have so many parameters', async () => {
  const many = Array.from({ length: 70_000 }, (_, at) => `i${at}`);
  const { parent } = streamShape(streamNamed('resources'));
  for (const statement of [
    issues.resolveIssues(parent, {
      ...scope,
      runId: 1,
      covered: null,
      deletedKeys: many,
      resolvedKeys: many,
      resolvedIdentities: many,
    }),
  ]) {
    expect((await connection.db.execute(statement)).count).toBe(0);
  }
});
