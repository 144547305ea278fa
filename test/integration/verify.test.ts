/** One record, requested again: its stored row against the source. */
import { expect, test } from 'vitest';
import { runInProcess } from '../support/in-process.ts';
import { forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { createTimedWorker, expectSucceeded, rowVersions, serviceEnv } from '../support/world.ts';

const worker = forEachTest(() => createTimedWorker());
const run = (args: readonly string[]) => runInProcess(args, { ...serviceEnv(worker), RETRY_ATTEMPTS: '0' });

interface Verified {
  readonly code: number;
  readonly verification: {
    readonly requests: number;
    readonly fields: readonly { readonly field: string; readonly equal: boolean }[];
  };
}

async function verify(...args: string[]): Promise<Verified> {
  const { code, stdout } = await run(['verify', ...args, '--json']);
  return { code, ...(JSON.parse(stdout) as Omit<Verified, 'code'>) };
}

/** Without the one that each process sends to know whose data it reads. */
const requests = () => worker.sandbox.requests.filter(({ method }) => method !== 'account.info');
const sync = async (stream: string) => expectSucceeded(await worker.run(stream));
const differing = ({ verification }: Verified) =>
  verification.fields.filter(({ equal }) => !equal).map(({ field }) => field);
async function anyKey(table: string, column = 'id', where = 'true'): Promise<string> {
  const [row] = await worker.query<{ key: string }>(
    `select ${column} as key from safety.${table} where ${where} order by 1 limit 1`,
  );
  return row?.key ?? '';
}

/** A follow-up that has messages. */
const aFollowup = () => anyKey('followup_messages', 'followup_id');

test('a record of each stream that equals the source is verified with one request, and --repair writes nothing', async () => {
  const streams = [
    ['resources', 'resources', 'id'],
    ['followups', 'followups', 'id'],
    ['equipments', 'equipment', 'id'],
    ['training-employee-status', 'training_employee_status', 'user_id'],
    ['users', 'users', 'id'],
    ['names', 'names', '_key'],
  ] as const;
  for (const [stream] of streams) await sync(stream);
  const before = await rowVersions(worker);
  for (const [stream, table, column] of streams) {
    worker.sandbox.requests.length = 0;
    const answer = await verify(stream, await anyKey(table, column), '--repair');
    expect([differing(answer), answer.code, answer.verification.requests], stream).toEqual([[], 0, 1]);
    expect(answer.verification).toMatchObject({
      equal: true,
      stored: 'live',
      source: 'present',
      remarks: [],
    });
    expect(requests()).toHaveLength(1);
  }
  expect(await rowVersions(worker)).toEqual(before);
});

test('verify lists the fields of a changed row, different ones first, and --repair corrects them with one more request', async () => {
  await sync('followups');
  const id = await aFollowup();
  await worker.query(`update safety.followups set assignee_id = 'forged', due_on = null where id = '${id}'`);
  await worker.query(`delete from safety.followup_messages where followup_id = '${id}'`);
  await worker.query(`insert into safety.followup_messages (account_id, followup_id, id, position, note)
    values ('default', '${id}', 'forged', 1, 'never said')`);
  const found = await verify('followups', id);
  expect(found).toMatchObject({ code: 1, verification: { equal: false, requests: 1 } });
  const fields = found.verification.fields;
  expect(fields.findIndex(({ equal }) => equal)).toBe(differing(found).length);
  expect(fields.find(({ field }) => field === 'assignee_id')).toMatchObject({
    equal: false,
    stored: 'forged',
  });
  expect(fields.find(({ field }) => field === 'followup_messages[forged]')).toMatchObject({
    equal: false,
    stored: { note: 'never said' },
    source: null,
  });
  worker.sandbox.requests.length = 0;
  const repaired = await verify('followups', id, '--repair');
  expect(repaired).toMatchObject({ code: 0, repair: { outcome: 'succeeded', updated: 1 } });
  expect(requests()).toHaveLength(2);
  await expectWarehouseEqualsSource(worker, {
    tables: ['followups', 'followup_messages', 'followup_attachments'],
  });
});

test('verify searches the whole list for a follow-up without a stored row, and --repair stores it', async () => {
  const [id = ''] = [...worker.sandbox.store.followups.keys()].toSorted();
  expect(await verify('followups', id)).toMatchObject({
    code: 1,
    verification: { stored: 'absent', source: 'present' },
  });
  expect(await verify('followups', id, '--repair')).toMatchObject({ code: 0 });
  expect(await verify('followups', id)).toMatchObject({ code: 0, verification: { requests: 1 } });
});

test.each([
  ['followups', aFollowup],
  ['users', () => anyKey('users')],
] as const)(
  'verify reports a record of %s that the source has deleted, with the command that marks its row deleted',
  async (stream, keyOf) => {
    await sync(stream);
    const id = await keyOf();
    worker.sandbox.store[stream].delete(id);
    const { code, stdout } = await run(['verify', stream, id, '--repair']);
    expect(code).toBe(1);
    expect(stdout).toContain('and the service does not have it.');
    const [, verb = ''] = /marked as deleted by: safety-sync (\w+)/.exec(stdout) ?? [];
    expect(await run([verb, stream])).toMatchObject({ code: 0 });
    expect(await verify(stream, id)).toMatchObject({ code: 0, verification: { stored: 'deleted' } });
  },
);

test('verify refuses an id of a name without its kind', async () => {
  await sync('names');
  const id = await anyKey('names', 'id', `kind = 'form'`);
  const { code, stderr } = await run(['verify', 'names', id]);
  expect(code).toBe(2);
  expect(stderr).toContain('usage_invalid: the id of a name is KIND:ID, such as form:12; the kinds are ');
});
