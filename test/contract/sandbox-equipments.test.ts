import { describe, expect, it } from 'vitest';
import type { Equipment } from '../../src/sandbox/index.ts';
import { NOON, askList, testRefusals, createSmallSandbox } from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';
import { CRANES } from '../support/equipment-types.ts';

const METHOD = 'equipments.list';
const HOUR = 3_600_000;

const sandbox = forEachTest(() => createSmallSandbox());

const list = (parameters: object): Promise<Equipment[]> => askList(sandbox, METHOD, parameters);
const stored = (type: string): Equipment[] =>
  [...sandbox.store.equipment.values()].filter((equipment) => equipment.equipmentType_id === type);

describe('which equipment', () => {
  it('equipments.list returns every item of the requested type and none of another type', async () => {
    expect(sandbox.equipmentTypes).toHaveLength(4);
    for (const type of sandbox.equipmentTypes) {
      const found = await list({ equipmentType_id: type, service_type: 'all' });
      expect(found).toEqual(stored(type));
      expect(found).toHaveLength(12);
    }
  });

  it('service_type selects in-service equipment by default and with in, the rest with out, and both with all', async () => {
    const type = CRANES;
    sandbox.store.equipment.update(stored(type)[0]?.id ?? '', { isInService: false });
    const inService = stored(type).filter((equipment) => equipment.isInService);
    const outOfService = stored(type).filter((equipment) => !equipment.isInService);
    expect(outOfService.length).toBeGreaterThan(0);
    expect(await list({ equipmentType_id: type })).toEqual(inService);
    expect(await list({ equipmentType_id: type, service_type: 'in' })).toEqual(inService);
    expect(await list({ equipmentType_id: type, service_type: 'out' })).toEqual(outOfService);
    expect(await list({ equipmentType_id: type, service_type: 'all' })).toHaveLength(12);
  });

  it('an unknown equipment type returns an empty list', async () => {
    expect(await list({ equipmentType_id: '99' })).toEqual([]);
  });
});

describe('the fields', () => {
  it('empty metavalues are omitted, and are NULL if include_null_metavalues is true', async () => {
    const id = stored(CRANES)[0]?.id ?? '';
    sandbox.store.equipment.update(id, { isInService: true, metavalues: { '3102': 'SK21 LFT' } });
    const metavalues = async (parameters: object): Promise<unknown> =>
      (await list({ equipmentType_id: CRANES, ...parameters })).find((equipment) => equipment.id === id)
        ?.metavalues;
    expect(await metavalues({})).toEqual({ '3102': 'SK21 LFT' });
    expect(await metavalues({ include_null_metavalues: false })).toEqual({ '3102': 'SK21 LFT' });
    expect(await metavalues({ include_null_metavalues: true })).toEqual({
      '3101': 'NULL',
      '3102': 'SK21 LFT',
      '3103': 'NULL',
    });
  });
});

describe('statuses', () => {
  const statusOf = async (id: string): Promise<unknown> => {
    const found = (await list({ equipmentType_id: CRANES, service_type: 'all' })).find(
      (item) => item.id === id,
    );
    return [found?.status, found?.schedules?.map((schedule) => schedule.status)];
  };

  it('equipment is expired if one of its schedules is expired, by the clock of the service', async () => {
    const id = stored(CRANES)[0]?.id ?? '';
    const schedule = { status: 'uptodate', lastCompletedOn: NOON - HOUR };
    sandbox.store.equipment.update(id, {
      schedules: [
        { ...schedule, schedule_id: '501', expiringOn: NOON + HOUR, expiresOn: NOON + 2 * HOUR },
        { ...schedule, schedule_id: '502', expiringOn: NOON + 9 * HOUR, expiresOn: NOON + 10 * HOUR },
        { ...schedule, schedule_id: '503', expiringOn: null, expiresOn: null, lastCompletedOn: null },
      ],
    });
    expect(await statusOf(id)).toEqual(['uptodate', ['uptodate', 'uptodate', 'uptodate']]);
    sandbox.clock.now = NOON + HOUR;
    expect(await statusOf(id)).toEqual(['expiring', ['expiring', 'uptodate', 'uptodate']]);
    sandbox.clock.now = NOON + 2 * HOUR;
    expect(await statusOf(id)).toEqual(['expired', ['expired', 'uptodate', 'uptodate']]);
    sandbox.clock.now = NOON + 9 * HOUR;
    expect(await statusOf(id)).toEqual(['expired', ['expired', 'expiring', 'uptodate']]);
  });
});

describe('parameters', () => {
  testRefusals(
    () => sandbox,
    METHOD,
    {
      equipmentType_id: [21, null, [CRANES]],
      service_type: ['IN', '', 'both', null, true],
      columns: ['id', ['id', 'colour'], [1], null],
      include_null_metavalues: ['true', 1, null],
    },
    { equipmentType_id: CRANES },
  );
});
