/**
 * Equipment of a type that is not configured any more: its rows stay, with a remark everywhere, until an operator retires the
 * type.
 */
import { expect, it } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { CRANES, DETECTORS, EXTINGUISHERS, HARNESSES } from '../support/equipment-types.ts';

const SANDBOX = { size: { followups: 0, employees: 0, equipment: 12, resources: 0, users: 0 } };

const fixture = forEachTest(() => createCliFixture({ sandbox: SANDBOX }));
const run = (args: readonly string[], types?: readonly string[]) =>
  fixture.run(args, {
    LOG_LEVEL: 'silent',
    ...(types === undefined ? {} : { SAFETY_EQUIPMENT_TYPES: types.join(',') }),
  });
const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;

/** Three rows of each of two types. */
const UNREAD = (time: string) =>
  `6 live rows of equipment types that are not configured, and so not read: ${EXTINGUISHERS} (3, last read ${time}), ${DETECTORS} (3, last read ${time})`;

async function readTime(): Promise<string> {
  const [row] = await fixture.query<{ at: string }>(
    `select read_parts ->> '${DETECTORS}' as at from safety_sync.stream_state where stream = 'equipments'`,
  );
  return `${(row?.at ?? '').slice(0, 19).replace('T', ' ')}Z`;
}

const freshness = async () =>
  (
    await fixture.query<Record<string, unknown>>(
      `select unread_rows::int as rows, unread_types as types, unread_since = (s.read_parts ->> '${DETECTORS}')::timestamptz as is_since
       from safety.freshness f join safety_sync.stream_state s using (account_id, stream) where stream = 'equipments'`,
    )
  )[0];

it('the run, status and safety.freshness tell of the rows of equipment types that are no longer read, with the last read', async () => {
  await run(['sync', 'equipments']);
  expect(await freshness()).toEqual({ rows: 0, types: null, is_since: null });
  const time = await readTime();

  await run(['sync', 'equipments'], [CRANES, HARNESSES]);
  const [noted] = await fixture.query<{ note: string }>(
    'select note from safety_sync.runs order by run_id desc limit 1',
  );
  expect(noted?.note).toBe(UNREAD(time));
  expect(await freshness()).toEqual({ rows: 6, types: `${EXTINGUISHERS}, ${DETECTORS}`, is_since: true });
  expect(await readTime()).toBe(time);

  const json = parse((await run(['status', '--json'], [CRANES, HARNESSES])).stdout);
  expect(json['unread_equipment_types']).toEqual([
    { equipment_type_id: EXTINGUISHERS, live_rows: 3, last_read_at: expect.stringMatching(/Z$/) as string },
    { equipment_type_id: DETECTORS, live_rows: 3, last_read_at: expect.stringMatching(/Z$/) as string },
  ]);
});

it('equipment-types retire marks the rows of one type as deleted, as a snapshot without them does, a repetition marks none, and a new read restores them', async () => {
  await run(['sync', 'equipments']);
  const readPartitions = () =>
    fixture.query(`select read_parts::text, last_success_at::text from safety_sync.stream_state`);
  const partitions = await readPartitions();
  const refused = await run(['equipment-types', 'retire', DETECTORS]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('First set SAFETY_EQUIPMENT_TYPES to the other types');
  const unknown = await run(['equipment-types', 'retire', '99'], [CRANES, HARNESSES]);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain(`Types that are not read: ${EXTINGUISHERS}, ${DETECTORS}.`);

  const retired = await run(['equipment-types', 'retire', DETECTORS], [CRANES, HARNESSES]);
  expect([retired.code, retired.stdout.split('.')[0]]).toEqual([
    0,
    `3 rows of equipment type ${DETECTORS} marked deleted`,
  ]);
  const counted = await fixture.query<{ rows: number }>(
    'select sum(equipment)::int as rows from safety.equipment_status_daily where days_ago = 0',
  );
  expect(counted).toEqual([{ rows: 9 }]);
  const again = await run(['equipment-types', 'retire', DETECTORS], [CRANES, HARNESSES]);
  expect([again.code, again.stdout.slice(0, 6)]).toEqual([0, '0 rows']);
  const states = await fixture.query<Record<string, unknown>>(
    `select count(*)::int as rows, count(*) filter (where valid_to is null)::int as open from safety.equipment_history
     where equipment_type_id = '${DETECTORS}'`,
  );
  expect(states).toEqual([{ rows: 3, open: 0 }]);
  const schedules = await fixture.query<{ open: number }>(
    `select count(*)::int as open from safety.equipment_schedule_history h join safety.equipment e on e.id = h.equipment_id
     where e.equipment_type_id = '${DETECTORS}' and h.valid_to is null`,
  );
  expect(schedules).toEqual([{ open: 0 }]);
  // A run like any other, without information about how fresh the stream is.
  const runs = await fixture.query<Record<string, unknown>>(
    `select kind, trigger, status, requests::int, deleted::int from safety_sync.runs order by run_id`,
  );
  expect(runs.map((row) => Object.values(row).join(' '))).toEqual([
    'sync manual succeeded 4 0',
    'sync manual succeeded 0 3',
    'sync manual succeeded 0 0',
  ]);
  expect(await readPartitions()).toEqual(partitions);

  await run(['sync', 'equipments']);
  const settings = { equipmentTypes: fixture.sandbox.equipmentTypes };
  await expectWarehouseEqualsSource(
    { ...fixture, settings },
    { tables: ['equipment', 'equipment_schedules'] },
  );
});
