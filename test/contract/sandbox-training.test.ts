import { describe, expect, it } from 'vitest';
import type { Employee } from '../../src/sandbox/index.ts';
import {
  NOON,
  ask,
  askList,
  createTestSandbox,
  errorOf,
  testRefusals,
  createSmallSandbox,
} from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';

const METHOD = 'training-employee-status.list';
const MINUTE = 60_000;
const DAY = 86_400_000;

const sandbox = forEachTest(() => createSmallSandbox());

const list = (parameters: object = {}): Promise<Employee[]> => askList(sandbox, METHOD, parameters);

function plant(id: string, completions: Employee['last_completed'], required: number[]): void {
  sandbox.store.employees.putLiving({
    status: 'unassigned',
    m_user_id: id,
    percent_complete: 0,
    incomplete_training_ids: required,
    complete_training_ids: [],
    last_completed: completions,
  });
}

describe('the 15-minute cache', () => {
  it('a response is unchanged for 15 minutes despite changes, and then is calculated again', async () => {
    const before = await ask(sandbox, METHOD);
    sandbox.store.employees.update('10003', { incomplete_training_ids: [399] });
    sandbox.store.employees.delete([...sandbox.store.employees.keys()][5] ?? '');
    sandbox.clock.now = NOON + 15 * MINUTE - 1;
    expect((await ask(sandbox, METHOD)).text).toBe(before.text);
    sandbox.clock.now = NOON + 15 * MINUTE;
    const after = await ask(sandbox, METHOD);
    expect(after.body['last_updated']).toBe(NOON + 15 * MINUTE);
    expect(after.body['employees']).toHaveLength(39);
  });
});

describe('statuses', () => {
  const valid = { date_number: 20260101, expiresOn: 20270101, startsExpiringOn: 20261201, is_required: true };

  it('an expiring training makes its employee expiring and then incomplete', async () => {
    plant('e1', [{ ...valid, id: 301, expiresOn: 20260310, startsExpiringOn: 20260305 }], [301]);
    const statusOn = async (now: number): Promise<unknown> => {
      sandbox.clock.now = now;
      sandbox.store.recalculateTraining();
      const [employee] = await list({ m_user_ids: ['e1'] });
      return [employee?.status, employee?.percent_complete, employee?.incomplete_training_ids];
    };
    expect(await statusOn(NOON)).toEqual(['active', 100, []]);
    expect(await statusOn(NOON + 3 * DAY)).toEqual(['expiring', 100, []]);
    expect(await statusOn(NOON + 8 * DAY)).toEqual(['expiring', 100, []]);
    expect(await statusOn(NOON + 9 * DAY)).toEqual(['incomplete', 0, [301]]);
  });
});

describe('parameters', () => {
  const valid = { date_number: 20260101, expiresOn: null, startsExpiringOn: null };

  it('without include_all_completions, last_completed contains required trainings only, without is_required', async () => {
    const completions = [
      { ...valid, id: 301, is_required: true },
      { ...valid, id: 302, is_required: false },
    ];
    plant('e3', completions, [301]);
    const m_user_ids = ['e3'];
    for (const parameters of [{ m_user_ids }, { m_user_ids, include_all_completions: false }]) {
      const [employee] = await list(parameters);
      expect(employee?.last_completed).toEqual([{ ...valid, id: 301 }]);
    }
    const [employee] = await list({ m_user_ids, include_all_completions: true });
    expect(employee?.last_completed).toEqual(completions);
  });

  it('limit is 1000 by default and at most 1000, and paging has the last page', async () => {
    const large = await createTestSandbox({ size: { employees: 1001, followups: 0 } });
    const { body } = await ask(large, METHOD);
    expect(body['employees']).toHaveLength(1000);
    expect(body['paging']).toEqual({ total: 1001, last_page: 2, page: 1 });
    expect(await askList(large, METHOD, { page: 2 })).toHaveLength(1);
    expect(await askList(large, METHOD, { page: 3 })).toEqual([]);
    expect(await errorOf(large, METHOD, { limit: 1001 })).toBe('parameter_invalid');
    expect(await askList(large, METHOD, { limit: 1000 })).toHaveLength(1000);
  });

  testRefusals(() => sandbox, METHOD, {
    training_ids: [301, '301', ['301'], [null], null],
    m_user_ids: ['10003', [10003], [null], null],
    limit: [0, 1001, 2.5, '10', null],
    page: [0, 1.5, '1', null],
    include_all_completions: ['true', 1, null],
  });
});
