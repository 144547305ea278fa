/** Days are counts: runs write today's, and days without a run are counted once from states. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Connection } from '../../src/engine/database/connection.ts';
import { countDays as countNewDay } from '../../src/engine/history/days.ts';
import { writeReportingTimezones } from '../../src/warehouse/view-settings.ts';
import { removeExpired } from '../../src/engine/history/retention.ts';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { followupsStream } from '../../src/engine/streams/followups.ts';
import { dayNumber, dayOf, toDay } from '../support/local-day.ts';
import { countStored } from '../support/count-days.ts';
import { forAllTests } from '../support/lifetime.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { casesOf } from '../support/proof.ts';
import { type PastFollowup, type PastState, randomFollowup, storePast } from '../support/random-past.ts';
import { createRandom } from '../support/seeded-random.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';

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
describe('days of random pasts', () => {
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
  const count = (account: string, nowMs?: number) => countStored(connection, [account], nowMs);
  const countAt = (accountId: string, nowMs: number) =>
    countNewDay(connection.db, { accountId, stream: 'followups', now: new Date(nowMs).toISOString() });

  async function start(
    account: string,
    seed: number,
    count: number,
    timezone: string | null,
    nowMs = NOW_MS,
  ): Promise<Map<string, PastFollowup>> {
    const random = createRandom(seed);
    const followups = Array.from({ length: count }, (_, index) =>
      randomFollowup(`f${index}`, { random, nowMs, days: 200 }),
    );
    await store(followups.flatMap((one) => storePast(account, one)));
    if (timezone !== null) await writeReportingTimezones(connection.db, [{ accountId: account, timezone }]);
    return new Map(followups.map((one) => [one.id, one]));
  }
  const store = (statements: readonly string[]) =>
    connection.query(`do $$ begin ${statements.join('; ')}; end $$`);

  /** Day by day, state by state. */
  function countDays(followups: Iterable<PastFollowup>, timezone: string): Record<View, string[]> {
    const day = (ms: number) => dayNumber(dayOf(String(ms), timezone) ?? '');
    const counts: Record<View, Map<string, number>> = {
      followup_daily: new Map(),
      followup_daily_by_assignee: new Map(),
      followup_daily_by_form: new Map(),
    };
    const add = (view: View, key: string, by = 1) => counts[view].set(key, (counts[view].get(key) ?? 0) + by);
    const today = day(Date.now());
    let first = today;
    for (const { created, states, deleted } of followups) {
      states.forEach((state, index) => {
        const from = day(index === 0 ? Math.min(created, state.from) : state.from);
        const next = states[index + 1]?.from ?? deleted;
        const to = next === null ? today + 1 : day(next);
        if (from < to) first = Math.min(first, from);
        for (let at = from; at < to && at <= today; at += 1) {
          const status = statusOf(state, at, day);
          add('followup_daily', `${toDay(at)} ${status} -`);
          add('followup_daily_by_assignee', `${toDay(at)} ${status} ${state.assignee ?? '-'}`);
          add('followup_daily_by_form', `${toDay(at)} ${status} ${state.form ?? '-'}`);
        }
      });
    }
    for (let at = first; at <= today; at += 1) {
      for (const status of ['open', 'overdue', 'closed'])
        add('followup_daily', `${toDay(at)} ${status} -`, 0);
    }
    return Object.fromEntries(
      Object.entries(counts).map(([view, found]) => [
        view,
        [...found].map(([key, count]) => `${key} ${count}`).toSorted(),
      ]),
    ) as Record<View, string[]>;
  }
  function statusOf(
    { isOpen, due, resolved, from }: PastState,
    at: number,
    day: (ms: number) => number,
  ): string {
    if (isOpen === null) return 'unknown';
    if (!isOpen && day(resolved ?? from) <= at) return 'closed';
    return due !== null && dayNumber(due) < at ? 'overdue' : 'open';
  }

  const ZONES = ['UTC', 'America/New_York', 'Pacific/Kiritimati'];
  test.each(casesOf({ few: ZONES.slice(2), all: ZONES }))(
    'the daily views in time zone %s count each state of each follow-up, in total, by assignee and by form',
    async (timezone) => {
      const followups = await start(timezone, 3, 120, timezone);
      expect(await readDays(query, timezone, 'followup_daily')).toEqual([]);
      await count(timezone);
      expect(await readAll(query, timezone)).toEqual(countDays(followups.values(), timezone));
    },
  );

  test('after a change of the time zone all days are those of the new time zone', async () => {
    const followups = await start('moved', 5, 60, 'Pacific/Niue');
    await count('moved');
    await writeReportingTimezones(connection.db, [{ accountId: 'moved', timezone: 'Pacific/Auckland' }]);
    await countAt('moved', Date.now());
    expect(await readAll(query, 'moved')).toEqual(countDays(followups.values(), 'Pacific/Auckland'));
  });

  const one = (id: string, created: number, ...states: PastState[]): PastFollowup => ({
    id,
    created,
    observer: null,
    states,
    messages: [],
    deleted: null,
  });
  const OPEN = { isOpen: true, due: null, assignee: 'p1', form: '11', resolved: null, completer: null };
  const dayAgo = (days: number) => dayOf(String(NOW_MS - days * DAY_MS), 'UTC') ?? '';
  /** `days ago: number, counted or not` of the open ones in the last days. */
  const readOpen = async (account: string, days: number) => {
    const rows = await query<{ one: string }>(
      `select concat(days_ago, ': ', followups, case when is_counted then ' counted' end) as one from safety.followup_daily
       where account_id = '${account}' and status = 'open' and days_ago <= ${days} order by days_ago desc`,
    );
    return rows.map((row) => row.one);
  };

  test('a stopped worker leaves its last numbers up to today; the next run counts the days between once, from states, and a follow-up that arrives late changes no day that is over', async () => {
    const ago = (days: number) => NOW_MS - days * DAY_MS;
    await store(storePast('stopped', one('1', ago(9), { ...OPEN, from: ago(9) })));
    await countAt('stopped', ago(5));
    expect(await readOpen('stopped', 6)).toEqual([
      '6: 1',
      '5: 1 counted',
      '4: 1',
      '3: 1',
      '2: 1',
      '1: 1',
      '0: 1',
    ]);
    await store([
      ...storePast('stopped', one('2', ago(3), { ...OPEN, from: ago(3) })),
      ...storePast('stopped', one('late', ago(8), { ...OPEN, from: ago(8) })),
      ...storePast(
        'stopped',
        one('1', ago(9), { ...OPEN, from: ago(9) }, { ...OPEN, isOpen: false, from: ago(2) }),
      ),
    ]);
    await countAt('stopped', NOW_MS);
    const expected = ['6: 1', '5: 1 counted', '4: 2', '3: 3', '2: 2', '1: 2', '0: 2 counted'];
    expect(await readOpen('stopped', 6)).toEqual(expected);
    const rows = () =>
      query(
        `select to_jsonb(d)::text || xmin::text as row from safety.day_counts d where account_id = 'stopped' order by 1`,
      );
    const before = await rows();
    await countAt('stopped', NOW_MS + 1);
    expect(await rows()).toEqual(before);
    await countAt('stopped', ago(2));
    expect(await rows()).toEqual(before);
    expect(
      await query(
        `select timezone, history_from::text, counted_to::text from safety.counted_days where account_id = 'stopped'`,
      ),
    ).toEqual([{ timezone: 'UTC', history_from: dayAgo(5), counted_to: dayAgo(0) }]);
  });

  test('a day before the first sync counts for the one who had the follow-up then, and for nobody before the first that handed it on', async () => {
    const ago = (days: number) => NOW_MS - days * DAY_MS;
    await store([
      ...storePast('held', {
        ...one('moved', ago(9), { ...OPEN, assignee: 'p3', from: ago(2) }),
        messages: [
          { sent: ago(8), user: 'p1', reassignee: null },
          { sent: ago(7), user: 'p1', reassignee: 'p2' },
          { sent: ago(4), user: 'p2', reassignee: 'p3' },
        ],
      }),
      ...storePast('held', one('kept', ago(6), { ...OPEN, assignee: 'p4', from: ago(2) })),
    ]);
    await count('held');
    const found = await query<{ one: string }>(
      `select concat_ws(' ', coalesce(assignee_id, 'nobody'), max(days_ago), min(days_ago)) as one from safety.followup_daily_by_assignee
       where account_id = 'held' and followups = 1 group by assignee_id order by 1`,
    );
    expect(found.map((row) => row.one)).toEqual(['nobody 9 8', 'p2 7 5', 'p3 4 0', 'p4 6 0']);
  });

  test('the days keep their counts when retention removes rows, and after a later complete count', async () => {
    const followups = await start('retained', 12, 80, 'America/New_York');
    await count('retained');
    const before = await readAll(query, 'retained');
    const gone = [...followups.values()].filter(
      ({ deleted }) => deleted !== null && deleted < NOW_MS - 10 * DAY_MS,
    );
    expect(gone.length).toBeGreaterThan(2);
    expect(await removeOld('retained')).toBe(gone.length);
    expect(await readAll(query, 'retained')).toEqual(before);
    await countAt('retained', Date.now());
    expect(await readAll(query, 'retained')).toEqual(before);
  });
});

describe('days after syncs', () => {
  let worker: TimedWorker;
  afterEach(() => worker.close());

  test('each run leaves the present numbers as those of today, of every stream, and freshness says since when there is a history', async () => {
    worker = await createTimedWorker({
      sandbox: { seed: 3, size: { followups: 60, employees: 5, equipment: 5, resources: 1, users: 10 } },
    });
    const today = dayOf(String(Date.now()), 'UTC') ?? '';
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
});
