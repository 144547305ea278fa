import { describe, expect, it } from 'vitest';
import { ask, askList, errorOf, get, createSmallSandbox } from './sandbox-ask.ts';
import { forAllTests } from '../support/lifetime.ts';

const sandbox = forAllTests(() => createSmallSandbox({ readings: { usersInfo: 'user' } }));

describe('resources.list', () => {
  it('resources.list returns every resource in one response without paging', async () => {
    const { body } = await ask(sandbox, 'resources.list');
    expect(Object.keys(body)).toEqual(['ok', 'resources']);
    expect(body['resources']).toEqual([...sandbox.store.resources.values()]);
  });

  it('versions are sorted newest first, a link has no file, and only a file has a size', async () => {
    const resources = await askList(sandbox, 'resources.list');
    const versions = resources.flatMap((resource) => resource.versions);
    expect(new Set(versions.map((version) => version.type))).toEqual(new Set(['file', 'link']));
    for (const version of versions) {
      if (version.type === 'link') {
        expect(version.file).toBeNull();
        expect(version.link).toMatch(/^https:/);
      } else {
        expect(version.file).toMatch(/\.pdf$/);
        expect(version).not.toHaveProperty('link');
        expect(version.size).toBeGreaterThan(0);
      }
    }
    for (const resource of resources) {
      const created = resource.versions.map((version) => version.created);
      expect(created).toEqual([...created].sort((a, b) => b - a));
    }
    expect(resources.some((resource) => resource.versions.length > 1)).toBe(true);
  });
});

const nameOf = (id: string): string => {
  const { firstname = '', lastname = '' } = sandbox.store.users.get(id) ?? {};
  return `${firstname} ${lastname}`;
};

describe('users.info', () => {
  it('users.info returns a user as users.list does, by the parameter id, and refuses the parameter of the specification', async () => {
    sandbox.readings.usersInfo = 'id';
    const user = sandbox.store.users.get('10003');
    expect((await ask(sandbox, 'users.info', { id: '10003' })).body).toEqual({ ok: true, user });
    expect(await errorOf(sandbox, 'users.info', { user: 10003 })).toBe('parameter_unexpected');
    sandbox.readings.usersInfo = 'user';
  });

  it('users.info returns id and name of a user that is given as a number or as text', async () => {
    const expected = { ok: true, user: { id: '10003', name: nameOf('10003') } };
    expect((await ask(sandbox, 'users.info', { user: 10003 })).body).toEqual(expected);
    expect((await ask(sandbox, 'users.info', { user: '10003' })).body).toEqual(expected);
    expect((await get(sandbox, 'users.info', { token: sandbox.token, user: 10003 })).body).toEqual(expected);
  });

  it('every user id of a follow-up, an employee or equipment exists', () => {
    const { users, followups, employees, equipment } = sandbox.store;
    for (const followup of followups.values()) {
      expect(users.has(followup.m_observer_id)).toBe(true);
      expect(users.has(followup.m_assignee_id)).toBe(true);
      for (const message of followup.messages) expect(users.has(message.m_user_id)).toBe(true);
    }
    for (const id of employees.keys()) expect(users.has(id)).toBe(true);
    for (const item of equipment.values())
      expect(item.assignedUsers_id.every((id) => users.has(id))).toBe(true);
  });
});
