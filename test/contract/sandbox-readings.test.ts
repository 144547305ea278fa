import { describe, expect, it } from 'vitest';
import { defaultReadings, optionalFields } from '../../src/sandbox/index.ts';
import type { Employee, Equipment, Followup, Readings, Resource } from '../../src/sandbox/index.ts';
import { NOON, ask, askList, errorOf, createSmallSandbox } from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';
import { CRANES } from '../support/equipment-types.ts';

const ALL_CRANES = { equipmentType_id: CRANES, service_type: 'all' };
const TRAINING = 'training-employee-status.list';

const sandbox = forEachTest(() => createSmallSandbox());

const read = (readings: Partial<Readings>): void => {
  Object.assign(sandbox.readings, defaultReadings, readings);
};
const followups = (parameters: object = {}): Promise<Followup[]> =>
  askList(sandbox, 'followups.list', { limit: 500, ...parameters });
const resources = (parameters: object = {}): Promise<Resource[]> =>
  askList(sandbox, 'resources.list', parameters);
const equipments = (parameters: object = {}): Promise<Equipment[]> =>
  askList(sandbox, 'equipments.list', { ...ALL_CRANES, ...parameters });

describe.each([
  ['resources.list', 20, [8, 8, 4], {}],
  ['equipments.list', 12, [8, 4], ALL_CRANES],
] as const)('paging of %s that was not requested', (method, total, eights, parameters) => {
  const last_page = eights.length;
  it.each([
    ['one-page', { total, last_page: 1 }, [total], 'parameter_unexpected'],
    ['pages', { total, last_page }, eights, 'parameter_invalid'],
  ] as const)(
    'the reading %s has the paging object %j, pages of %j records, and refuses the next page with %s',
    async (paging, object, lengths, error) => {
      const whole = await askList(sandbox, method, parameters);
      read({
        resourcesPaging: paging,
        equipmentsPaging: paging,
        unaskedPageSize: 8,
        pastLastPage: 'refused',
      });
      expect((await ask(sandbox, method, parameters)).body['paging']).toEqual(object);
      const pages = [await askList(sandbox, method, parameters)];
      for (let page = 2; page <= lengths.length; page += 1) {
        pages.push(await askList(sandbox, method, { ...parameters, page }));
      }
      expect(pages.map(({ length }) => length)).toEqual(lengths);
      expect(pages.flat()).toEqual(whole.slice(0, pages.flat().length));
      expect(await errorOf(sandbox, method, { ...parameters, page: lengths.length + 1 })).toBe(error);
    },
  );
});

describe('paging of followups and trainings', () => {
  it('the last page of an empty result can be 0 or 1', async () => {
    for (const lastPageWhenEmpty of [0, 1] as const) {
      read({ lastPageWhenEmpty });
      const { body } = await ask(sandbox, 'followups.list', { form_id: 1 });
      expect(body['paging']).toEqual({ total: 0, last_page: lastPageWhenEmpty });
    }
  });

  it('a page beyond the last one can be an error', async () => {
    read({ pastLastPage: 'refused' });
    expect(await errorOf(sandbox, 'followups.list', { page: 9 })).toBe('parameter_invalid');
    expect(await errorOf(sandbox, TRAINING, { page: 9 })).toBe('parameter_invalid');
  });

  it('a page can have fewer records than its limit although more pages follow', async () => {
    read({ largestPage: 7 });
    const { body } = await ask(sandbox, 'followups.list', { limit: 500 });
    expect(body['followups']).toHaveLength(7);
    expect(body['paging']).toEqual({ total: 240, last_page: 35 });
    expect(await askList(sandbox, TRAINING)).toHaveLength(7);
  });
});

describe('before, after and order of follow-ups', () => {
  it('the bounds before and after can include the given time', async () => {
    read({ followupBounds: 'inclusive' });
    const [one] = [...sandbox.store.followups.values()].slice(100);
    const created = one?.created_on ?? 0;
    const updated = one?.updated_on ?? 0;
    for (const parameters of [
      { created_before: created },
      { created_after: created },
      { updated_before: updated },
      { updated_after: updated },
      { created_before: created, created_after: created, updated_after: updated, updated_before: updated },
    ]) {
      expect((await followups(parameters)).map((followup) => followup.id)).toContain(one?.id);
    }
    expect(await followups({ created_before: created, created_after: created + 1 })).toEqual([]);
  });

  it('follow-ups can be sorted oldest first', async () => {
    const newestFirst = await followups();
    read({ followupOrder: 'oldest-first' });
    expect(await followups()).toEqual(newestFirst.reverse());
  });

  it('follow-ups can be unordered, with the same order for every page', async () => {
    const newestFirst = await followups();
    read({ followupOrder: 'unordered' });
    const shuffled = await followups();
    expect(shuffled).not.toEqual(newestFirst);
    const pages = [...(await followups({ limit: 120 })), ...(await followups({ limit: 120, page: 2 }))];
    expect(pages).toEqual(shuffled);
    const byId = (a: Followup, b: Followup): number => Number(a.id) - Number(b.id);
    expect(shuffled.sort(byId)).toEqual(newestFirst.sort(byId));
  });

  it('versions can be sorted oldest first and messages newest first', async () => {
    const [version] = (await resources()).filter((resource) => resource.versions.length > 1);
    const [message] = (await followups()).filter((followup) => followup.messages.length > 1);
    read({ versionOrder: 'oldest-first', messageOrder: 'newest-first' });
    const turned = (await resources()).find((resource) => resource.id === version?.id);
    expect(turned?.versions).toEqual(version?.versions.toReversed());
    const turnedMessages = (await followups()).find((followup) => followup.id === message?.id);
    expect(turnedMessages?.messages).toEqual(message?.messages.toReversed());
  });
});

describe('types', () => {
  it('identifiers of decimal digits can be numbers, and others remain text', async () => {
    sandbox.store.users.put({ id: '007', name: 'Not a canonical number' });
    read({ usersInfo: 'user', identifiers: 'numbers' });
    const [followup] = await followups();
    expect(typeof followup?.id).toBe('number');
    expect(typeof followup?.messages[0]?.id).toBe('number');
    const [equipment] = await equipments();
    expect(typeof equipment?.equipmentType_id).toBe('string');
    expect(typeof equipment?.id).toBe('number');
    expect(typeof equipment?.schedules?.[0]?.schedule_id).toBe('number');
    const observers = (await followups()).map((item) => typeof item.m_observer_id);
    expect(new Set(observers)).toEqual(new Set(['number', 'string']));
    expect((await ask(sandbox, 'users.info', { user: '007' })).body['user']).toMatchObject({ id: '007' });
  });

  it('numbers can be text in records, paging and last_updated', async () => {
    const [plain] = await followups();
    read({ numbers: 'text' });
    const { body } = await ask(sandbox, 'followups.list', { limit: 500 });
    expect(body['paging']).toEqual({ total: '240', last_page: '1' });
    expect((body['followups'] as Followup[])[0]?.created_on).toBe(String(plain?.created_on));
    const training = await ask(sandbox, TRAINING);
    expect(training.body['last_updated']).toBe(String(NOON));
    const percents = (training.body['employees'] as Employee[]).map(
      (employee) => typeof employee.percent_complete,
    );
    expect(new Set(percents)).toEqual(new Set(['string']));
  });
});

describe('fields', () => {
  it('absent optional fields can be null', async () => {
    read({ absent: 'null' });
    const records = await followups();
    expect(records.every((followup) => 'due' in followup && 'resolved_on' in followup)).toBe(true);
    expect(records.some((followup) => (followup.due as unknown) === null)).toBe(true);
    expect(
      records.flatMap((followup) => followup.messages).every((message) => 'm_reassignee_id' in message),
    ).toBe(true);
    expect((await equipments()).every((equipment) => 'title' in equipment && 'clients_id' in equipment)).toBe(
      true,
    );
  });

  it('every optional field can be absent from all records', async () => {
    read({ leftOut: optionalFields });
    const text = JSON.stringify([await followups(), await equipments()]);
    expect(text).not.toMatch(/"(due|m_reassignee_id|signature|attachments|notify|clients_id|title)"/);
    expect((await resources()).every((resource) => typeof resource.title === 'string')).toBe(true);
  });

  it('a field can be left out by its name at any level', async () => {
    read({ leftOut: ['notes', 'tags', 'messages'] });
    expect((await equipments()).every((equipment) => !('notes' in equipment))).toBe(true);
    expect((await resources()).every((resource) => !('tags' in resource))).toBe(true);
    expect((await followups()).every((followup) => !('messages' in followup))).toBe(true);
  });

  it('unknown fields can have dots in their names', async () => {
    read({ extraFields: 'dotted' });
    const [record] = await resources();
    expect(record).toHaveProperty(['x.extra.field']);
    expect(record?.versions[0]).toHaveProperty(['x.extra.field']);
  });

  it('equipment can have a subtype of the requested type', async () => {
    read({ equipmentOwnType: 'sub-type' });
    const types = (await equipments()).map((record) => record.equipmentType_id);
    expect(new Set(types)).toEqual(new Set([CRANES, `${CRANES}.1`]));
    expect(types).toHaveLength(12);
  });

  it('unknown fields can occur at every level except in metavalues', async () => {
    const [plain] = await equipments();
    read({ extraFields: true });
    const { body } = await ask(sandbox, 'followups.list');
    expect(body).toHaveProperty('x_extra');
    const [followup] = body['followups'] as Followup[];
    expect(followup).toHaveProperty('x_extra');
    expect(followup?.messages[0]).toHaveProperty('x_extra');
    const [equipment] = await equipments();
    expect(equipment?.metavalues).toEqual(plain?.metavalues);
    expect(equipment?.schedules?.[0]).toHaveProperty('x_extra');
  });

  it('unknown values can occur in every field with a list of values', async () => {
    read({ unknownValues: true });
    const employees = await askList(sandbox, TRAINING);
    expect(employees.map((employee) => employee.status)).toContain('suspended');
    expect(employees.map((employee) => employee.status)).toContain('active');
    const versions = (await resources()).flatMap((resource) => resource.versions);
    expect(versions.map((version) => version.type)).toContain('video');
    const types = await Promise.all(
      sandbox.equipmentTypes.map((type) => equipments({ equipmentType_id: type })),
    );
    const statuses = types.flat().map((equipment) => equipment.status);
    expect(statuses).toContain('quarantined');
    const schedules = types.flat().flatMap((equipment) => equipment.schedules ?? []);
    expect(schedules.map((schedule) => schedule.status)).toContain('paused');
  });

  it('an empty metavalue can be the text NULL or a JSON null', async () => {
    const values = async (): Promise<unknown[]> =>
      (await equipments({ include_null_metavalues: true })).flatMap((item) => Object.values(item.metavalues));
    expect(await values()).toContain('NULL');
    read({ emptyMetavalue: null });
    expect(await values()).toContain(null);
    expect(await values()).not.toContain('NULL');
  });
});

describe('refusals', () => {
  it('unsupported parameters can be ignored', async () => {
    read({ unknownParameters: 'ignored' });
    expect(await resources({ page: 2, colour: 'red' })).toHaveLength(20);
    expect((await followups({ colour: 'red' })).length).toBe(240);
  });
});

describe('the store', () => {
  it('readings change responses only, not the store', async () => {
    const before = JSON.stringify([...sandbox.store.followups.values()]);
    read({
      identifiers: 'numbers',
      numbers: 'text',
      absent: 'null',
      extraFields: true,
      messageOrder: 'newest-first',
    });
    await followups();
    expect(JSON.stringify([...sandbox.store.followups.values()])).toBe(before);
  });
});
