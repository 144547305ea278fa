import { beforeAll, describe, expect, it } from 'vitest';
import type { Followup } from '../../src/sandbox/index.ts';
import { NOON, ask, askList, createSmallSandbox, testRefusals } from './sandbox-ask.ts';
import { forAllTests } from '../support/lifetime.ts';

const sandbox = forAllTests(() => createSmallSandbox());
let all: Followup[];
beforeAll(() => {
  all = [...sandbox.store.followups.values()];
});

const list = (parameters: object = {}): Promise<Followup[]> => askList(sandbox, 'followups.list', parameters);
const ids = (followups: readonly Followup[]): string[] => followups.map((followup) => followup.id);
const sortedIds = (followups: readonly Followup[]): string[] => ids(followups).sort();

describe('order and pages', () => {
  it('follow-ups are sorted by creation, newest first', async () => {
    const created = (await list({ limit: 500 })).map((followup) => followup.created_on);
    expect(created).toHaveLength(240);
    expect(created).toEqual([...created].sort((a, b) => b - a));
  });

  it('all pages together contain each record once, and page 1 is the default', async () => {
    const pages: Followup[] = [];
    for (let page = 1; page <= 4; page += 1) pages.push(...(await list({ limit: 70, page })));
    expect(ids(pages)).toEqual(ids(await list({ limit: 500 })));
    expect(ids(await list({ limit: 70 }))).toEqual(ids(pages.slice(0, 70)));
  });

  it('a page beyond last_page is empty, with paging', async () => {
    const { body } = await ask(sandbox, 'followups.list', { limit: 100, page: 4 });
    expect(body).toEqual({ ok: true, paging: { total: 240, last_page: 3 }, followups: [] });
  });
});

describe('filters', () => {
  it('status overdue returns pending follow-ups whose due day has passed by the clock of the service', async () => {
    const expected = all.filter((followup) => followup.open && (followup.due ?? 99_999_999) < 20260302);
    expect(expected.length).toBeGreaterThan(0);
    expect(sortedIds(await list({ limit: 500, status: 'overdue' }))).toEqual(sortedIds(expected));
    sandbox.clock.now = NOON + 30 * 86_400_000;
    const later = all.filter((followup) => followup.open && (followup.due ?? 99_999_999) < 20260401);
    expect(later.length).toBeGreaterThan(expected.length);
    expect(sortedIds(await list({ limit: 500, status: 'overdue' }))).toEqual(sortedIds(later));
    sandbox.clock.now = NOON;
  });
});

describe('parameters', () => {
  testRefusals(() => sandbox, 'followups.list', {
    form_id: ['1201', null, true, []],
    limit: [0, -1, 501, 1.5, '100', null],
    page: [0, -1, 1.5, '1', null],
    status: ['closing', '', 'OPEN', 1, null],
    observer_id: [10001, null, []],
    assignee_id: [10001, null],
    response_id: ['400000', null],
    created_before: ['1700000000000', null, '2026-01-01'],
    created_after: ['1700000000000', null],
    updated_before: ['1700000000000', null],
    updated_after: ['1700000000000', null],
    followup_display_id: ['true', 1, null],
  });
});

describe('records', () => {
  it('times are numeric text, and an open follow-up has null for what its completion will set', async () => {
    for (const sent of await list({ limit: 500 })) {
      const { created_on, updated_on, resolved_on } = sandbox.store.followups.get(sent.id) ?? sent;
      expect(sent).toMatchObject({ created_on: String(created_on), updated_on: String(updated_on) });
      expect(sent.resolved_on).toBe(resolved_on === undefined ? null : String(resolved_on));
      expect([sent.due, sent.m_completer_id]).not.toContain(undefined);
      expect(typeof sent.deleted).toBe('boolean');
    }
  });

  it('followup_display_id adds the number that people see', async () => {
    const sent = await list({ limit: 2, followup_display_id: true });
    expect(sent).toMatchObject([{ followup_display_id: '240' }, { followup_display_id: '239' }]);
    expect((await list({ limit: 1 }))[0]).not.toHaveProperty('followup_display_id');
  });
});
