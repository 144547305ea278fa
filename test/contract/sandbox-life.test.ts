import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { NOON, askList, createTestSandbox } from './sandbox-ask.ts';

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
