/** Days are counted by runs: spans that each change rewrites from its day on, and the newest day. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Connection } from '../../src/engine/database/connection.ts';
import { addDeltas, applyDeltas, countDays as countNewDay } from '../../src/engine/history/followup-days.ts';
import { writeReportingTimezones } from '../../src/warehouse/view-settings.ts';
import { removeExpired } from '../../src/engine/history/retention.ts';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import type { Followup } from '../../src/sandbox/index.ts';
import { followupsStream } from '../../src/engine/streams/followups.ts';
import { dayNumber, dayOf, toDay } from '../support/expected-views.ts';
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
/** The spans, each with the transaction that wrote it. */
const readSpans = (query: Query, account: string) =>
  query<{ counted_by: string; id: string; from_on: string; xmin: string }>(
    `select counted_by, id, from_on::text, xmin::text from safety.followup_days where account_id = '${account}'
     order by counted_by, id, from_on`,
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
      monotonicMs: () => performance.now(),
    });
    return rows;
  }
  const count = (account: string) => countStored(connection, [account]);

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
    await countNewDay(connection.db, {
      accountId: 'moved',
      stream: 'followups',
      now: new Date().toISOString(),
      keepsPeriods: true,
    });
    expect(await readAll(query, 'moved')).toEqual(countDays(followups.values(), 'Pacific/Auckland'));
  });

  test('after changes of single follow-ups the days equal those of a complete count', async () => {
    const followups = await start('changing', 21, 60, 'Europe/Oslo');
    await count('changing');
    const random = createRandom(22);
    const days = { accountId: 'changing', timezone: 'Europe/Oslo', finalBefore: null };
    for (let round = 0; round < casesOf({ few: 8, all: 100 }); round += 1) {
      const keys = [0, 1, 2].map(() => `f${random.below(70)}`);
      await addDeltas(connection.db, days, { keys: [...new Set(keys)], sign: -1 });
      for (const key of keys) {
        const next = randomFollowup(key, { random, nowMs: NOW_MS, days: 200 });
        followups.set(key, next);
        await store(storePast('changing', next));
      }
      await addDeltas(connection.db, days, { keys: [...new Set(keys)], sign: 1 });
      await applyDeltas(connection.db, 'changing');
    }
    expect(await readAll(query, 'changing')).toEqual(countDays(followups.values(), 'Europe/Oslo'));
  });

  test('a change of one follow-up rewrites only the latest spans of all follow-ups, of its assignee and of its form', async () => {
    await start('one', 23, 200, 'UTC');
    await count('one');
    const before = await readSpans(query, 'one');
    const days = { accountId: 'one', timezone: 'UTC', finalBefore: null };
    const today = dayOf(String(NOW_MS), 'UTC') ?? '';
    const [chosen] = await query<{ id: string; assignee_id: string; form_id: string }>(
      `select id, assignee_id, form_id from safety.followups where account_id = 'one' and is_open and _deleted_at is null
       and assignee_id is not null and form_id is not null limit 1`,
    );
    const keys = [chosen?.id ?? ''];
    await addDeltas(connection.db, days, { keys, sign: -1 });
    await query(
      `update safety.followups set _deleted_at = now() where account_id = 'one' and id = '${keys[0] ?? ''}'`,
    );
    await addDeltas(connection.db, days, { keys, sign: 1 });
    await applyDeltas(connection.db, 'one');
    const known = new Set(before.map((span) => JSON.stringify(span)));
    const written = (await readSpans(query, 'one')).filter((span) => !known.has(JSON.stringify(span)));
    expect(written.length).toBeGreaterThan(2);
    expect(new Set(written.map(({ counted_by: by, id }) => `${by} ${id}`))).toEqual(
      new Set(['all ', `assignee ${chosen?.assignee_id ?? ''}`, `form ${chosen?.form_id ?? ''}`]),
    );
    const latest = before.filter(({ counted_by: by, from_on: from }) => by === 'all' && from < today).at(-1);
    expect(
      written.filter(({ counted_by: by, from_on: from }) => by === 'all' && from < (latest?.from_on ?? '')),
    ).toEqual([]);
  });

  test('the day of today has the present states, even if a device’s clock dates some of them ahead', async () => {
    const [ahead, ago] = [NOW_MS + 400 * DAY_MS, NOW_MS - 9 * DAY_MS];
    const open: PastState = {
      isOpen: true,
      due: null,
      assignee: 'p1',
      form: '11',
      resolved: null,
      completer: null,
      from: ago,
    };
    const one = (id: string, created: number, ...states: PastState[]): PastFollowup => ({
      id,
      created,
      observer: null,
      states,
      messages: [],
      deleted: null,
    });
    for (const [account, timezone] of [
      ['ahead', 'Pacific/Auckland'],
      ['ahead without a time zone', null],
    ] as const) {
      await store(
        [
          one('raised ahead', ahead, open),
          one('closed ahead', ago - DAY_MS, open, {
            ...open,
            isOpen: false,
            resolved: ahead,
            from: ago + DAY_MS,
          }),
          one('raised and closed ahead', ahead, { ...open, isOpen: false, resolved: ahead }),
        ].flatMap((followup) => storePast(account, followup)),
      );
      if (timezone !== null) await writeReportingTimezones(connection.db, [{ accountId: account, timezone }]);
      const today = dayOf(String(Date.now()), timezone ?? 'UTC') ?? '';
      const yesterday = toDay(dayNumber(today) - 1);
      const read = async () => {
        const rows = await readDays(query, account, 'followup_daily');
        return rows.filter((row) => row.startsWith(today) || row.startsWith(yesterday));
      };
      const expected = [yesterday, today].flatMap((day) => [
        `${day} closed - 2`,
        `${day} open - 1`,
        `${day} overdue - 0`,
      ]);
      await count(account);
      expect(await read()).toEqual(expected);
      const figures = await query<{ id: string; days: number | null }>(
        `select id, coalesce(age_days, days_to_resolve) as days from safety.followup_overview where account_id = '${account}' order by id`,
      );
      expect(figures.map(({ id, days }) => `${id}: ${days}`)).toEqual([
        expect.stringMatching(/^closed ahead: 41\d$/),
        'raised ahead: 0',
        'raised and closed ahead: 0',
      ]);
    }
  });

  test('a follow-up without a completion time counts as closed on the day of its last update, in the days and in its events', async () => {
    const [created, changed] = [NOW_MS - 10 * DAY_MS, NOW_MS - 4 * DAY_MS];
    await store([
      `insert into safety.followups (account_id, id, is_open, created_at, updated_at, _valid_from, _synced_at, _run_id)
       values ('untold', '1', false, to_timestamp(${created / 1000}), to_timestamp(${changed / 1000}), to_timestamp(${changed / 1000}), now(), 1)`,
    ]);
    await count('untold');
    const day = (ms: number) => dayOf(String(ms), 'UTC') ?? '';
    const closed = await query<{ day: string }>(
      `select min(date)::text as day from safety.followup_daily where account_id = 'untold' and status = 'closed' and followups = 1`,
    );
    expect(closed).toEqual([{ day: day(changed) }]);
    const open = await query<{ first: string; days: number }>(
      `select min(date)::text as first, count(*)::int as days from safety.followup_daily where account_id = 'untold' and status = 'open' and followups = 1`,
    );
    expect(open).toEqual([{ first: day(created), days: dayNumber(day(changed)) - dayNumber(day(created)) }]);
    const events = await query<{ on: string }>(
      `select occurred_on::text as on from safety.followup_events where account_id = 'untold' and event = 'closed'`,
    );
    expect(events).toEqual([{ on: day(changed) }]);
  });

  test('if every follow-up is deleted, the days up to today are still there', async () => {
    const random = createRandom(17);
    const gone = {
      ...randomFollowup('gone', { random, nowMs: NOW_MS - 5 * DAY_MS, days: 30 }),
      deleted: NOW_MS - 4 * DAY_MS,
    };
    await store(storePast('gone', gone));
    await writeReportingTimezones(connection.db, [{ accountId: 'gone', timezone: 'Europe/Oslo' }]);
    const expected = countDays([gone], 'Europe/Oslo');
    await count('gone');
    expect(await readAll(query, 'gone')).toEqual(expected);
    expect(await readDays(query, 'gone', 'followup_daily')).toContain(
      `${dayOf(String(Date.now()), 'Europe/Oslo') ?? ''} open - 0`,
    );
  });

  test('days that are marked as invalid are counted anew, and the newest day stays, even if the clock of the database is set back', async () => {
    const followups = await start('set back', 19, 30, 'Europe/Oslo');
    await count('set back');
    const yesterday = new Date(NOW_MS - DAY_MS).toISOString();
    await query(`update safety.counted_days set is_valid = false where account_id = 'set back'`);
    await query(`delete from safety.followup_days where account_id = 'set back'`);
    await countNewDay(connection.db, {
      accountId: 'set back',
      stream: 'followups',
      now: yesterday,
      keepsPeriods: true,
    });
    expect(await readAll(query, 'set back')).toEqual(countDays(followups.values(), 'Europe/Oslo'));
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
    // All days are counted again: those before the removal cannot be.
    await count('retained');
    expect(await readAll(query, 'retained')).toEqual(before);
  });

  test('retention removes no row that was not counted', async () => {
    await start('uncounted', 12, 80, 'America/New_York');
    expect(await removeOld('uncounted')).toBe(0);
  });
});

describe('days after syncs', () => {
  let worker: TimedWorker;
  const query: Query = (text) => worker.query(text);
  afterEach(() => worker.close());

  /** All days, counted again. */
  const readCountedAnew = async () => {
    const before = await worker.query('select * from safety.followup_days order by 1, 2, 3, 4');
    await countStored(worker.connection, ['default']);
    const found = await readAll(query, 'default');
    // As the run left them: what it has to change is what it counted itself.
    await worker.query('delete from safety.followup_days');
    await worker.query(`insert into safety.followup_days
      select r.* from json_populate_recordset(null::safety.followup_days, '${JSON.stringify(before)}') r`);
    return found;
  };

  test.each(casesOf({ few: [], all: [1, 2, 3, 4, 5] }))(
    'after random changes and syncs the days equal those of a complete count (%i)',
    async (seed) => {
      worker = await createTimedWorker({
        sandbox: { seed, size: { followups: 60, employees: 1, equipment: 1, resources: 1, users: 10 } },
      });
      await writeReportingTimezones(worker.connection.db, [
        { accountId: 'default', timezone: 'America/New_York' },
      ]);
      const random = createRandom(seed);
      const { followups } = worker.sandbox.store;
      const gone: Followup[] = [];
      const sync = async (kind: 'sync' | 'reconcile') => {
        expectSucceeded(
          await worker.run('followups', { kind, trigger: 'schedule', force: true, allowMassDelete: true }),
        );
      };
      expectSucceeded(await worker.run('followups', { kind: 'sync' }));
      for (let round = 0; round < 20; round += 1) {
        worker.time.now += random.below(4 * 24) * 3_600_000;
        worker.sandbox.live.step(random.below(20));
        const now = worker.serviceNow();
        for (let change = random.below(3); change > 0; change -= 1) {
          const record = followups.get(random.pick([...followups.keys()]));
          if (record === undefined) continue;
          const at = now - random.below(60 * 24) * 3_600_000;
          const what = random.below(6);
          if (what === 0) {
            followups.put({
              ...record,
              id: `late-${round}-${change}`,
              created_on: at,
              // Some in microseconds, which the service does not send: a time beyond the year 9999.
              updated_on: random.below(3) === 0 ? at * 1000 : Math.max(at, now - 1000),
            });
          } else if (what === 1) followups.put({ ...record, open: false, resolved_on: at, updated_on: now });
          else if (what === 2)
            followups.put({ ...record, open: true, updated_on: now, due: 20_260_101 + random.below(25) });
          else if (what === 3)
            followups.put({
              ...record,
              m_assignee_id: random.pick(['10001', '10002']),
              updated_on: Math.min(at, now),
            });
          else if (what === 4 && followups.delete(record.id)) gone.push(record);
          else {
            await worker.query(
              `update safety.followups set due_on = '2026-01-01', assignee_id = 'by hand' where id = '${record.id}'`,
            );
            await sync('reconcile');
          }
        }
        if (gone.length > 0 && random.below(2) === 0)
          for (const record of gone.splice(0)) followups.put({ ...record, updated_on: now });
        await sync(random.below(2) === 0 ? 'sync' : 'reconcile');
        const [newest] = await query<{ counted_to: string }>(
          `select counted_to::text from safety.freshness where stream = 'followups'`,
        );
        expect(newest?.counted_to).toBe(dayOf(String(Date.now()), 'America/New_York'));
        expect(await readAll(query, 'default')).toEqual(await readCountedAnew());
      }
    },
  );

  test('a new day is shown after the next run, and the run rewrites no span', async () => {
    worker = await createTimedWorker({
      sandbox: { seed: 3, size: { followups: 60, employees: 5, equipment: 5, resources: 1, users: 10 } },
    });
    const streams = ['followups', 'training-employee-status', 'equipments'] as const;
    for (const stream of streams) expectSucceeded(await worker.run(stream));
    const expected = await readAll(query, 'default');
    const spans = await readSpans(query, 'default');
    await worker.query('update safety.counted_days set counted_to = counted_to - 1');
    const today = dayOf(String(Date.now()), 'UTC') ?? '';
    for (const view of ['followup_daily', 'training_status_daily', 'equipment_status_daily'])
      expect(await worker.query(`select from safety.${view} where date = '${today}'`)).toEqual([]);
    for (const stream of streams) expectSucceeded(await worker.run(stream, { force: true }));
    expect(await readAll(query, 'default')).toEqual(expected);
    expect(await readSpans(query, 'default')).toEqual(spans);
    for (const view of ['training_status_daily', 'equipment_status_daily'])
      expect(
        (await worker.query(`select from safety.${view} where date = '${today}'`)).length,
      ).toBeGreaterThan(0);
  });
});
