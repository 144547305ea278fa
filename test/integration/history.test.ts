/** Histories: every state that a run has seen, each once, without gaps or overlaps. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Employee, Followup } from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { casesOf } from '../support/proof.ts';
import { createRandom } from '../support/seeded-random.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { NOON } from '../support/test-clock.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/world.ts';

const SIZE = { followups: 40, employees: 25, equipment: 30, resources: 2, users: 10 };
const EVERYTHING_MS = 10 * 365 * 24 * 60 * MINUTE_MS;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(size: Partial<typeof SIZE> = {}): Promise<void> {
  worker = await createTimedWorker({
    settings: { followupsOverlapMs: EVERYTHING_MS },
    sandbox: { size: { ...SIZE, ...size } },
  });
}

const STREAMS = ['followups', 'training-employee-status', 'equipments'] as const;
async function sync(streams: readonly (typeof STREAMS)[number][] = STREAMS): Promise<void> {
  for (const stream of streams) {
    expectSucceeded(
      await worker.run(stream, {
        kind: stream === 'followups' ? 'reconcile' : 'sync',
        force: true,
        allowMassDelete: true,
      }),
    );
  }
}

const later = (minutes: number) => {
  worker.time.now += minutes * MINUTE_MS;
};
/** Each history: its table, the key there, and which of its rows are live. */
const HISTORIES = {
  followup_history: ['followups', 'id', 't._deleted_at is null'],
  training_employee_status_history: ['training_employee_status', 'user_id', 't._deleted_at is null'],
  training_completion_history: [
    'training_completions',
    "user_id || ' / ' || training_id",
    'exists (select from safety.training_employee_status p where p.user_id = t.user_id and p._deleted_at is null)',
  ],
  equipment_history: ['equipment', 'id', 't._deleted_at is null'],
  equipment_schedule_history: [
    'equipment_schedules',
    "equipment_id || ' / ' || schedule_id",
    'exists (select from safety.equipment p where p.id = t.equipment_id and p._deleted_at is null)',
  ],
} as const;
type HistoryName = keyof typeof HISTORIES;
const NAMES = Object.keys(HISTORIES) as HistoryName[];
/** A change of these alone is no new state; the others are no part of one. */
const UNTRACKED = `'{updated_at,calculated_at,display_id,is_deleted_at_source,valid_from,valid_to}'::text[]`;
const STATE = `(select jsonb_object_agg(e.key, e.value)::text from jsonb_each(to_jsonb(t) - ${UNTRACKED}) e
    where e.key !~ '^_|_(label|name|key|group)$'
      and (e.key !~ '_on$' or not to_jsonb(t) ? regexp_replace(e.key, '_on$', '_at')))`;

interface State {
  readonly key: string;
  readonly state: string;
  /** Microseconds since 1970. */
  readonly from: number;
  readonly to: number | null;
}
/** By key, then by time. */
async function readHistory(history: HistoryName): Promise<State[]> {
  return await worker.query<State>(
    `select ${HISTORIES[history][1]} as key, ${STATE} as state, (extract(epoch from valid_from) * 1000000)::float8 as "from",
       (extract(epoch from valid_to) * 1000000)::float8 as "to" from safety.${history} t order by 1, valid_from`,
  );
}
/** Adds the rows of now to the states that were seen; `null` where a key is gone. */
async function observe(seen: Map<string, (string | null)[]>): Promise<void> {
  for (const history of NAMES) {
    const [table, key, isLive] = HISTORIES[history];
    const rows = await worker.query<{ key: string; state: string }>(
      `select ${key} as key, ${STATE} as state from safety.${table} t where ${isLive}`,
    );
    const present = new Map(rows.map((row) => [`${history} ${row.key}`, row.state]));
    for (const name of [...seen.keys()].filter((name) => name.startsWith(`${history} `)))
      if (!present.has(name) && seen.get(name)?.at(-1) !== null) seen.get(name)?.push(null);
    for (const [name, state] of present) {
      const states = seen.get(name) ?? [];
      if (states.at(-1) !== state) seen.set(name, [...states, state]);
    }
  }
}
/** Each state that was seen, once, from one to the next without gap or overlap. */
async function expectHistories(seen: ReadonlyMap<string, readonly (string | null)[]>): Promise<void> {
  const found = new Map<string, State[]>();
  for (const history of NAMES)
    for (const row of await readHistory(history))
      found.set(`${history} ${row.key}`, [...(found.get(`${history} ${row.key}`) ?? []), row]);
  expect([...found.keys()].toSorted()).toEqual([...seen.keys()].toSorted());
  for (const [name, rows] of found) {
    const states = seen.get(name) ?? [];
    expect(
      rows.map(({ state }) => state),
      name,
    ).toEqual(states.filter((state) => state !== null));
    expect(rows.at(-1)?.to === null, name).toBe(states.at(-1) !== null);
    for (const [place, { from, to }] of rows.entries()) {
      expect(to ?? Infinity, name).toBeGreaterThan(from);
      expect(rows[place + 1]?.from ?? Infinity, name).toBeGreaterThanOrEqual(to ?? Infinity);
    }
    if (!states.includes(null))
      expect(rows.slice(0, -1).map(({ to }) => to)).toEqual(rows.slice(1).map(({ from }) => from));
  }
}
const historyOf = async (history: HistoryName, key: string) =>
  (await readHistory(history))
    .filter((row) => row.key === key)
    .map((row) => ({ ...row, row: JSON.parse(row.state) as Record<string, unknown> }));
/** Deleted rows with a last state that does not end with the deletion. */
const wrongEnds = () =>
  worker.query(
    `select from (
       select _deleted_at, (select max(valid_to) from safety.followup_history h where h.id = f.id) as ended
       from safety.followups f
       union all
       select _deleted_at, (select max(valid_to) from safety.equipment_schedule_history h where h.equipment_id = e.id)
       from safety.equipment e where exists (select from safety.equipment_schedules c where c.equipment_id = e.id)) s
     where _deleted_at is not null and ended is distinct from _deleted_at`,
  );

describe('follow-ups', () => {
  const put = (patch: Partial<Followup>) =>
    worker.sandbox.store.followups.put({
      ...(SPECIMENS.followups.build('one') as unknown as Followup),
      updated_on: worker.serviceNow(),
      ...patch,
    });

  test('each change of the assignee begins a state without gap or overlap, even if the time of the source goes back or does not change', async () => {
    await start({ followups: 3 });
    for (const [assignee, at] of [
      ['A', 10],
      ['B', 5],
      ['A', 5],
      ['D', 10],
      ['E', 20],
    ] as const) {
      put({ m_assignee_id: assignee, updated_on: NOON + at });
      await sync(['followups']);
    }
    const history = await historyOf('followup_history', 'one');
    expect(history.map(({ row }) => row['assignee_id'])).toEqual(['A', 'B', 'A', 'D', 'E']);
    expect(history.map(({ from }) => from - (NOON + 10) * 1000)).toEqual([0, 1, 2, 3, 10_000]);
    expect(history.map(({ to }) => to)).toEqual([...history.slice(1).map(({ from }) => from), null]);
  });
});

describe('completions of trainings', () => {
  const NO_DAY = { expiresOn: null, startsExpiringOn: null, is_required: true };
  /** Each training with its day; returns when the list with them was calculated, µs since 1970. */
  async function sendList(days: Readonly<Record<number, number>> | null): Promise<number> {
    const { store } = worker.sandbox;
    if (days === null) store.employees.delete('E');
    else {
      store.employees.put({
        ...(SPECIMENS['training-employee-status'].build('E') as unknown as Employee),
        status: 'active',
        last_completed: Object.entries(days).map(([id, day]) => ({
          id: Number(id),
          date_number: day,
          ...NO_DAY,
        })),
      });
    }
    const { lastUpdated } = store.recalculateTraining();
    await sync(['training-employee-status']);
    later(20);
    return lastUpdated * 1000;
  }
  const completions = async (training: number) =>
    (await historyOf('training_completion_history', `E / ${training}`)).map(({ row, from, to }) => [
      row['completed_on'],
      from,
      to,
    ]);

  test('a renewal with an unchanged status of the employee begins a state of this completion alone', async () => {
    await start();
    const first = await sendList({ 1: 20250110, 2: 20250111 });
    const sibling = () =>
      worker.query(
        `select ctid::text, xmin::text from safety.training_completions where user_id = 'E' and training_id = 2`,
      );
    const before = await sibling();
    const renewed = await sendList({ 1: 20260115, 2: 20250111 });
    expect(await completions(1)).toEqual([
      ['2025-01-10', first, renewed],
      ['2026-01-15', renewed, null],
    ]);
    expect(await completions(2)).toEqual([['2025-01-11', first, null]]);
    expect(await historyOf('training_employee_status_history', 'E')).toHaveLength(1);
    expect(await sibling()).toEqual(before);
  });

  test('the state of a completion ends with the calculation that lacks it, and a new one begins with the calculation that has it again', async () => {
    await start();
    const first = await sendList({ 1: 20250110 });
    const gone = await sendList({});
    expect(await completions(1)).toEqual([['2025-01-10', first, gone]]);
    await sendList({});
    const back = await sendList({ 1: 20250110 });
    expect(await completions(1)).toEqual([
      ['2025-01-10', first, gone],
      ['2025-01-10', back, null],
    ]);
  });
});

test.each(casesOf({ few: [], all: [1, 2, 3] }))(
  'after random changes, deletions, returns and broken runs the histories have each state that a run has seen (%i)',
  async (seed) => {
    await start();
    const random = createRandom(seed);
    const seen = new Map<string, (string | null)[]>();
    const { store, live, faults } = worker.sandbox;
    const gone: (() => void)[] = [];
    for (let round = 0; round < 8; round += 1) {
      live.step(random.below(61));
      for (const table of [store.followups, store.employees, store.equipment]) {
        const keys = [...table.keys()];
        const key = random.pick(keys);
        const record = table.get(key);
        if (record !== undefined && table.delete(key)) gone.push(() => void table.put(record));
      }
      if (gone.length > 0 && random.below(3) > 0) gone.splice(random.below(gone.length), 1)[0]?.();
      store.recalculateTraining();
      if (round === 1 || random.below(3) === 0) {
        faults.next(() => true, { kind: 'serverError' });
        worker.sandbox.hooks.beforeResponse = async () => {
          worker.sandbox.hooks.beforeResponse = undefined;
          await worker.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'safety-sync %' and datname = current_database()`,
          );
        };
        await worker.run(random.pick(STREAMS), {
          force: true,
          allowMassDelete: true,
        });
        worker.sandbox.hooks.beforeResponse = undefined;
      }
      await sync();
      await observe(seen);
      await expectHistories(seen);
      expect(await wrongEnds()).toEqual([]);
      later(16 + random.below(3000));
    }
    expect([...seen.values()].some((states) => states.length > 2 && states.includes(null))).toBe(true);
  },
  120_000,
);

describe('changes of the warehouse by hand', () => {
  const histories = () => Promise.all(NAMES.map(readHistory));
  const repair = async () => {
    for (const stream of STREAMS)
      expectSucceeded(await worker.run(stream, { kind: 'reconcile', force: true }));
  };
  /** One row has a past, and one has none. */
  const startWithPast = async () => {
    await start();
    await sync();
    later(10);
    worker.sandbox.live.step(60);
    worker.sandbox.store.recalculateTraining(worker.serviceNow());
    later(10);
    await sync();
    later(10);
  };

  const DAMAGE: [string, string][] = [
    ['follow-ups', `update safety.followups set is_open = not is_open, assignee_id = 'forged'`],
    [
      'schedules, by an additional row',
      `insert into safety.equipment_schedules (account_id, equipment_id, schedule_id, status, _valid_from)
        select account_id, id, 'forged', 'expired', now() from safety.equipment where _deleted_at is null`,
    ],
    [
      'completions of trainings',
      `update safety.training_completions set completed_on = '1999-12-31', is_required = not is_required`,
    ],
  ];
  test.each(casesOf({ few: DAMAGE.slice(1, 2), all: DAMAGE }))(
    'after a reconcile, a change by hand leaves no trace in the histories: %s',
    async (_what, damage) => {
      await startWithPast();
      const before = await histories();
      expect(before.every((rows) => rows.length > 0)).toBe(true);
      await worker.query(damage);
      await repair();
      expect(await histories()).toEqual(before);
    },
  );
});
