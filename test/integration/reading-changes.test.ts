/** Reading changes with the statements of docs/bi.md: the copy loses no row. */
import { readFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { STREAMS } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { cleanAccount, forgetPerson } from '../../src/engine/sync/forget.ts';
import { createGate } from '../support/gate.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { createRandom, type SeededRandom } from '../support/seeded-random.ts';
import { openTestDatabase } from '../support/test-database.ts';
import {
  createTestWorker,
  expectSucceeded,
  type TestWorker,
  type TestWorkerOptions,
} from '../support/world.ts';

const CHAPTER = /\n## Reading changes\n([\s\S]*?)\n## /;
const [, chapter = ''] = CHAPTER.exec(readFileSync('docs/bi.md', 'utf8')) ?? [];
/** The cursors, the rows of follow-ups, their messages; the view for tools with one cursor. */
const [CURSORS = '', ROWS = '', CHILDREN = ''] = [...chapter.matchAll(/```sql\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
);
const SHAPES = STREAMS.map(streamShape);
const EVERYTHING_MS = 10 * 365 * 24 * 3_600_000;

const connection = forEachTest(() => openTestDatabase());
beforeEach(async () => {
  await connection.query('set role safety_reader');
});

async function createWorker(options: TestWorkerOptions = {}): Promise<TestWorker> {
  const worker = await createTestWorker({
    ...options,
    database: { url: connection.url, drop: () => Promise.resolve() },
    settings: { followupsOverlapMs: EVERYTHING_MS, ...options.settings },
    sandbox: {
      size: { followups: 30, employees: 12, equipment: 24, resources: 8, users: 8 },
      ...options.sandbox,
    },
  });
  return untilTestEnds(worker);
}

/** Rows by table and key; the rows of a child are together under the key of their parent. */
type Copy = Map<string, Map<string, unknown>>;
type Row = Readonly<Record<string, unknown>>;

const keyOf = (row: Row, key: string): string => [row['account_id'], row[key]].join('/');

function putInto(copy: Copy, table: string, key: string, value: unknown): void {
  const rows = copy.get(table) ?? new Map<string, unknown>();
  copy.set(table, rows.set(key, value));
}

/** Materialized, because a node of Citus lacks the column names of a row: `to_jsonb` gives f1, f2 … there. */
const asJson = (statement: string): string =>
  `with x as materialized (${statement}) select to_jsonb(x)::text as row from x`;
const read = async (statement: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
  const rows = await connection.query<{ row: string }>(asJson(statement), parameters);
  return rows.map(({ row }) => JSON.parse(row) as Row);
};
function groupBy(rows: readonly Row[], key: string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(keyOf(row, key), [...(groups.get(keyOf(row, key)) ?? []), row]);
  return groups;
}
const inOrder = (rows: readonly Row[] | undefined): string[] =>
  (rows ?? []).map((row) => JSON.stringify(row)).toSorted();

async function readWarehouse(): Promise<Copy> {
  const all: Copy = new Map();
  for (const { parent, children } of SHAPES) {
    const [key] = parent.key;
    const parents = await read(`select * from safety.${parent.name}`);
    for (const row of parents) putInto(all, parent.name, keyOf(row, key), row);
    for (const child of children) {
      const [parentKey] = child.key;
      const rows = groupBy(await read(`select * from safety.${child.name}`), parentKey);
      for (const row of parents) {
        const own = keyOf(row, key);
        putInto(all, child.name, own, inOrder(rows.get(own)));
      }
    }
  }
  return all;
}

interface Cursor {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly complete_until: string;
}

/** Keeps a copy by the recipe; `takeCursors` and `takeRows` are apart so that something can happen between them. */
function createReader() {
  const copy: Copy = new Map();
  const last = new Map<string, string>();
  let cursors: readonly Cursor[] = [];
  return {
    copy,
    async takeCursors(): Promise<void> {
      cursors = (await read(CURSORS)) as unknown as Cursor[];
    },
    async takeRows(): Promise<number> {
      let taken = 0;
      for (const { account_id: account, stream, complete_until: until } of cursors) {
        const shape = SHAPES.find((one) => one.stream.name === stream);
        if (shape === undefined) throw new Error(`no stream ${stream}`);
        const [key] = shape.parent.key;
        const parameters = [account, last.get(`${account}/${stream}`) ?? '-infinity', until];
        const rows = await read(
          ROWS.replaceAll('safety.followups', `safety.${shape.parent.name}`),
          parameters,
        );
        for (const row of rows) putInto(copy, shape.parent.name, keyOf(row, key), row);
        for (const child of shape.children) {
          const [parentKey] = child.key;
          const statement = CHILDREN.replaceAll('safety.followups', `safety.${shape.parent.name}`)
            .replaceAll('safety.followup_messages', `safety.${child.name}`)
            .replaceAll('m.followup_id', `m.${parentKey}`)
            .replaceAll('f.id', `f.${key}`);
          const own = groupBy(await read(statement, parameters), parentKey);
          for (const row of rows)
            putInto(copy, child.name, keyOf(row, key), inOrder(own.get(keyOf(row, key))));
        }
        last.set(`${account}/${stream}`, until);
        taken += rows.length;
      }
      cursors = [];
      return taken;
    },
    async poll(): Promise<number> {
      await this.takeCursors();
      return await this.takeRows();
    },
  };
}

/** Records come, change, change only their children, go and come back. */
function changeSource({ sandbox: { store } }: TestWorker, random: SeededRandom, round: number): void {
  const now = Date.now();
  const some = <T>(keys: Iterable<T>): T[] => [...keys].filter(() => random.below(4) === 0);
  for (const key of some(store.equipment.keys())) {
    const one = store.equipment.get(key);
    if (one === undefined) continue;
    if (random.below(3) === 0) {
      store.equipment.delete(key);
      store.equipment.put({ ...one, id: `${one.id}-${round}` });
    } else if (random.below(2) === 0) store.equipment.update(key, { notes: `round ${round}` });
    else store.equipment.update(key, { schedules: one.schedules?.slice(1) });
  }
  for (const key of some(store.followups.keys())) {
    if (random.below(4) === 0) store.followups.delete(key);
    else {
      const due = random.below(2) === 0 ? 20_270_100 + round : undefined;
      store.followups.update(key, { response_id: round, due, messages: [], updated_on: now });
    }
  }
}

test('a reader gets rows of a first load before the load has ended', async () => {
  const last = createGate();
  let requests = 0;
  const worker = await createWorker({
    sandbox: {
      readings: { largestPage: 10 },
      hooks: {
        beforeResponse: async () => {
          requests += 1;
          // The changes since its beginning, after all records were committed.
          if (requests === 5) await last.opened;
        },
      },
    },
    settings: { sliceConcurrency: 1 },
  });
  const reader = createReader();
  let isDone = false;
  const running = worker.run('followups').finally(() => (isDone = true));
  await expect.poll(() => reader.poll()).toBeGreaterThan(0);
  expect(isDone).toBe(false);
  last.open();
  expectSucceeded(await running);
  await reader.poll();
  expect(reader.copy).toEqual(await readWarehouse());
});

test('a reader misses no row of a sync, backfill, reconcile, repair, cleaning or forget', async () => {
  const worker = await createWorker();
  const { store } = worker.sandbox;
  const random = createRandom(4);
  const privacy = {
    key: 'a key that nobody else has, 32 or more',
    omit: ['followup_messages.note', 'followups.due_on'],
    pseudonymize: [],
  };
  const run = async (kind: 'sync' | 'reconcile', streams: readonly StreamName[]) => {
    for (const stream of streams)
      expectSucceeded(await worker.run(stream, { kind, force: true, allowMassDelete: true }));
  };
  await run('sync', ['resources', 'followups', 'training-employee-status', 'equipments', 'users']);
  const reader = createReader();
  expect(await reader.poll()).toBeGreaterThan(0);
  const [followup = '', deleted = ''] = store.followups.keys();
  const [person = ''] = store.users.keys();
  const damage = () => worker.query(`update safety.followups set form_id = -1 where id = '${followup}'`);
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    sync: () => {
      changeSource(worker, random, 1);
      return run('sync', ['followups', 'equipments']);
    },
    backfill: async () => {
      changeSource(worker, random, 2);
      expectSucceeded(await worker.run('followups', { kind: 'backfill', restart: true }));
    },
    reconcile: async () => {
      await damage();
      store.followups.delete(deleted);
      await run('reconcile', ['followups']);
    },
    verify: async () => {
      await damage();
      const onlyRecord = { key: followup, stored: null };
      expectSucceeded(await worker.run('followups', { onlyRecord }));
    },
    retire: async () => {
      const retirePartition = worker.settings.equipmentTypes[0] ?? '';
      expectSucceeded(await worker.run('equipments', { retirePartition, allowMassDelete: true }));
    },
    protect: () => cleanAccount({ ...worker.context, privacy }),
    lift: async () => {
      await cleanAccount(worker.context, true);
      const states = () => worker.query('select count(*) from safety.followup_states');
      const before = await states();
      await run('reconcile', ['followups']);
      expect(await states()).toEqual(before);
    },
    forget: () => forgetPerson({ ...worker.context, privacy }, person),
  };
  for (const [name, step] of Object.entries(steps)) {
    await step();
    const taken = await reader.poll();
    const warehouse = await readWarehouse();
    const removed = [...reader.copy].flatMap(([table, rows]) =>
      [...rows.keys()].filter((key) => warehouse.get(table)?.has(key) !== true && rows.delete(key)),
    );
    expect(reader.copy, name).toEqual(warehouse);
    // Only with a person keys go, which leaves no trace.
    expect(removed.length > 0, name).toBe(name === 'forget');
    expect(taken, name).toBeGreaterThan(0);
  }
});
