/** Lookups of names without a database: the ids that a run requests, and the cost of an id that fails for the others. */
import { describe, expect, test } from 'vitest';
import { casesOf, inProof } from '../../support/proof.ts';
import * as reading from '../../support/reading.ts';
import { failedBy, startWorker, worker } from '../../support/reading.ts';

const HOUR_MS = 3_600_000;

/** Ids that records mention; the service has names for some of them only. */
async function start(people = { employees: 20, users: 14 }): Promise<string[]> {
  await startWorker({ sandbox: { size: { followups: 0, equipment: 0, resources: 0, ...people } } });
  const ids = [...worker.sandbox.store.employees.keys()].toSorted();
  worker.warehouseOf('users').mention(ids);
  return ids;
}
const sync = () => reading.sync('users');
const asked = () => worker.sandbox.requests.map(({ params }) => params['user']);
const named = () => [...reading.stored('users').keys()].toSorted();
const known = (ids: readonly string[]) => ids.filter((id) => worker.sandbox.store.users.has(id));
const lookups = () => worker.warehouseOf('users').lookups;

describe('user ids for which the service always fails', () => {
  /** The first ids, in the order of their requests. */
  async function startFailing(
    count: number,
    error: string,
  ): Promise<{ ids: string[]; failing: Set<string> }> {
    const ids = await start();
    const failing = new Set(ids.slice(0, count));
    worker.sandbox.hooks.rewriteResponse = (entry, response) =>
      failing.has(String(entry.params['user'])) ? { ok: false, error } : response;
    return { ids, failing };
  }
  const failures = () =>
    [...lookups()].flatMap(([user_id, { failures, askedAt, dueAt }]) =>
      failures > 0 ? [{ user_id, failures, hours: Math.round((dueAt - (askedAt ?? 0)) / HOUR_MS) }] : [],
    );
  const makeDue = (ids: Iterable<string>): void => {
    for (const id of ids) {
      const lookup = lookups().get(id);
      if (lookup !== undefined) lookups().set(id, { ...lookup, dueAt: 0 });
    }
  };

  const failing: [number, string, number][] = [
    [3, 'user_deleted', 1],
    [12, 'server_error', 5],
    [2, 'server_error', 5],
  ];
  test.each(casesOf({ few: failing.slice(0, 2), all: failing }))(
    'if the lookups of %i ids fail with %s, the names of all other ids are stored',
    async (count, error, attempts) => {
      const { ids, failing } = await startFailing(count, error);
      const { requests, note } = (await sync()) as { requests: number; note?: string | null };
      const others = ids.filter((id) => !failing.has(id));
      expect(named()).toEqual(known(others));
      // Five attempts at most for each, and at most one other id requested twice for each four.
      expect(requests).toBeLessThanOrEqual(others.length + count * attempts + count / 4);
      expect(note).toContain(
        `${count} user ids cannot be looked up and are requested again later: ${ids[0]} (`,
      );
      expect(failures()).toMatchObject([...failing].map((user_id) => ({ user_id, failures: 1, hours: 0 })));
    },
  );

  inProof(() => {
    test('if the lookups of fifty ids fail, three of each four, the names of all other ids are stored after a few runs', async () => {
      const ids = await start({ employees: 90, users: 90 });
      const failing = new Set(ids.filter((_, index) => index % 4 !== 0).slice(0, 50));
      expect(failing.size).toBe(50);
      worker.sandbox.hooks.rewriteResponse = (entry, response) =>
        failing.has(String(entry.params['user'])) ? { ok: false, error: 'server_error' } : response;
      // Before the first success such ids look like a service that is out of order.
      for (let runs = 0; runs < 3; runs += 1) await worker.run('users');
      const others = known(ids.filter((id) => !failing.has(id)));
      expect(named()).toEqual(others);
      expect(await sync()).toMatchObject({ outcome: 'succeeded' });
    });
  });

  test('failing ids are requested again after growing delays, and stored as soon as they have a response', async () => {
    const { ids, failing } = await startFailing(2, 'server_error');
    const hours: (number | undefined)[] = [];
    for (let round = 0; round < 7; round += 1) {
      await sync();
      hours.push(failures()[0]?.hours);
      worker.sandbox.requests.length = 0;
      makeDue(failing);
    }
    expect(hours.map((one) => Math.round((one ?? 0) / 4))).toEqual([0, 0, 1, 4, 16, 41, 41]);
    await sync();
    expect(new Set(asked().map(String))).toContain([...failing][0]);
    worker.sandbox.requests.length = 0;
    const idle = await sync();
    expect(idle).toMatchObject({ outcome: 'succeeded', requests: 0 });
    expect('note' in idle && idle.note).toContain('2 user ids cannot be looked up');
    worker.sandbox.hooks.rewriteResponse = undefined;
    makeDue(failing);
    expect(await sync()).toMatchObject({ note: null });
    expect(failures()).toEqual([]);
    expect(named()).toEqual(known(ids));
  });

  test('if all due ids fail, the run fails only if another id, which had a response before, fails too', async () => {
    const { failing } = await startFailing(2, 'server_error');
    await sync();
    makeDue(failing);
    expect(await worker.run('users')).toMatchObject({ outcome: 'succeeded', requests: 11 });
    worker.sandbox.hooks.rewriteResponse = () => ({ ok: false, error: 'server_error' });
    makeDue(failing);
    expect(await worker.run('users')).toMatchObject(failedBy('server_error'));
  });
});
