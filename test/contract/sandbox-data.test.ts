import { beforeAll, describe, expect, it } from 'vitest';
import type { Equipment, Followup, Resource } from '../../src/sandbox/index.ts';
import { createTestSandbox, createSmallSandbox } from './sandbox-ask.ts';
import { forAllTests } from '../support/lifetime.ts';

const sandbox = forAllTests(() =>
  createSmallSandbox({
    size: { followups: 2000, equipment: 400, employees: 300, resources: 150, users: 120 },
  }),
);
let followups: Followup[];
let equipment: Equipment[];
let resources: Resource[];
beforeAll(() => {
  followups = [...sandbox.store.followups.values()];
  equipment = [...sandbox.store.equipment.values()];
  resources = [...sandbox.store.resources.values()];
});

function expectBoth<T>(items: readonly T[], has: (item: T) => boolean): void {
  expect(items.some(has)).toBe(true);
  expect(items.every(has)).toBe(false);
}

describe('generated data', () => {
  it('generated data has the odd values that the specification allows', () => {
    const messages = followups.flatMap((followup) => followup.messages);
    const notes = messages.map((message) => message.note);
    for (const odd of ['', '\n', '\t', '"', '\\', '👷', '安', "'"]) {
      expect(notes.some((note) => (odd === '' ? note === '' : note?.includes(odd)))).toBe(true);
    }
    expect(followups.some((followup) => followup.messages.length === 0)).toBe(true);
    expect(messages.some((message) => message.attachments?.length === 0)).toBe(true);
    expect(new Set(messages.map((message) => message.notify))).toEqual(new Set([undefined, true, false]));
    expectBoth(equipment, (item) => item.schedules === undefined && item.status === undefined);
    expect(equipment.some((item) => (item.schedules?.length ?? 0) > 1)).toBe(true);
    expect(equipment.some((item) => Object.keys(item.metavalues).length === 0)).toBe(true);
    expect(equipment.some((item) => item.fieldOffice_id.length === 0)).toBe(true);
    expect(equipment.some((item) => item.clients_id?.length === 0)).toBe(true);
    const schedules = equipment.flatMap((item) => item.schedules ?? []);
    expectBoth(schedules, (schedule) => schedule.expiresOn === null && schedule.lastCompletedOn === null);
    const metavalues = equipment.flatMap((item) => Object.values(item.metavalues));
    expect(new Set(metavalues.map((value) => typeof value))).toEqual(new Set(['number', 'string', 'object']));
    expect(resources.some((resource) => resource.tags.length === 0)).toBe(true);
  });

  it('a sandbox of size zero starts, and its changes create follow-ups', async () => {
    const empty = await createTestSandbox({
      size: { followups: 0, employees: 0, equipment: 0, resources: 0, users: 0 },
    });
    empty.live.step(50);
    expect(empty.store.followups.size).toBeGreaterThan(0);
  });
});
