/**
 * Expected answers to the manager's questions of docs/questions.md, computed from the tables in plain TypeScript. Days are
 * in UTC.
 */
import { dayNumber } from './expected-views.ts';
import type { TestWorker } from './worker.ts';

export type Cell = string | number | boolean | null;
export type TableRow = Readonly<Record<string, Cell | readonly Cell[]>>;
export type Tables = Readonly<Record<string, readonly TableRow[]>>;
type Answer = Record<string, Cell>[];

const TABLES = [
  'followups',
  'followup_states',
  'followup_messages',
  'users',
  'labels',
  'equipment',
  'equipment_schedules',
  'equipment_schedule_states',
  'training_employee_status',
  'training_completions',
  'training_completion_states',
  'training_employee_status_states',
] as const;

/** Those of one account. */
export async function readTables(worker: TestWorker, accountId = 'default'): Promise<Tables> {
  const read = async (table: string) => {
    const rows = await worker.query<{ text: string }>(
      `select (to_jsonb(t) - '_raw')::text as text from safety.${table} t where account_id = '${accountId}'`,
    );
    return rows.map((row) => JSON.parse(row.text) as TableRow);
  };
  return Object.fromEntries(
    await Promise.all(TABLES.map(async (table) => [table, await read(table)] as const)),
  );
}

const DAY_MS = 86_400_000;
const text = (cell: TableRow[string] | undefined): string | null =>
  cell === null || cell === undefined ? null : String(cell);
const msOf = (cell: TableRow[string] | undefined): number | null => {
  const at = text(cell);
  return at === null ? null : Date.parse(at);
};
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const dayOfCell = (cell: TableRow[string] | undefined): string | null => {
  const ms = msOf(cell);
  return ms === null ? null : dayAt(ms);
};
const days = (from: string, to: string): number => dayNumber(to) - dayNumber(from);
const monthOf = (day: string): string => `${day.slice(0, 7)}-01`;
const percent = (part: number, all: number): number | null =>
  all === 0 ? null : Math.round((1000 * part) / all) / 10;

function groups<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const item of items) found.set(keyOf(item), [...(found.get(keyOf(item)) ?? []), item]);
  return [...found];
}

/** Equals `percentile_cont`. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? 0;
  return low + (at - Math.floor(at)) * ((sorted[Math.ceil(at)] ?? 0) - low);
}

type Order = readonly (readonly [column: string, direction: 1 | -1])[];

/** Equals `order by`: texts are sorted by code points, as in the tests' databases. */
function ordered(rows: Answer, order: Order, limit = Infinity): Answer {
  const compare = (one: Cell, other: Cell): number =>
    one === other ? 0 : (one ?? '') < (other ?? '') ? -1 : 1;
  return rows
    .toSorted((one, other) => {
      for (const [column, direction] of order) {
        const found = compare(one[column] ?? null, other[column] ?? null) * direction;
        if (found !== 0) return found;
      }
      return 0;
    })
    .slice(0, limit);
}

interface Followup {
  readonly id: string;
  readonly form: string;
  readonly formId: string | null;
  readonly assignee: string | null;
  readonly isOpen: boolean;
  readonly createdMs: number;
  readonly createdOn: string;
  readonly resolvedMs: number | null;
  readonly resolvedOn: string | null;
  readonly due: string | null;
  readonly inTime: boolean | null;
  readonly daysToResolve: number | null;
  readonly isOverdue: boolean;
  /** In order, the present state last. */
  readonly states: readonly TableRow[];
}

interface AnswerContext {
  readonly tables: Tables;
  readonly today: string;
  readonly nowMs: number;
}

function readFollowups(
  { tables, today }: AnswerContext,
  labelOf: (kind: string, id: string) => string,
): Followup[] {
  return (tables['followups'] ?? [])
    .filter((row) => row['_deleted_at'] === null)
    .map((row) => {
      const isOpen = row['is_open'] === true;
      // The service may keep the completion of a follow-up that was opened again.
      const resolvedAt = isOpen ? null : row['resolved_at'];
      const [due, resolvedOn] = [text(row['due_on']), dayOfCell(resolvedAt)];
      const createdOn = dayOfCell(row['created_at']) ?? '';
      const formId = text(row['form_id']);
      const states = (tables['followup_states'] ?? [])
        .filter((state) => state['id'] === row['id'])
        .toSorted((a, b) => (msOf(a['valid_from']) ?? 0) - (msOf(b['valid_from']) ?? 0));
      return {
        id: text(row['id']) ?? '',
        form: formId === null ? '' : labelOf('form', formId),
        formId,
        assignee: text(row['assignee_id']),
        isOpen,
        createdMs: msOf(row['created_at']) ?? 0,
        createdOn,
        resolvedMs: msOf(resolvedAt),
        resolvedOn,
        due,
        inTime: isOpen || due === null || resolvedOn === null ? null : resolvedOn <= due,
        daysToResolve: resolvedOn === null ? null : Math.max(0, days(createdOn, resolvedOn)),
        isOverdue: isOpen && due !== null && due < today,
        states: [...states, row],
      };
    });
}

const changes = (
  states: readonly TableRow[],
  isChange: (before: TableRow, after: TableRow) => boolean,
): number => states.filter((after, index) => index > 0 && isChange(states[index - 1] ?? {}, after)).length;

/** By the number of the question. */
export function expectedAnswers(context: AnswerContext): Record<number, Answer> {
  const { tables, today } = context;
  const of = (table: string): readonly TableRow[] => tables[table] ?? [];
  const names = new Map(of('users').map((row) => [text(row['id']), text(row['name'])]));
  const nameOf = (id: string | null): string | null => names.get(id) ?? null;
  const labels = new Map(of('labels').map((row) => [`${text(row['kind'])}/${text(row['id'])}`, row]));
  const labelOf = (kind: string, id: string): string => text(labels.get(`${kind}/${id}`)?.['label']) ?? id;
  const parentLabel = (kind: string, id: string): string | null => {
    const parent = text(labels.get(`${kind}/${id}`)?.['parent_id']);
    return parent === null ? null : text(labels.get(`${kind}/${parent}`)?.['label']);
  };
  const followups = readFollowups(context, labelOf);
  const open = followups.filter(({ isOpen }) => isOpen);
  const closed = followups.filter(({ isOpen, resolvedOn }) => !isOpen && resolvedOn !== null);

  const bucketOf = ({ createdOn }: Followup): string => {
    const age = days(createdOn, today);
    return age < 8 ? '00-07' : age < 31 ? '08-30' : age < 61 ? '31-60' : age < 91 ? '61-90' : '91+';
  };
  const perPerson = (some: readonly Followup[]) => groups(some, ({ assignee }) => assignee ?? '');

  const lastNinetyDays = context.nowMs - 90 * DAY_MS;
  const lastThirtyDays = context.nowMs - 30 * DAY_MS;
  const yearAgo = new Date(context.nowMs);
  yearAgo.setUTCFullYear(yearAgo.getUTCFullYear() - 1);
  const closedLastYear = followups.filter(
    ({ resolvedMs }) => resolvedMs !== null && resolvedMs >= yearAgo.getTime(),
  );
  /** Assignments of the last ninety days, and when each ended. */
  const kept = of('followups')
    .filter((row) => row['_deleted_at'] === null)
    .flatMap((row) => {
      const reassigned = of('followup_messages').filter(
        (one) => one['followup_id'] === row['id'] && (one['reassignee_id'] ?? '') !== '',
      );
      const states = followups.find(({ id }) => id === row['id'])?.states ?? [];
      const closings = states.flatMap((state, index) => {
        const before = states[index - 1];
        const isClosing = state['is_open'] === false && (before === undefined || before['is_open'] !== false);
        if (!isClosing) return [];
        const after = states.slice(index);
        // The present closing has the completion that the service sends now.
        const closedMs = after.every((one) => one['is_open'] === false)
          ? (after.at(-1)?.['resolved_at'] ?? state['resolved_at'])
          : state['resolved_at'];
        return [msOf(closedMs ?? state['valid_from'] ?? state['_valid_from']) ?? 0];
      });
      const events = [
        ...reassigned.map((one) => ({ at: msOf(one['sent_at']) ?? 0, to: text(one['reassignee_id']) })),
        ...closings.map((at) => ({ at, to: null })),
      ].toSorted((a, b) => a.at - b.at);
      return events.flatMap(({ at, to }, index) => {
        const next = events[index + 1];
        return to === null || next === undefined || at < lastNinetyDays ? [] : [{ to, ms: next.at - at }];
      });
    });

  const equipment = new Map(
    of('equipment')
      .filter((row) => row['_deleted_at'] === null)
      .map((row) => [row['id'], row]),
  );
  const inRegions = [...equipment.values()].flatMap((row) =>
    row['is_in_service'] === true
      ? ((row['field_office_ids'] ?? []) as string[]).map((office) => ({
          region: parentLabel('field_office', office) ?? labelOf('field_office', office),
          id: text(row['id']),
          isExpired: row['status'] === 'expired',
        }))
      : [],
  );

  const schedules = groups(
    [
      ...of('equipment_schedule_states').map((row) => ({ row, from: msOf(row['valid_from']) ?? 0 })),
      ...of('equipment_schedules').map((row) => ({ row, from: msOf(row['_valid_from']) ?? 0 })),
    ].filter(({ row }) => equipment.has(row['equipment_id'] ?? null)),
    ({ row }) => `${text(row['equipment_id'])}/${text(row['schedule_id'])}`,
  );
  const inspections = schedules.flatMap(([, unsorted]) => {
    const states = unsorted.toSorted((a, b) => a.from - b.from);
    const doneOf = ({ row }: (typeof states)[number]) => msOf(row['last_completed_at']) ?? -Infinity;
    // States with a start after the start of a later state were withdrawn.
    const kept = states.filter((one, index) =>
      states.slice(index).every((after) => doneOf(after) >= doneOf(one)),
    );
    return kept.flatMap((one, index) => {
      const [done, before] = [msOf(one.row['last_completed_at']), kept[index - 1]];
      if (done === null || (before !== undefined && done <= doneOf(before))) return [];
      const due = dayOfCell(before?.row['expires_at']);
      return [{ on: dayAt(done), late: due === null ? null : Math.max(0, days(due, dayAt(done))) }];
    });
  });

  const employees = of('training_employee_status').filter((row) => row['_deleted_at'] === null);
  const matrix = employees.flatMap((row) => {
    const complete = ((row['complete_training_ids'] ?? []) as number[]).map(String);
    const missing = ((row['incomplete_training_ids'] ?? []) as number[]).map(String);
    const completions = of('training_completions').filter((one) => one['user_id'] === row['user_id']);
    const trainings = new Set([
      ...complete,
      ...missing,
      ...completions.map((one) => String(one['training_id'] as Cell)),
    ]);
    return [...trainings].map((training) => {
      const known = completions.find((one) => String(one['training_id'] as Cell) === training);
      const isAssigned = complete.includes(training) || missing.includes(training);
      const expires = text(known?.['expires_on']);
      const starts = text(known?.['starts_expiring_on']);
      const state =
        expires !== null && expires < today
          ? 'expired'
          : missing.includes(training)
            ? 'missing'
            : starts !== null && starts <= today
              ? 'expiring'
              : 'complete';
      const isRequired = (known?.['is_required'] ?? (isAssigned ? true : null)) === true;
      return {
        user: text(row['user_id']),
        training: labelOf('training', training),
        state,
        expires,
        isRequired,
      };
    });
  });
  const required = matrix.filter(({ isRequired }) => isRequired);

  const trainingStates = [
    ...of('training_employee_status_states').map((row) => ({
      row,
      from: row['valid_from'],
      to: row['valid_to'],
    })),
    ...of('training_employee_status').map((row) => ({
      row,
      from: row['_valid_from'],
      to: row['_deleted_at'],
    })),
  ].map(({ row, from, to }) => ({ row, from: msOf(from) ?? 0, to: msOf(to) ?? Infinity }));
  const mondays = Array.from({ length: 85 }, (_, ago) => dayNumber(today) - ago)
    // 1970-01-05 was a Monday.
    .filter((day) => (day - 4) % 7 === 0)
    .map((day) => day * DAY_MS);
  const assigned = mondays.flatMap((ms) =>
    trainingStates
      .filter(({ from, to }) => from <= ms && ms < to)
      .flatMap(({ row }) =>
        (['complete', 'incomplete'] as const).flatMap((kind) =>
          ((row[`${kind}_training_ids`] ?? []) as number[]).map((id) => ({
            key: JSON.stringify([dayAt(ms), labelOf('training', String(id))]),
            isComplete: kind === 'complete',
          })),
        ),
      ),
  );

  const employeeOf = new Map(of('training_employee_status').map((row) => [row['user_id'], row]));
  const completionStates = [
    ...of('training_completion_states').map((row) => ({ row, from: row['valid_from'], to: row['valid_to'] })),
    ...of('training_completions').map((row) => ({
      row,
      from: row['_valid_from'],
      to: employeeOf.get(row['user_id'])?.['_deleted_at'],
    })),
  ].map(({ row, from, to }) => ({
    key: JSON.stringify([row['user_id'], row['training_id']]),
    from: msOf(from) ?? 0,
    to: msOf(to) ?? Infinity,
    user: text(row['user_id']),
    training: text(row['training_id']) ?? '',
    on: text(row['completed_on']),
    starts: text(row['starts_expiring_on']),
    expires: text(row['expires_on']),
    isRequired: row['is_required'] as boolean | null,
  }));
  const completed = groups(completionStates, ({ key }) => key).flatMap(([, unsorted]) => {
    const sorted = unsorted.toSorted((a, b) => a.from - b.from).filter(({ on }) => on !== null);
    // States with a date after the date of a later state were corrected.
    const kept = sorted.filter(({ on }, index) =>
      sorted.slice(index).every((after) => (after.on ?? '') >= (on ?? '')),
    );
    return kept.flatMap(({ on }, index) => {
      const before = kept[index - 1];
      if (before?.on === on) return [];
      const isLate = before?.expires != null && (on ?? '') > before.expires;
      return [{ month: monthOf(on ?? ''), isRenewal: before !== undefined, isLate }];
    });
  });
  const pastDay = dayAt((dayNumber(today) - 45) * DAY_MS);
  const pastMs = (dayNumber(today) - 44) * DAY_MS;
  const known = completionStates.filter(({ from, to }) => from <= pastMs && pastMs < to);
  const pastLists = trainingStates
    .filter(({ from, to }) => from <= pastMs && pastMs < to)
    .flatMap(({ row }) =>
      (['complete', 'incomplete'] as const).flatMap((kind) =>
        ((row[`${kind}_training_ids`] ?? []) as number[]).map((id) => ({
          key: JSON.stringify([row['user_id'], id]),
          kind,
        })),
      ),
    );
  const pastMatrix = [...new Set([...pastLists, ...known].map(({ key }) => key))].flatMap((key) => {
    const [user = '', training = ''] = (JSON.parse(key) as Cell[]).map(String);
    const completion = known.find((one) => one.key === key);
    const kinds = pastLists.filter((one) => one.key === key).map(({ kind }) => kind);
    const expires = completion?.expires ?? null;
    const starts = completion?.starts ?? null;
    const state =
      expires !== null && expires < pastDay
        ? 'expired'
        : kinds.includes('incomplete')
          ? 'missing'
          : starts !== null && starts <= pastDay
            ? 'expiring'
            : 'complete';
    const isRequired = completion?.isRequired ?? kinds.length > 0;
    const training_label = labelOf('training', training);
    return isRequired ? [{ user_name: nameOf(user), training_label, state, expires_on: expires }] : [];
  });

  /**
   * Assignee and form of the follow-ups that were open at the end of a day. Before the first stored state, that state
   * applies.
   */
  const pendingOn = (day: number): Followup[] =>
    followups.flatMap((one) => {
      const at = (day + 1) * DAY_MS;
      const from = (state: TableRow) => msOf(state['valid_from'] ?? state['_valid_from'] ?? null) ?? 0;
      const state = one.states.findLast((other) => from(other) < at) ?? one.states[0];
      if (state === undefined || dayNumber(one.createdOn) > day) return [];
      const resolved = dayOfCell(state['resolved_at']);
      const isPending = state['is_open'] === true || (resolved !== null && dayNumber(resolved) > day);
      const formId = text(state['form_id']);
      return isPending
        ? [
            {
              ...one,
              assignee: text(state['assignee_id']),
              form: formId === null ? '' : labelOf('form', formId),
            },
          ]
        : [];
    });
  const now = dayNumber(today);
  const firsts = Array.from({ length: 366 }, (_, ago) => now - ago).filter(
    (day) => new Date(day * DAY_MS).getUTCDate() === 1,
  );
  const backlogs = new Map<string | null, { before: number; after: number }>();
  for (const [day, side] of [
    [now - 30, 'before'],
    [now, 'after'],
  ] as const) {
    for (const { assignee } of pendingOn(day)) {
      const counted = backlogs.get(assignee) ?? { before: 0, after: 0 };
      counted[side] += 1;
      backlogs.set(assignee, counted);
    }
  }

  const thisWeek = followups.flatMap((one) => {
    const event = (
      name: string,
      at: number,
      { user = null as string | null, from = null as string | null, to = null as string | null },
    ) => ({
      at,
      followup_id: one.id,
      event: name,
      user_name: nameOf(user),
      from_value: from,
      to_value: to,
      occurred_on: dayAt(at),
    });
    const handings = of('followup_messages')
      .filter((row) => row['followup_id'] === one.id && (row['reassignee_id'] ?? '') !== '')
      .toSorted((a, b) => Number(a['position']) - Number(b['position']));
    const moves = one.states.flatMap((state, index) => {
      const before = one.states[index - 1];
      if (before === undefined) return [];
      const at = msOf(state['valid_from'] ?? state['_valid_from']) ?? 0;
      const [from, to] = [text(before['due_on']), text(state['due_on'])];
      return [
        ...(from === to ? [] : [event('due_moved', at, { from, to })]),
        ...(before['is_open'] === false && state['is_open'] === true ? [event('reopened', at, {})] : []),
      ];
    });
    return [
      ...handings.map((row, index) =>
        event('handed_on', msOf(row['sent_at']) ?? 0, {
          user: text(row['user_id']),
          from: text(handings[index - 1]?.['reassignee_id']),
          to: text(row['reassignee_id']),
        }),
      ),
      ...moves,
    ];
  });

  return {
    32: ordered(
      groups(open, bucketOf).map(([bucket, some]) => ({
        days_open: bucket,
        open: some.length,
        overdue: some.filter(({ isOverdue }) => isOverdue).length,
      })),
      [['days_open', 1]],
    ),
    33: ordered(
      groups(closed, ({ resolvedOn }) => monthOf(resolvedOn ?? '')).map(([month, some]) => ({
        month,
        closed: some.length,
        percent_by_due_day: percent(
          some.filter(({ inTime }) => inTime === true).length,
          some.filter(({ inTime }) => inTime !== null).length,
        ),
        percent_within_14_days: percent(
          some.filter(({ daysToResolve }) => daysToResolve !== null && daysToResolve <= 14).length,
          some.length,
        ),
        due_day_moved: some.filter(({ states }) => changes(states, (a, b) => a['due_on'] !== b['due_on']) > 0)
          .length,
      })),
      [['month', -1]],
      12,
    ),
    34: ordered(
      perPerson(closedLastYear.filter(({ inTime }) => inTime !== null))
        .filter(([, some]) => some.length >= 3)
        .map(([assignee, some]) => ({
          assignee_id: assignee,
          assignee_name: nameOf(assignee),
          closed: some.length,
          percent_in_time: percent(some.filter(({ inTime }) => inTime === true).length, some.length),
        })),
      [
        ['percent_in_time', 1],
        ['closed', -1],
        ['assignee_id', 1],
      ],
    ),
    35: ordered(
      perPerson(closedLastYear).map(([assignee, some]) => {
        const taken = some.map(({ daysToResolve }) => daysToResolve ?? 0);
        return {
          assignee_id: assignee,
          assignee_name: nameOf(assignee),
          closed: some.length,
          median_days: percentile(taken, 0.5),
          slowest_tenth_days: percentile(taken, 0.9),
        };
      }),
      [
        ['closed', -1],
        ['assignee_id', 1],
      ],
      20,
    ),
    36: ordered(
      followups
        .map((one) => ({
          id: one.id,
          form_label: one.form,
          assignee_name: nameOf(one.assignee),
          reopen_count: changes(one.states, (a, b) => a['is_open'] === false && b['is_open'] === true),
          is_open: one.isOpen,
          due_on: one.due,
        }))
        .filter((row) => row.reopen_count > 0),
      [
        ['reopen_count', -1],
        ['id', 1],
      ],
    ),
    37: ordered(
      groups(kept, ({ to }) => to).map(([to, some]) => ({
        user_id: to,
        name: nameOf(to),
        handed_on: some.length,
        average_days:
          Math.round(some.reduce((sum, { ms }) => sum + ms, 0) / some.length / (DAY_MS / 10)) / 10,
      })),
      [
        ['average_days', -1],
        ['user_id', 1],
      ],
      20,
    ),
    38: ordered(
      groups(
        followups.filter(
          (again) =>
            again.createdMs >= lastThirtyDays &&
            followups.some(
              (before) =>
                before.resolvedOn !== null &&
                before.formId === again.formId &&
                again.formId !== null &&
                before.assignee === again.assignee &&
                again.assignee !== null &&
                days(before.resolvedOn, again.createdOn) >= 1 &&
                days(before.resolvedOn, again.createdOn) <= 90,
            ),
        ),
        ({ form, assignee }) => JSON.stringify([form, nameOf(assignee)]),
      ).map(([key, some]) => {
        const [form, name] = JSON.parse(key) as [string, string | null];
        return { form_label: form, assignee_name: name, came_back: some.length };
      }),
      [
        ['came_back', -1],
        ['form_label', 1],
        ['assignee_name', 1],
      ],
      20,
    ),
    39: ordered(
      groups(open, ({ formId }) => (formId === null ? null : parentLabel('form', formId)) ?? 'unknown').map(
        ([risk, some]) => ({
          risk,
          open: some.length,
          overdue: some.filter(({ isOverdue }) => isOverdue).length,
        }),
      ),
      [
        ['overdue', -1],
        ['risk', 1],
      ],
    ),
    40: ordered(
      groups(inRegions, ({ region }) => region).map(([region, some]) => ({
        region,
        in_service: new Set(some.map(({ id }) => id)).size,
        without_valid_inspection: new Set(some.filter(({ isExpired }) => isExpired).map(({ id }) => id)).size,
      })),
      [
        ['without_valid_inspection', -1],
        ['region', 1],
      ],
    ),
    41: ordered(
      groups(inspections, ({ on }) => monthOf(on)).map(([month, some]) => {
        const known = some.flatMap(({ late }) => (late === null ? [] : [late]));
        return {
          month,
          done: some.length,
          due_day_known: known.length,
          in_time: known.filter((late) => late === 0).length,
          longest_delay_days: known.length === 0 ? null : Math.max(...known),
        };
      }),
      [['month', -1]],
      12,
    ),
    42: ordered(
      groups(required, ({ training }) => training).map(([training, some]) => {
        const count = (...states: string[]) => some.filter(({ state }) => states.includes(state)).length;
        return {
          training_label: training,
          required: some.length,
          complete: count('complete'),
          expiring: count('expiring'),
          expired: count('expired'),
          missing: count('missing'),
          percent_valid: percent(count('complete', 'expiring'), some.length),
        };
      }),
      [
        ['percent_valid', 1],
        ['training_label', 1],
      ],
    ),
    43: required
      .filter(({ state }) => state === 'missing' || state === 'expired')
      .map(({ user, training, state, expires }) => ({
        user_name: nameOf(user),
        training_label: training,
        state,
        expires_on: expires,
      })),
    44: ordered(
      groups(assigned, ({ key }) => key).map(([key, some]) => {
        const [monday = '', training = ''] = JSON.parse(key) as string[];
        return {
          monday,
          training,
          assigned: some.length,
          percent_complete: percent(some.filter(({ isComplete }) => isComplete).length, some.length),
        };
      }),
      [
        ['monday', 1],
        ['training', 1],
      ],
    ),
    45: ordered(
      thisWeek
        .filter(({ at }) => at > context.nowMs - 7 * DAY_MS)
        .map(({ at, ...row }) => ({ ...row, at: String(at).padStart(15, '0') })),
      [
        ['at', 1],
        ['followup_id', 1],
        ['event', 1],
      ],
      50,
    ).map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'at'))),
    46: ordered(
      firsts.flatMap((day) =>
        groups(pendingOn(day), ({ form }) => form).map(([form, some]) => ({
          month: dayAt(day * DAY_MS),
          form_label: form,
          pending: some.length,
        })),
      ),
      [
        ['month', 1],
        ['form_label', 1],
      ],
    ),
    47: ordered(
      [...backlogs].map(([assignee, { before, after }]) => ({
        assignee_id: assignee,
        assignee_name: nameOf(assignee),
        a_month_ago: before,
        today: after,
        growth: after - before,
      })),
      [
        ['growth', -1],
        ['assignee_id', 1],
      ],
      10,
    ),
    48: ordered(
      groups(completed, ({ month }) => month).map(([month, some]) => ({
        month,
        first_known: some.filter(({ isRenewal }) => !isRenewal).length,
        renewed: some.filter(({ isRenewal }) => isRenewal).length,
        renewed_late: some.filter(({ isLate }) => isLate).length,
      })),
      [['month', -1]],
      12,
    ),
    49: pastMatrix,
    50: ordered(
      groups(closed, ({ resolvedOn }) => monthOf(resolvedOn ?? '')).map(([month, some]) => {
        const firsts = some.map(({ states, due, resolvedOn }) => ({
          first: text(states[0]?.['due_on']),
          due,
          on: resolvedOn ?? '',
        }));
        const known = firsts.filter(({ first }) => first !== null);
        return {
          month,
          closed: some.length,
          percent_by_due_day: percent(
            some.filter(({ inTime }) => inTime === true).length,
            some.filter(({ inTime }) => inTime !== null).length,
          ),
          percent_by_first_due_day: percent(
            known.filter(({ first, on }) => on <= (first ?? '')).length,
            known.length,
          ),
          postponed: firsts.filter(({ first, due }) => first !== null && due !== null && due > first).length,
        };
      }),
      [['month', -1]],
      12,
    ),
  };
}
