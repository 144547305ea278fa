/** Days are counts: runs write today's, and days without a run are counted once from states. */
import { describe, expect, test } from 'vitest';
import type { Connection } from '../../src/engine/database/connection.ts';
import { countDays as countNewDay, renameCounted } from '../../src/engine/history/days.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { removeExpired } from '../../src/engine/history/retention.ts';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { followupsStream } from '../../src/engine/streams/followups.ts';
import { dayOf } from '../support/local-day.ts';
import { countStored } from '../support/count-days.ts';
import { forAllTests, untilTestEnds } from '../support/lifetime.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { addStates, addTo } from '../support/story.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { createTimedWorker, expectSucceeded } from '../support/world.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.now();
const VIEWS = {
  followup_daily: 'null::text',
  followup_daily_by_assignee: 'assignee_id',
  followup_daily_by_form: 'form_id::text',
} as const;
type View = keyof typeof VIEWS;
type Query = Pick<Connection, 'query'>['query'];

/** `date status id` and how many, sorted. */
async function readDays(query: Query, account: string, view: View): Promise<string[]> {
  const rows = await query<{ one: string }>(
    `select concat_ws(' ', date::text, status, coalesce(${VIEWS[view]}, '-'), followups) as one
     from safety.${view} where account_id = '${account}'`,
  );
  return rows.map(({ one }) => one).toSorted();
}
const readAll = async (query: Query, account: string) =>
  Object.fromEntries(
    await Promise.all(
      (Object.keys(VIEWS) as View[]).map(
        async (view) => [view, await readDays(query, account, view)] as const,
      ),
    ),
  );
describe('days of inserted rows', () => {
  const connection = forAllTests(() => openTestDatabase());
  const query: Query = (text) => connection.query(text);

  /** Removes the rows that were deleted more than ten days ago; returns how many. */
  async function removeOld(accountId: string): Promise<number> {
    await query(
      `insert into safety_sync.stream_state (account_id, stream) values ('${accountId}', 'followups')`,
    );
    const { rows } = await removeExpired({
      session: await openFreeStream(connection.url, 'followups', accountId),
      shape: streamShape(followupsStream),
      accountId,
      retention: { deletedDays: 10 },
      signal: new AbortController().signal,
    });
    return rows;
  }
  const count = (account: string) => countStored(connection, [account]);
  const countAt = (accountId: string, nowMs: number, isWhole = true) =>
    countNewDay(
      connection.db,
      { accountId, stream: 'followups', now: new Date(nowMs).toISOString() },
      isWhole,
    );

  const ZONE = 'Pacific/Kiritimati';
  test('numbers of an id that becomes one with days of its own are added: a person forgotten, found again and forgotten', async () => {
    await query(`insert into safety.day_counts (account_id, stream, counted_by, id, status, days, records, in_service) values
      ('again', 'followups', 'assignee', 'known', 'open', '{2026-01-03,2026-01-05}', '{2,0}', '{0,0}'),
      ('again', 'followups', 'assignee', 'hidden', 'open', '{2026-01-01,2026-01-03,2026-01-04}', '{3,0,1}', '{0,0,0}'),
      ('again', 'followups', 'assignee', 'other', 'open', '{2026-01-01}', '{7}', '{0}')`);
    await renameCounted(connection.db, 'again', (_, id) => (id === 'known' ? 'hidden' : id));
    expect(
      await query(`select id, days::text as days, records::text as records, in_service::text as in_service
        from safety.day_counts where account_id = 'again' order by id`),
    ).toEqual([
      {
        id: 'hidden',
        days: '{2026-01-01,2026-01-03,2026-01-04,2026-01-05}',
        records: '{3,2,3,1}',
        in_service: '{0,0,0,0}',
      },
      { id: 'other', days: '{2026-01-01}', records: '{7}', in_service: '{0}' },
    ]);
  });

  test('the daily views count each state of each follow-up, in total, by assignee and by form, in the time zone that the account has now', async () => {
    // 14 hours before UTC: an hour after midnight there.
    const day = (ago: number) => dayOf(NOW_MS - ago * DAY_MS, ZONE);
    const at = (ago: number) => `${day(ago)}T01:00:00+14:00`;
    const add = addTo(connection, 'zone');
    const walk = { is_open: true, assignee_id: 'p1', form_id: 11, due_on: day(3), created_at: at(4) };
    await addStates(add, 'closed', [
      { ...walk, from: at(4) },
      { ...walk, is_open: false, resolved_at: at(1), from: at(1) },
    ]);
    const audit = { is_open: true, assignee_id: 'p2', form_id: 12, created_at: at(3) };
    await addStates(add, 'moved', [
      { ...audit, from: at(3) },
      { ...audit, assignee_id: 'p1', from: at(1) },
    ]);
    await addStates(add, 'gone', [{ ...audit, form_id: null, from: at(3) }], { _deleted_at: at(1) });
    await addStates(add, 'unknown', [{ form_id: 11, created_at: at(2), from: at(2) }]);
    const zone = (timezone: string) => writeViewSettings(connection.db, [{ accountId: 'zone', timezone }]);
    await zone('Pacific/Niue');
    expect(await readDays(query, 'zone', 'followup_daily')).toEqual([]);
    await count('zone');
    await zone(ZONE);
    await countAt('zone', Date.now());
    const expected = (byDay: Readonly<Record<number, readonly string[]>>) =>
      Object.entries(byDay)
        .flatMap(([ago, rows]) => rows.map((row) => `${day(Number(ago))} ${row}`))
        .toSorted();
    const [total, byAssignee, byForm] = [
      ['open - 1', 'overdue - 0', 'closed - 1', 'unknown - 1'],
      ['open p1 1', 'closed p1 1', 'unknown - 1'],
      ['open 12 1', 'closed 11 1', 'unknown 11 1'],
    ];
    expect(await readAll(query, 'zone')).toEqual({
      followup_daily: expected({
        4: ['open - 1', 'overdue - 0', 'closed - 0'],
        3: ['open - 3', 'overdue - 0', 'closed - 0'],
        2: ['open - 2', 'overdue - 1', 'closed - 0', 'unknown - 1'],
        ...{ 1: total, 0: total },
      }),
      followup_daily_by_assignee: expected({
        4: ['open p1 1'],
        3: ['open p1 1', 'open p2 2'],
        2: ['open p2 2', 'overdue p1 1', 'unknown - 1'],
        ...{ 1: byAssignee, 0: byAssignee },
      }),
      followup_daily_by_form: expected({
        4: ['open 11 1'],
        3: ['open 11 1', 'open 12 1', 'open - 1'],
        2: ['open 12 1', 'open - 1', 'overdue 11 1', 'unknown 11 1'],
        ...{ 1: byForm, 0: byForm },
      }),
    });
  });

  const OPEN = { is_open: true, assignee_id: 'p1', form_id: 11 };
  const ago = (days: number) => new Date(NOW_MS - days * DAY_MS).toISOString();
  const dayAgo = (days: number) => dayOf(NOW_MS - days * DAY_MS, 'UTC');
  /** `days ago: number, counted or not` of the open ones in the last days. */
  const readOpen = async (account: string, days: number) => {
    const rows = await query<{ one: string }>(
      `select concat(days_ago, ': ', followups, case when is_counted then ' counted' end) as one from safety.followup_daily
       where account_id = '${account}' and status = 'open' and days_ago <= ${days} order by days_ago desc`,
    );
    return rows.map((row) => row.one);
  };

  test('a stopped worker leaves its last numbers up to today; the next run counts the days between once, from states, and a follow-up that arrives late changes no day that is over', async () => {
    const add = addTo(connection, 'stopped');
    const first = { ...OPEN, created_at: ago(9), from: ago(9) };
    await addStates(add, '1', [first]);
    await countAt('stopped', NOW_MS - 5 * DAY_MS);
    expect(await readOpen('stopped', 6)).toEqual([
      '6: 1',
      '5: 1 counted',
      '4: 1',
      '3: 1',
      '2: 1',
      '1: 1',
      '0: 1',
    ]);
    await addStates(add, '2', [{ ...OPEN, created_at: ago(3), from: ago(3) }]);
    await addStates(add, 'late', [{ ...OPEN, created_at: ago(8), from: ago(8) }]);
    await query(`delete from safety.followups where account_id = 'stopped' and id = '1'`);
    // Closed, and changed once more before the next run; the second was closed before it was opened again, too.
    const closed = { ...first, is_open: false, from: ago(2) };
    await addStates(add, '1', [first, { ...closed, resolved_at: ago(3) }]);
    await addStates(add, 'again', [
      { ...closed, from: ago(8), resolved_at: ago(8) },
      { ...OPEN, created_at: ago(9), from: ago(7) },
      { ...closed, resolved_at: ago(8) },
    ]);
    await countAt('stopped', NOW_MS);
    const expected = ['6: 1', '5: 1 counted', '4: 3', '3: 3', '2: 2', '1: 2', '0: 2 counted'];
    expect(await readOpen('stopped', 6)).toEqual(expected);
    const rows = () =>
      query(
        `select to_jsonb(d)::text || xmin::text as row from safety.day_counts d where account_id = 'stopped' order by 1`,
      );
    const before = await rows();
    await countAt('stopped', NOW_MS + 1);
    expect(await rows()).toEqual(before);
    await countAt('stopped', NOW_MS - 2 * DAY_MS);
    expect(await rows()).toEqual(before);
    expect(
      await query(
        `select timezone, history_from::text, counted_to::text from safety.counted_days where account_id = 'stopped'`,
      ),
    ).toEqual([{ timezone: 'UTC', history_from: dayAgo(5), counted_to: dayAgo(0) }]);
  });

  test('a run that has read a part of the stream counts today only, where the days before are counted', async () => {
    await addStates(addTo(connection, 'part'), '1', [{ ...OPEN, created_at: ago(9), from: ago(9) }]);
    await countAt('part', NOW_MS - 2 * DAY_MS, false);
    expect(await readOpen('part', 3)).toEqual([]);
    await countAt('part', NOW_MS - 2 * DAY_MS);
    await addStates(addTo(connection, 'part'), '2', [{ ...OPEN, created_at: ago(3), from: ago(3) }]);
    await countAt('part', NOW_MS, false);
    expect(await readOpen('part', 3)).toEqual(['3: 1', '2: 1 counted', '1: 1', '0: 1']);
    await countAt('part', NOW_MS - 2 * DAY_MS, false);
    expect(await readOpen('part', 3)).toEqual(['3: 1', '2: 2 counted', '1: 2', '0: 2']);
  });

  test('a day before the first sync counts for the one who had the follow-up then, and for nobody before the first that handed it on', async () => {
    const add = addTo(connection, 'held');
    await addStates(add, 'moved', [{ ...OPEN, assignee_id: 'p3', created_at: ago(9), from: ago(2) }]);
    await addStates(add, 'kept', [{ ...OPEN, assignee_id: 'p4', created_at: ago(6), from: ago(2) }]);
    const message = { followup_id: 'moved', user_id: 'p1' };
    await add(
      'safety.followup_messages',
      { ...message, id: 'a', position: 1, sent_at: ago(8) },
      { ...message, id: 'b', position: 3, sent_at: ago(7), reassignee_id: 'p2' },
      // Of two at the same time the later message counts.
      { ...message, id: 'x', position: 2, sent_at: ago(7), reassignee_id: 'p9' },
      { ...message, id: 'c', position: 4, sent_at: ago(4), user_id: 'p2', reassignee_id: 'p3' },
    );
    await count('held');
    const found = await query<{ one: string }>(
      `select concat_ws(' ', coalesce(assignee_id, 'nobody'), max(days_ago), min(days_ago)) as one from safety.followup_daily_by_assignee
       where account_id = 'held' and followups = 1 group by assignee_id order by 1`,
    );
    expect(found.map((row) => row.one)).toEqual(['nobody 9 8', 'p2 7 5', 'p3 4 0', 'p4 6 0']);
  });

  test('the days keep their counts when retention removes rows, and after a later complete count', async () => {
    const add = addTo(connection, 'retained');
    const old = { ...OPEN, created_at: ago(30), from: ago(30) };
    await addStates(add, 'live', [old]);
    await addStates(add, 'gone', [old], { _deleted_at: ago(12) });
    await addStates(add, 'just gone', [old], { _deleted_at: ago(5) });
    await count('retained');
    const before = await readAll(query, 'retained');
    expect(await removeOld('retained')).toBe(1);
    expect(await readAll(query, 'retained')).toEqual(before);
    await countAt('retained', Date.now());
    expect(await readAll(query, 'retained')).toEqual(before);
  });
});

test('each run leaves the present numbers as those of today, of every stream, and freshness says since when there is a history', async () => {
  const size = { followups: 60, employees: 5, equipment: 5, resources: 1, users: 10 };
  const worker = untilTestEnds(await createTimedWorker({ sandbox: { seed: 3, size } }));
  const today = dayOf(Date.now(), 'UTC');
  const streams = ['followups', 'training-employee-status', 'equipments'] as const;
  const views: [view: string, key: string, number: string, present: string][] = [
    [
      'followup_daily',
      'status',
      'followups',
      `select case when is_overdue then 'overdue' when is_open then 'open' else 'closed' end, count(*)::int
          from safety.followup_overview group by 1`,
    ],
    [
      'followup_daily_by_form',
      'form_id::text',
      'followups',
      `select form_id::text, count(*)::int from safety.followup_overview group by 1`,
    ],
    [
      'training_status_daily',
      'status',
      'employees',
      `select status, count(*)::int from safety.training_employee_status where _deleted_at is null group by 1`,
    ],
    [
      'equipment_status_daily',
      'status',
      'equipment',
      `select status, count(*)::int from safety.equipment where _deleted_at is null group by 1`,
    ],
  ];
  for (let round = 0; round < 2; round += 1) {
    for (const stream of streams) expectSucceeded(await worker.run(stream, { force: true }));
    for (const [view, key, number, present] of views)
      expect(
        await worker.query(
          `select ${key} as key, sum(${number})::int as n from safety.${view} where days_ago = 0 and ${number} > 0 and is_counted group by 1 order by 1`,
        ),
        view,
      ).toEqual(await worker.query(`select * from (${present}) p (key, n) order by 1`));
    worker.sandbox.live.step(30);
    worker.sandbox.store.recalculateTraining(worker.serviceNow());
    worker.time.now += 20 * 60_000;
  }
  expect(
    await worker.query(
      `select stream, history_from::text as "from", counted_to::text as "to" from safety.freshness where stream <> 'resources' order by 1`,
    ),
  ).toEqual(
    ['equipments', 'followups', 'training-employee-status'].map((stream) => ({
      stream,
      from: today,
      to: today,
    })),
  );
});
