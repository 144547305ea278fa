/** Days that are over are counted once and kept: what the views show does not depend on it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, openConnection } from '../../src/database/connection.ts';
import { deleteDays, keepDays } from '../../src/database/followup-days.ts';
import { writeReportingTimezones } from '../../src/database/reporting.ts';
import { removeExpired } from '../../src/database/retention.ts';
import { openStreamSession } from '../../src/database/stream-session.ts';
import { streamShape } from '../../src/database/table-shape.ts';
import type { Followup } from '../../src/sandbox/index.ts';
import { followupsStream } from '../../src/streams/followups.ts';
import { dayNumber, dayOf, toDay } from '../support/expected-views.ts';
import { casesOf } from '../support/proof.ts';
import { type PastFollowup, type PastState, randomFollowup, storePast } from '../support/random-past.ts';
import { createRandom } from '../support/seeded-random.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
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
const readKept = (query: Query, account: string) =>
  query<{ days: number; last: string | null }>(
    `select count(*)::int as days, max(date)::text as last from safety.followup_days where account_id = '${account}' and counted_by = 'all'`,
  );

describe('over random pasts', () => {
  let database: TestDatabase;
  let connection: Connection;
  const query: Query = (text) => connection.query(text);
  beforeAll(async () => {
    database = await createTestDatabase();
    connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  });
  afterAll(async () => {
    await connection.close();
    await database.drop();
  });

  async function inSession<T>(
    account: string,
    work: (session: NonNullable<Awaited<ReturnType<typeof openStreamSession>>>) => Promise<T>,
  ): Promise<T> {
    const session = await openStreamSession({
      databaseUrl: database.url,
      accountId: account,
      stream: 'followups',
      whenBusy: 'wait',
    });
    if (session === undefined) throw new Error('the stream is busy');
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }
  const keep = (account: string) => inSession(account, (session) => keepDays(session, account));

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
        first = Math.min(first, from);
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
    'days that begin in %s count each state of each follow-up, kept or not, by assignee and by form',
    async (timezone) => {
      const followups = await start(timezone, 3, 120, timezone);
      const expected = countDays(followups.values(), timezone);
      expect(await readAll(query, timezone)).toEqual(expected);
      const kept = await keep(timezone);
      expect(kept).toBeGreaterThan(100);
      expect(await readAll(query, timezone)).toEqual(expected);
      expect(await keep(timezone)).toBe(0);
    },
  );

  test('another time zone makes other days, at once and once they are kept', async () => {
    const followups = await start('moved', 5, 60, 'Pacific/Niue');
    await keep('moved');
    await writeReportingTimezones(connection.db, [{ accountId: 'moved', timezone: 'Pacific/Auckland' }]);
    const expected = countDays(followups.values(), 'Pacific/Auckland');
    expect(await readAll(query, 'moved')).toEqual(expected);
    expect(await keep('moved')).toBeGreaterThan(100);
    expect(await readAll(query, 'moved')).toEqual(expected);
  });

  test('today counts follow-ups as they are now, also where a device’s clock dates ahead', async () => {
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
      expect(await read()).toEqual(expected);
      await keep(account);
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

  test('one that is closed without a completion was closed when the source changed it, on that day and in its events', async () => {
    const [created, changed] = [NOW_MS - 10 * DAY_MS, NOW_MS - 4 * DAY_MS];
    await store([
      `insert into safety.followups (account_id, id, is_open, created_at, updated_at, _valid_from, _synced_at, _run_id)
       values ('untold', '1', false, to_timestamp(${created / 1000}), to_timestamp(${changed / 1000}), to_timestamp(${changed / 1000}), now(), 1)`,
    ]);
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

  test('where every follow-up is gone there are still days, today among them', async () => {
    const random = createRandom(17);
    const gone = {
      ...randomFollowup('gone', { random, nowMs: NOW_MS - 5 * DAY_MS, days: 30 }),
      deleted: NOW_MS - 4 * DAY_MS,
    };
    await store(storePast('gone', gone));
    await writeReportingTimezones(connection.db, [{ accountId: 'gone', timezone: 'Europe/Oslo' }]);
    const expected = countDays([gone], 'Europe/Oslo');
    expect(await readAll(query, 'gone')).toEqual(expected);
    await keep('gone');
    expect(await readAll(query, 'gone')).toEqual(expected);
    expect(await readDays(query, 'gone', 'followup_daily')).toContain(
      `${dayOf(String(Date.now()), 'Europe/Oslo') ?? ''} open - 0`,
    );
  });

  test('a day that was counted before the clock was set back is not told twice', async () => {
    const followups = await start('set back', 19, 30, 'Europe/Oslo');
    await keep('set back');
    await query(`insert into safety.followup_days
      select account_id, counted_by, date + 1, timezone, is_final, ids, statuses, followups from safety.followup_days d
      where account_id = 'set back' and date = (select max(date) from safety.followup_days where account_id = d.account_id)`);
    expect(await readAll(query, 'set back')).toEqual(countDays(followups.values(), 'Europe/Oslo'));
  });

  test('a day from which on something changed is not kept any more, nor those after it; the others are', async () => {
    await start('changed', 7, 30, 'Europe/Oslo');
    await keep('changed');
    const at = NOW_MS - 20 * DAY_MS;
    const iso = (ms: number) => new Date(ms).toISOString();
    await deleteDays(connection.db, {
      accountId: 'changed',
      now: iso(NOW_MS),
      from: [iso(NOW_MS - DAY_MS), iso(at), null],
    });
    const day = dayNumber(dayOf(String(at), 'Europe/Oslo') ?? '');
    expect((await readKept(query, 'changed'))[0]?.last).toBe(toDay(day - 1));
  });

  test('a reader who asks while days are counted sees them as they were, and as they are', async () => {
    const followups = await start('read', 9, 60, 'Europe/Oslo');
    const expected = countDays(followups.values(), 'Europe/Oslo');
    await keep('read');
    await inSession('read', async (session) => {
      // As a run that has stored something and dies before it has counted.
      await session.begin();
      await deleteDays(session.connection.db, {
        accountId: 'read',
        now: session.transactionTime?.now ?? '',
        from: ['2000-01-01T00:00:00Z'],
      });
      expect(await readAll(query, 'read')).toEqual(expected);
      await session.commit({ isDurable: true });
    });
    expect((await readKept(query, 'read'))[0]?.days).toBe(0);
    expect(await readAll(query, 'read')).toEqual(expected);
  });

  test('days stay as they were when rows that they count are removed, and whatever changes afterwards', async () => {
    const followups = await start('retained', 12, 80, 'America/New_York');
    await keep('retained');
    const before = await readAll(query, 'retained');
    const gone = [...followups.values()].filter(
      ({ deleted }) => deleted !== null && deleted < NOW_MS - 10 * DAY_MS,
    );
    expect(gone.length).toBeGreaterThan(2);
    await query(`insert into safety_sync.stream_state (account_id, stream) values ('retained', 'followups')`);
    await inSession('retained', async (session) => {
      const { rows } = await removeExpired({
        session,
        shape: streamShape(followupsStream),
        accountId: 'retained',
        retention: { deletedDays: 10 },
        signal: new AbortController().signal,
        monotonicMs: () => performance.now(),
      });
      expect(rows).toBe(gone.length);
    });
    expect(await readAll(query, 'retained')).toEqual(before);
    await deleteDays(connection.db, {
      accountId: 'retained',
      now: new Date().toISOString(),
      from: ['2000-01-01T00:00:00Z'],
    });
    expect(await readAll(query, 'retained')).toEqual(before);
    expect(await keep('retained')).toBeLessThan(12);
    expect(await readAll(query, 'retained')).toEqual(before);
  });
});

describe('with syncs', () => {
  let worker: TimedWorker;
  const query: Query = (text) => worker.query(text);
  afterEach(() => worker.close());

  /** With nothing kept, and everything as it was. */
  const readWorkedOut = () =>
    worker.connection.db.transaction(async (tx) => {
      await tx.execute('delete from safety.followup_days');
      const found = await readAll(
        async <Row>(text: string) => [...(await tx.execute(text))] as Row[],
        'default',
      );
      await tx.execute('rollback').catch(() => undefined);
      return found;
    });

  test.each(casesOf({ few: [1], all: [1, 2, 3, 4, 5] }))(
    'after any changes of any past the kept days are those that would be worked out anew (%i)',
    async (seed) => {
      const counted: number[] = [];
      worker = await createTimedWorker({
        sandbox: { seed, size: { followups: 60, employees: 1, equipment: 1, resources: 1, users: 10 } },
        events: {
          onDaysCounted: (_stream, days, failure) =>
            failure === undefined ? counted.push(days) : expect.fail(failure.message),
        },
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
      // Whoever stores something by hand does not wait for that; a run that has nothing to store counts them.
      expect((await readKept(query, 'default'))[0]?.last).toBeNull();
      expectSucceeded(await worker.run('followups', { kind: 'backfill' }));
      expect((await readKept(query, 'default'))[0]?.last).toBeNull();
      expect(counted).toEqual([]);
      expectSucceeded(await worker.run('followups', { kind: 'sync' }));
      const [kept] = await readKept(query, 'default');
      expect(kept?.last).not.toBeNull();
      expect(counted).toEqual([kept?.days]);
      for (let round = 0; round < casesOf({ few: 5, all: 20 }); round += 1) {
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
            // By hand, and the days were counted like that.
            await worker.query(
              `update safety.followups set due_on = '2026-01-01', assignee_id = 'by hand' where id = '${record.id}'`,
            );
            await worker.query('delete from safety.followup_days');
            await sync('sync');
            await sync('reconcile');
          }
        }
        if (gone.length > 0 && random.below(2) === 0)
          for (const record of gone.splice(0)) followups.put({ ...record, updated_on: now });
        await sync(random.below(2) === 0 ? 'sync' : 'reconcile');
        const [kept] = await readKept(query, 'default');
        expect(kept?.last).toBe(toDay(dayNumber(dayOf(String(Date.now()), 'America/New_York') ?? '') - 1));
        expect(await readAll(query, 'default')).toEqual(await readWorkedOut());
      }
    },
  );
});
