/** The sandbox's generated world, and how it changes. */
import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { NOON, askList, createTestSandbox } from './sandbox-ask.ts';

const everything = ({ store }: Sandbox): string =>
  JSON.stringify(
    [store.followups, store.resources, store.employees, store.equipment, store.users].map((table) => [
      ...table,
    ]),
  );

test('equal seeds, sizes and clocks produce equal sources, before and after equal changes', async () => {
  const one = await createTestSandbox({ seed: 7, live: { deletions: true } });
  const two = await createTestSandbox({ seed: 7, live: { deletions: true } });
  expect(everything(one)).toBe(everything(two));
  one.live.step(300);
  two.live.step(300);
  expect(everything(one)).toBe(everything(two));
});

test('generated data has the odd values that the specification allows', async () => {
  const { store } = await createTestSandbox({ size: { followups: 2000, equipment: 400 } });
  const followups = [...store.followups.values()];
  const messages = followups.flatMap((followup) => followup.messages);
  const notes = messages.map((message) => message.note);
  for (const odd of ['\n', '\t', '"', '\\', '👷', '安', "'"])
    expect(notes.some((note) => note?.includes(odd))).toBe(true);
  expect(notes).toEqual(expect.arrayContaining(['', null]));
  expect(followups.some((followup) => followup.messages.length === 0)).toBe(true);
  expect(new Set(messages.map((message) => message.notify))).toEqual(new Set([undefined, true, false]));
  const equipment = [...store.equipment.values()];
  expect(new Set(equipment.map((item) => typeof item.schedules))).toEqual(new Set(['undefined', 'object']));
  expect(equipment.some((item) => item.fieldOffice_id.length === 0)).toBe(true);
  const schedules = equipment.flatMap((item) => item.schedules ?? []);
  expect(schedules.some((schedule) => schedule.expiresOn === null)).toBe(true);
  const metavalues = equipment.flatMap((item) => Object.values(item.metavalues));
  expect(new Set(metavalues.map((value) => typeof value))).toEqual(new Set(['number', 'string', 'object']));
});

test('changes raise, close, reopen, reassign and postpone follow-ups, and updated_after finds all that changed', async () => {
  const sandbox = await createTestSandbox({ size: { followups: 800 } });
  const before = new Map(sandbox.store.followups);
  sandbox.clock.now = NOON + 60_000;
  sandbox.live.step(400);
  const sent = await askList(sandbox, 'followups.list', { updated_after: NOON + 59_999, limit: 500 });
  const changed = [...sandbox.store.followups.values()].filter((one) => before.get(one.id) !== one);
  expect(sent.map(({ id }) => id).toSorted()).toEqual(changed.map(({ id }) => id).toSorted());
  const pairs = changed.map((now) => ({ was: before.get(now.id), now }));
  for (const hasHappened of [
    ({ was }) => was === undefined,
    ({ was, now }) => was?.open === true && !now.open,
    ({ was, now }) => was?.open === false && now.open,
    ({ was, now }) => was !== undefined && was.m_assignee_id !== now.m_assignee_id,
    ({ was, now }) => was !== undefined && was.due !== now.due,
  ] satisfies ((pair: (typeof pairs)[number]) => boolean)[])
    expect(pairs.some(hasHappened), hasHappened.toString()).toBe(true);
});

test('changes complete trainings, hire, inspect, buy and retire equipment, and write documents', async () => {
  const sandbox = await createTestSandbox();
  const { employees, equipment, resources, users } = sandbox.store;
  const before = {
    employees: new Map(employees),
    equipment: new Map(equipment),
    resources: new Map(resources),
  };
  const known = users.size;
  sandbox.clock.now = NOON + 60_000;
  sandbox.live.step(1500);
  const isNot = <T>(was: T | undefined, now: T) => was !== undefined && was !== now;
  expect([...employees].some(([key, now]) => isNot(before.employees.get(key)?.status, now.status))).toBe(
    true,
  );
  for (const field of ['isInService', 'status'] as const)
    expect([...equipment].some(([key, now]) => isNot(before.equipment.get(key)?.[field], now[field]))).toBe(
      true,
    );
  expect(
    [...resources].some(([key, { versions }]) =>
      isNot(before.resources.get(key)?.versions.length, versions.length),
    ),
  ).toBe(true);
  expect(users.size).toBeGreaterThan(known);
  expect(equipment.size).toBeGreaterThan(before.equipment.size);
});
