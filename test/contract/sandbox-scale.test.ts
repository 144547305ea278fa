import { describe, expect, it } from 'vitest';
import type { Followup, Sandbox } from '../../src/sandbox/index.ts';
import { Random } from '../../src/sandbox/random.ts';
import { casesOf, inProof } from '../support/proof.ts';
import { NOON, ask, createTestSandbox } from './sandbox-ask.ts';

const DAY = 86_400_000;

/** Parameters that have to equal a field. */
const EQUAL = {
  form_id: 'form_id',
  response_id: 'response_id',
  observer_id: 'm_observer_id',
  assignee_id: 'm_assignee_id',
} as const;
const EQUAL_NAMES = Object.keys(EQUAL) as (keyof typeof EQUAL)[];

interface Query extends Partial<Record<keyof typeof EQUAL, unknown>> {
  status?: string;
  created_before?: number;
  created_after?: number;
  updated_before?: number;
  updated_after?: number;
}

/** The specification's filters, written as plainly as possible. */
function matches(followup: Followup, query: Query): boolean {
  const { status, created_before, created_after, updated_before, updated_after } = query;
  return (
    EQUAL_NAMES.every((name) => query[name] === undefined || followup[EQUAL[name]] === query[name]) &&
    (status !== 'open' || followup.open) &&
    (status !== 'closed' || !followup.open) &&
    (status !== 'overdue' || (followup.open && followup.due !== undefined && followup.due < 20260302)) &&
    (created_before === undefined || followup.created_on < created_before) &&
    (created_after === undefined || followup.created_on > created_after) &&
    (updated_before === undefined || followup.updated_on < updated_before) &&
    (updated_after === undefined || followup.updated_on > updated_after)
  );
}

function randomQuery(random: Random, followups: readonly Followup[]): Query {
  const one = random.pick(followups);
  const other = random.pick(followups);
  const query: Query = {};
  for (const name of EQUAL_NAMES) if (random.chance(0.1)) query[name] = one[EQUAL[name]];
  if (random.chance(0.4)) query.status = random.pick(['all', 'open', 'closed', 'overdue']);
  if (random.chance(0.4)) query.created_after = one.created_on;
  if (random.chance(0.4)) query.created_before = other.created_on + random.int(0, 1);
  if (random.chance(0.4))
    query.updated_after = random.chance(0.5) ? one.updated_on : NOON - random.int(0, 9) * DAY;
  if (random.chance(0.2)) query.updated_before = other.updated_on;
  return query;
}

async function compare(sandbox: Sandbox, query: Query): Promise<void> {
  const all = [...sandbox.store.followups.values()];
  const expected = all.filter((followup) => matches(followup, query));
  const { body } = await ask(sandbox, 'followups.list', { ...query, limit: 500 });
  const found = body['followups'] as Followup[];
  expect([query, body['paging']]).toEqual([
    query,
    { total: expected.length, last_page: Math.ceil(expected.length / 500) },
  ]);
  const ids = (followups: readonly Followup[]): string[] => followups.map((followup) => followup.id).sort();
  if (expected.length <= 500) expect(ids(found)).toEqual(ids(expected));
  const created = found.map((followup) => followup.created_on);
  expect(created).toEqual([...created].sort((a, b) => b - a));
}

describe('filters', () => {
  it('filters return exactly the records of a plain search after any changes', async () => {
    const sandbox = await createTestSandbox({ size: { followups: 1500 }, live: { deletions: true } });
    const random = new Random(11);
    for (let round = 0; round < casesOf({ few: 20, all: 200 }); round += 1) {
      const query = randomQuery(random, [...sandbox.store.followups.values()]);
      await compare(sandbox, query);
      sandbox.live.step(20);
      // The next response has the changes, also for an equal request.
      await compare(sandbox, query);
    }
  });

  inProof(() => {
    it('filters return exactly the records of a plain search if a test stored records with past or changed times', async () => {
      const sandbox = await createTestSandbox({ size: { followups: 100 } });
      const random = new Random(12);
      const [template] = [...sandbox.store.followups.values()];
      for (let made = 0; made < 2500; made += 1) {
        const created_on = NOON - random.int(0, 400) * DAY;
        sandbox.store.followups.put({
          ...template,
          id: `p${made}`,
          created_on,
          updated_on: created_on + random.int(0, 3),
        });
        if (made % 5 === 0) {
          sandbox.store.followups.update(`p${random.int(0, made)}`, {
            created_on: NOON - random.int(0, 400) * DAY,
          });
        }
      }
      for (let round = 0; round < 30; round += 1) {
        await compare(sandbox, randomQuery(random, [...sandbox.store.followups.values()]));
      }
      await sandbox.close();
    });
  });
});

inProof(() => {
  it('a walk by creation time over 200,000 follow-ups reads each record once, with a few ms per page', async () => {
    const sandbox = await createTestSandbox({ size: { followups: 200_000 } });
    const seen = new Set<string>();
    const durations: number[] = [];
    let before = NOON;
    while (durations.length < 60) {
      const { body } = await ask(sandbox, 'followups.list', { limit: 500, created_before: before });
      const page = body['followups'] as Followup[];
      for (const followup of page) seen.add(followup.id);
      // Numbers are sent as text.
      before = Number(page.at(-1)?.created_on) + 1;
      durations.push(sandbox.requests.at(-1)?.durationMs ?? 0);
    }
    expect(seen.size).toBeGreaterThan(60 * 495);
    const median = durations.sort((a, b) => a - b)[30] ?? 0;
    // Far above what it takes (2 to 5 ms), and far below what sorting or scanning all records would take.
    expect(median).toBeLessThan(60);
  });
});
