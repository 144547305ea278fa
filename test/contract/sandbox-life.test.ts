import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { NOON, ask, askList, createTestSandbox } from './sandbox-ask.ts';
import { CRANES } from '../support/equipment-types.ts';

const everything = (sandbox: Sandbox): string =>
  JSON.stringify([
    [...sandbox.store.followups],
    [...sandbox.store.resources],
    [...sandbox.store.employees],
    [...sandbox.store.equipment],
    [...sandbox.store.users],
  ]);

describe('seeds', () => {
  it('equal seeds, sizes and clocks produce equal sources, before and after equal changes', async () => {
    const one = await createTestSandbox({ seed: 7, live: { deletions: true } });
    const two = await createTestSandbox({ seed: 7, live: { deletions: true } });
    expect(everything(one)).toBe(everything(two));
    one.live.step(300);
    two.live.step(300);
    expect(everything(one)).toBe(everything(two));
  });

  it('another seed produces another source', async () => {
    const one = await createTestSandbox({ seed: 7 });
    const two = await createTestSandbox({ seed: 8 });
    expect(everything(one)).not.toBe(everything(two));
  });
});

describe('a source that changes', () => {
  it('follow-ups are raised, discussed, reassigned, completed and reopened, and updated_after finds all that changed', async () => {
    const sandbox = await createTestSandbox();
    const before = new Map(sandbox.store.followups);
    sandbox.clock.now = NOON + 60_000;
    sandbox.live.step(400);
    const changed = await askList(sandbox, 'followups.list', {
      updated_after: NOON + 59_999,
      limit: 500,
    });
    const differing = [...sandbox.store.followups].filter(
      ([key, followup]) => JSON.stringify(followup) !== JSON.stringify(before.get(key)),
    );
    expect(changed.map((followup) => followup.id).sort()).toEqual(differing.map(([key]) => key).sort());
    expect(changed.some((followup) => !before.has(followup.id))).toBe(true);
    expect(changed.some((followup) => before.get(followup.id)?.open === true && !followup.open)).toBe(true);
    expect(changed.some((followup) => before.get(followup.id)?.open === false && followup.open)).toBe(true);
    expect(
      changed.some((followup) => before.get(followup.id)?.m_assignee_id !== followup.m_assignee_id),
    ).toBe(true);
    expect(changed.some((followup) => before.get(followup.id)?.due !== followup.due)).toBe(true);
  });

  it('trainings are completed and expire, equipment is inspected and taken out of service, resources get new versions', async () => {
    const sandbox = await createTestSandbox();
    const { employees, equipment, resources, users } = sandbox.store;
    const before = {
      employees: new Map(employees),
      equipment: new Map(equipment),
      resources: new Map(resources),
    };
    const sizes = { users: users.size, employees: employees.size, equipment: equipment.size };
    sandbox.clock.now = NOON + 60_000;
    sandbox.live.step(1500);
    const changedStatus = [...employees].filter(
      ([key, now]) => before.employees.get(key)?.status !== now.status,
    );
    expect(changedStatus.length).toBeGreaterThan(3);
    expect(
      [...equipment].some(([key, now]) => before.equipment.get(key)?.isInService !== now.isInService),
    ).toBe(true);
    expect([...equipment].some(([key, now]) => before.equipment.get(key)?.status !== now.status)).toBe(true);
    expect(
      [...resources].some(
        ([key, now]) => (before.resources.get(key)?.versions.length ?? 99) < now.versions.length,
      ),
    ).toBe(true);
    expect(users.size).toBeGreaterThan(sizes.users);
    expect(employees.size).toBeGreaterThan(sizes.employees);
    expect(equipment.size).toBeGreaterThan(sizes.equipment);
  });

  it('no follow-up is deleted unless deletions are enabled', async () => {
    const sandbox = await createTestSandbox();
    const keys = [...sandbox.store.followups.keys()];
    sandbox.live.step(500);
    expect(keys.every((key) => sandbox.store.followups.has(key))).toBe(true);
    await sandbox.close();
    const deleting = await createTestSandbox({ live: { deletions: true } });
    deleting.live.step(500);
    expect(keys.every((key) => deleting.store.followups.has(key))).toBe(false);
  });

  it('a source changes between start and stop without further calls', async () => {
    const sandbox = await createTestSandbox({ live: { changesPerMinute: 60_000 } });
    const before = everything(sandbox);
    sandbox.live.start();
    await expect.poll(() => everything(sandbox) !== before, { timeout: 5000 }).toBe(true);
    sandbox.live.stop();
    const stopped = everything(sandbox);
    await ask(sandbox, 'resources.list');
    expect(everything(sandbox)).toBe(stopped);
  });
});

describe('the store that tests write to', () => {
  it('any stored JSON is sent unchanged', async () => {
    const sandbox = await createTestSandbox();
    const bad = {
      ...{
        id: null,
        created_on: 'yesterday',
        updated_on: 0.5,
        resolved_on: null,
        messages: 'none',
        open: 'perhaps',
      },
      ...{ due: null, m_completer_id: null },
    };
    const employee = { m_user_id: 'x', last_completed: 'never' };
    const equipment = { id: 'y', equipmentType_id: CRANES, isInService: true, schedules: null };
    const resource = { id: 'z', versions: {} };
    sandbox.store.followups.put(bad, 'bad');
    sandbox.store.employees.put(employee);
    sandbox.store.equipment.put(equipment);
    sandbox.store.resources.put(resource);
    const broken = { last_completed: [null], incomplete_training_ids: [], complete_training_ids: [] };
    sandbox.store.employees.put(broken, 'nobody');
    sandbox.store.equipment.put({ id: 'w', equipmentType_id: CRANES, schedules: [null] });
    const TRAINING = 'training-employee-status.list';
    expect(await askList(sandbox, 'followups.list', { limit: 500 })).toContainEqual(bad);
    expect(await askList(sandbox, TRAINING)).toContainEqual(employee);
    expect(await askList(sandbox, TRAINING, { training_ids: [301] })).not.toHaveLength(0);
    expect(await askList(sandbox, 'equipments.list', { equipmentType_id: CRANES })).toContainEqual(equipment);
    expect(await askList(sandbox, 'resources.list')).toContainEqual(resource);
    sandbox.live.step(3000);
    expect(await askList(sandbox, TRAINING, { training_ids: [301] })).not.toHaveLength(0);
    expect(await askList(sandbox, 'followups.list', { limit: 500 })).not.toHaveLength(0);
  });

  it('two records with one identifier can be stored', async () => {
    const sandbox = await createTestSandbox();
    const [first] = [...sandbox.store.followups.values()];
    sandbox.store.followups.put({ ...first }, 'twin');
    const found = await askList(sandbox, 'followups.list', { limit: 500 });
    expect(found.filter((followup) => followup.id === first?.id)).toHaveLength(2);
  });

  it('update replaces fields, removes undefined ones, and refuses an unknown key', async () => {
    const sandbox = await createTestSandbox();
    const key = [...sandbox.store.followups.keys()][3] ?? '';
    sandbox.store.followups.update(key, { due: undefined, form_id: 5 });
    expect(sandbox.store.followups.get(key)).toMatchObject({ id: key, form_id: 5 });
    expect(sandbox.store.followups.get(key)).not.toHaveProperty('due');
    const found = await askList(sandbox, 'followups.list', { form_id: 5 });
    expect(found.map((followup) => followup.id)).toEqual([key]);
    expect(() => sandbox.store.followups.update('nobody', {})).toThrow('no record has the key nobody');
  });
});

describe('a simulated day', () => {
  it('the shares of expired inspections, incomplete trainings and open follow-ups remain similar over six weeks', async () => {
    const sandbox = await createTestSandbox({ size: { followups: 600 } });
    const { store } = sandbox;
    const shares = () => {
      const equipment = [...store.equipment.values()].filter((one) => one.isInService);
      const employees = [...store.employees.values()];
      return {
        expired: equipment.filter(({ status }) => status === 'expired').length / equipment.length,
        incomplete: employees.filter(({ status }) => status === 'incomplete').length / employees.length,
        open: [...store.followups.values()].filter(({ open }) => open).length,
      };
    };
    const before = shares();
    const known = store.followups.size;
    for (let day = 0; day < 42; day += 1) {
      sandbox.clock.now += 24 * 3_600_000;
      sandbox.live.day();
    }
    const after = shares();
    expect(after.expired).toBeGreaterThan(0.01);
    expect(after.expired).toBeLessThan(before.expired + 0.1);
    expect(Math.abs(after.incomplete - before.incomplete)).toBeLessThan(0.1);
    expect(Math.abs(after.open - before.open)).toBeLessThan(50);
    expect(store.followups.size).toBeGreaterThan(known + 20);
  });
});
