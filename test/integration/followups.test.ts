/** Follow-ups in PostgreSQL: counts, failed slices and reconciles as a run stores them. Readers alone: test/unit/reading. */
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/shared/time.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import {
  createTimedWorker,
  expectSucceeded,
  type TimedWorker,
  type TimedWorkerOptions,
} from '../support/world.ts';

const SIZE = { followups: 130, employees: 4, equipment: 4, resources: 2, users: 8 };
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(options: TimedWorkerOptions = {}): Promise<void> {
  worker = await createTimedWorker({ ...options, sandbox: { size: SIZE } });
}
const sync = async () => expectSucceeded(await worker.run('followups'));
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });
const store = () => worker.sandbox.store.followups;

/** As the run has it in `runs` and `stream_state`. */
async function counted() {
  const { counts, requests } = await sync();
  const [row] = await worker.query<{ difference: number | null }>(
    `select difference::int from safety_sync.stream_state where stream = 'followups'`,
  );
  return { inserted: counts.inserted, deleted: counts.deleted, requests, difference: row?.difference ?? 0 };
}

describe('drift', () => {
  test('a record without a key is rejected, the run deletes nothing and says so, and its difference is remembered', async () => {
    await start();
    const [keyless = ''] = store().keys();
    const whole = { ...store().get(keyless) };
    store().put({ ...whole, id: null }, keyless);
    await sync();
    expect(await counted()).toEqual({ inserted: 0, deleted: 0, requests: 6, difference: 1 });
    const [run] = await worker.query<{ note: string; status: string; rejected: number }>(
      'select note, status, rejected::int from safety_sync.runs order by run_id desc limit 1',
    );
    expect(run).toMatchObject({
      status: 'succeeded',
      note: expect.stringContaining(
        'nothing was marked deleted, because 1 record without a usable key may be any of the rows',
      ) as unknown,
    });
    expect(await counted()).toMatchObject({ requests: 4, difference: 1 });
    store().put(whole, keyless);
    store().update(keyless, { updated_on: worker.serviceNow() });
    expect(await counted()).toMatchObject({ inserted: 1, difference: 0 });
    await isEqual();
    expectSucceeded(await worker.run('followups', { kind: 'reconcile' }));
    const open = `select 1 from safety_sync.data_issues where resolved_at is null`;
    expect(await worker.query(open)).toEqual([]);
  });

  test('a reconcile that is the first run remembers its difference, too', async () => {
    await start();
    const [keyless = ''] = store().keys();
    store().put({ ...store().get(keyless), id: null }, keyless);
    expectSucceeded(await worker.run('followups', { kind: 'reconcile' }));
    expect(await counted()).toMatchObject({ requests: 4, difference: 1 });
  });
});

test('a service that refuses the number people see is asked without it, and a quiet tick sends no refused request', async () => {
  await start();
  const isNumbered = ({ params }: { params: object }) => 'followup_display_id' in params;
  worker.sandbox.faults.next(isNumbered, { kind: 'error', error: 'parameter_unexpected' }, Infinity);
  await sync();
  expect(await counted()).toMatchObject({ requests: 2 });
  expect(await worker.query(`select display_id from safety.followups where display_id is not null`)).toEqual(
    [],
  );
});

test('a reconcile that closes a failed slice counts all that it repaired, however long it takes', async () => {
  let ms = 0;
  await start({ clock: { ...systemClock, monotonicMs: () => (ms += 2_000) } });
  await sync();
  await worker.query(`update safety_sync.backfill_slices set status = 'failed'`);
  const [key = ''] = store().keys();
  // A change behind the watermark.
  store().update(key, { open: store().get(key)?.open !== true });
  const { repaired } = await worker.run('followups', { kind: 'reconcile' });
  expect(repaired).toBe(1);
  expect(await worker.query('select 1 from safety_sync.backfill_slices')).toEqual([]);
});

test('a list in another order than that of creation is read by page numbers, from the first sync on', async () => {
  worker = await createTimedWorker({ sandbox: { size: { ...SIZE, followups: 520 } } });
  worker.sandbox.hooks.rewriteResponse = (entry, response) =>
    entry.method === 'followups.list'
      ? { ...response, followups: (response['followups'] as unknown[]).toReversed() }
      : response;
  expect(await sync()).toMatchObject({ note: expect.stringContaining('read by page numbers') as unknown });
  await isEqual();
});
