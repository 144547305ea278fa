/**
 * The expected history, replayed in plain TypeScript from the source's state at each successful run; shares no SQL with the
 * worker.
 */
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { type Compared, type ColumnKind, SELECT, TABLES, toCell } from './source-oracle.ts';
import * as rows from './source-rows.ts';
import type { ExpectedRow, ExpectedTables } from './source-rows.ts';
import type { WireObject } from './source-wire.ts';

export const HISTORIES = {
  followup_history: { of: 'followups', untracked: ['updated_at'], extra: {} },
  training_employee_status_history: {
    of: 'training_employee_status',
    untracked: ['calculated_at'],
    extra: { calculated_at: 'ms' },
  },
  training_completion_history: { of: 'training_completions', untracked: [], extra: {} },
  equipment_history: { of: 'equipment', untracked: [], extra: {} },
  equipment_schedule_history: { of: 'equipment_schedules', untracked: [], extra: {} },
} as const satisfies Record<
  string,
  { of: keyof typeof TABLES; untracked: readonly string[]; extra: Record<string, ColumnKind> }
>;

export type HistoryName = keyof typeof HISTORIES;

/** Columns of the table that its history does not have. */
const STATELESS: readonly string[] = ['display_id', 'is_deleted_at_source'];
const columnsOf = (table: keyof typeof TABLES): [string, ColumnKind][] =>
  Object.entries<ColumnKind>(TABLES[table].columns).filter(([name]) => !STATELESS.includes(name));

interface HistoryRow {
  readonly key: string;
  /** The columns that define a state, as text. */
  readonly state: string;
  readonly row: ExpectedRow;
  /** Microseconds since 1970. */
  readonly from: number;
  readonly to: number | null;
}

function stateOf(history: HistoryName, row: ExpectedRow): { key: string; state: string } {
  const { of, untracked } = HISTORIES[history];
  const { key } = TABLES[of];
  const names = columnsOf(of).flatMap(([name]) =>
    (untracked as readonly string[]).includes(name) ? [] : [name],
  );
  return {
    key: key.map((name) => String(row[name])).join(' / '),
    state: JSON.stringify(names.map((name) => row[name] ?? null)),
  };
}

/** By key, then by time. */
export async function readHistory(compared: Compared, history: HistoryName): Promise<HistoryRow[]> {
  const { of, extra } = HISTORIES[history];
  const columns: [string, ColumnKind][] = [...columnsOf(of), ...Object.entries(extra)];
  const found = await compared.query<Record<string, string | null>>(
    `select ${columns.map(([name, kind]) => `${SELECT[kind](`t."${name}"`)} as "${name}"`).join(', ')},
       (extract(epoch from valid_from) * 1000000)::bigint::text as "from",
       (extract(epoch from valid_to) * 1000000)::bigint::text as "to"
     from safety.${history} t`,
  );
  return found
    .map((one) => {
      const row = Object.fromEntries(columns.map(([name, kind]) => [name, toCell(one[name] ?? null, kind)]));
      return {
        ...stateOf(history, row),
        row,
        from: Number(one['from']),
        to: one['to'] == null ? null : Number(one['to']),
      };
    })
    .toSorted((a, b) => (a.key === b.key ? a.from - b.from : a.key < b.key ? -1 : 1));
}

/**
 * `user from` of states with which an employee came back: they begin when that was observed, if the list is older than the
 * deletion.
 */
async function readReturns(compared: Compared): Promise<Set<string>> {
  const rows = await readHistory(compared, 'training_employee_status_history');
  return new Set(
    rows.flatMap(({ key, from }, index) => {
      const before = rows[index - 1];
      return before?.key === key && before.to !== from ? [`${key} ${from}`] : [];
    }),
  );
}

interface ReplayedState {
  readonly state: string;
  /** The source's own time of the state, ms; null: none. */
  readonly since: number | null;
  /** Whether the row was deleted when this state ended. */
  vanished: boolean;
}

export class StateReplay {
  readonly #seen = new Map<HistoryName, Map<string, ReplayedState[]>>();

  /** Call after a successful run of every stream, before the source changes again. */
  observe({ store }: Sandbox): void {
    const tables: ExpectedTables = {};
    const calculation = store.trainingCalculation();
    for (const record of store.followups.values()) rows.addFollowup(tables, record as unknown as WireObject);
    for (const record of calculation.employees) rows.addEmployee(tables, record as unknown as WireObject);
    for (const record of store.equipment.values()) {
      // The worker requests empty metafields, too.
      const fields = store.metafieldIds(record.equipmentType_id);
      const empty = Object.fromEntries(fields.map((field) => [field, 'NULL']));
      const asked = { ...record, metavalues: { ...empty, ...record.metavalues } };
      rows.addEquipment(tables, asked, '');
    }
    for (const history of Object.keys(HISTORIES) as HistoryName[]) {
      const since = (row: ExpectedRow): number | null =>
        history === 'followup_history'
          ? Number(row['updated_at'])
          : history.startsWith('training_')
            ? calculation.lastUpdated
            : null;
      this.#observeRows(history, tables[HISTORIES[history].of] ?? [], since);
    }
  }

  #observeRows(
    history: HistoryName,
    present: readonly ExpectedRow[],
    since: (row: ExpectedRow) => number | null,
  ): void {
    const seen = this.#seen.get(history) ?? new Map<string, ReplayedState[]>();
    this.#seen.set(history, seen);
    const keys = new Set<string>();
    for (const row of present) {
      const { key, state } = stateOf(history, row);
      keys.add(key);
      const states = seen.get(key) ?? [];
      seen.set(key, states);
      const last = states.at(-1);
      if (last === undefined || last.vanished || last.state !== state) {
        states.push({ state, since: since(row), vanished: false });
      }
    }
    for (const [key, states] of seen) {
      const last = states.at(-1);
      if (last !== undefined && !keys.has(key)) last.vanished = true;
    }
  }

  states(history: HistoryName): ReadonlyMap<string, readonly ReplayedState[]> {
    return this.#seen.get(history) ?? new Map<string, ReplayedState[]>();
  }

  /** Checks states, their order, gaps, ends and, if the source has them, starts. */
  async expectEqual(compared: Compared): Promise<void> {
    const returns = await readReturns(compared);
    for (const history of Object.keys(HISTORIES) as HistoryName[]) {
      const found = new Map<string, HistoryRow[]>();
      for (const row of await readHistory(compared, history)) {
        found.set(row.key, [...(found.get(row.key) ?? []), row]);
      }
      const replayed = this.states(history);
      expect([...found.keys()].toSorted(), history).toEqual([...replayed.keys()].toSorted());
      for (const [key, states] of replayed) {
        const actual = found.get(key) ?? [];
        expect(
          actual.map(({ state }) => state),
          `${history} ${key}`,
        ).toEqual(states.map(({ state }) => state));
        for (const [index, { vanished, since }] of states.entries()) {
          const [row, before, next] = [actual[index], actual[index - 1], actual[index + 1]];
          if (row === undefined) throw new Error('unreachable');
          const at = `${history} ${key} state ${index}`;
          if (next !== undefined && !vanished) expect(row.to, at).toBe(next.from);
          else if (next !== undefined) expect(row.to, at).toBeLessThanOrEqual(next.from);
          else expect(row.to === null, at).toBe(!vanished);
          if (row.to !== null) expect(row.to, at).toBeGreaterThan(row.from);
          // A completion does not exist before its employee.
          const isReturn =
            history === 'training_completion_history' &&
            row.from > (since ?? 0) * 1000 &&
            returns.has(`${key.split(' / ')[0] ?? ''} ${row.from}`);
          if (isReturn) continue;
          const isDated = since !== null && (before === undefined || since * 1000 > (before.to ?? 0));
          if (isDated || (since !== null && before === undefined)) {
            expect(row.from, at).toBe(since * 1000);
          }
        }
      }
    }
  }
}
