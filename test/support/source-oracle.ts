/**
 * Compares the warehouse with the source, table by table and column by column. It shares only names and types of columns
 * with the worker.
 */
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { expect } from 'vitest';
import { typeName } from '../../src/engine/streams/columns.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { trainingRecords } from '../../src/engine/streams/completed-trainings.ts';
import {
  equipment,
  equipmentAskedTypes,
  equipmentMetavalues,
  equipmentSchedules,
} from '../../src/engine/streams/equipments.ts';
import { followupAttachments, followupMessages, followups } from '../../src/engine/streams/followups.ts';
import { resources, resourceVersions } from '../../src/engine/streams/resources.ts';
import {
  trainingCompletions,
  trainingEmployeeStatus,
} from '../../src/engine/streams/training-employee-status.ts';
import { users } from '../../src/engine/streams/users.ts';
import * as rows from './source-rows.ts';
import type { ExpectedRow, ExpectedTables } from './source-rows.ts';
import { id as toId, isObject, ms, sorted, storable } from './source-wire.ts';
import type { Cell, WireObject } from './source-wire.ts';

/** The parts of a worker that the comparison needs: its service and its warehouse. */
export interface Compared {
  readonly sandbox: Sandbox;
  readonly settings: { readonly equipmentTypes: readonly string[] };
  query<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
}

export interface CompareOptions {
  /** Compares only these tables with their children; default: all. */
  readonly tables?: readonly (keyof typeof TABLES)[];
  /** Accepts live follow-ups that the source no longer has, because only a reconcile finds them. */
  readonly exceptDeletedFollowups?: boolean;
}

export type ColumnKind = 'text' | 'ms' | 'day' | 'number' | 'bool' | 'json' | 'list';

interface TableSpec {
  readonly key: readonly string[];
  readonly parent: string | null;
  readonly columns: Readonly<Record<string, ColumnKind>>;
}

const KINDS: Readonly<Record<string, ColumnKind>> = {
  text: 'text',
  bigint: 'text',
  integer: 'text',
  numeric: 'number',
  'timestamp with time zone': 'ms',
  date: 'day',
  boolean: 'bool',
  jsonb: 'json',
};

/** `calculated_at` depends on the run, not on the record: the training tests compare it. */
const isOfRecord = (name: string): boolean =>
  !name.startsWith('_') && !['account_id', 'calculated_at'].includes(name);

/** Compares every column that is derived from a record; the list of columns comes from the table. */
function specOf(table: PgTable, parent: string | null): TableSpec {
  const { columns, primaryKeys } = getTableConfig(table);
  const kindOf = (type: string): ColumnKind => {
    const kind = type.endsWith('[]') ? 'list' : KINDS[type];
    if (kind === undefined) throw new TypeError(`no comparison for columns of type ${type}`);
    return kind;
  };
  return {
    key: (primaryKeys[0]?.columns ?? []).map(({ name }) => name).filter(isOfRecord),
    parent,
    columns: Object.fromEntries(
      columns.filter(({ name }) => isOfRecord(name)).map((column) => [column.name, kindOf(typeName(column))]),
    ),
  };
}

export const entity = (table: PgTable): TableSpec => specOf(table, null);

/** The contract's tables. */
export const TABLES = {
  resources: entity(resources),
  resource_versions: specOf(resourceVersions, 'resources'),
  followups: entity(followups),
  followup_messages: specOf(followupMessages, 'followups'),
  followup_attachments: specOf(followupAttachments, 'followups'),
  training_employee_status: entity(trainingEmployeeStatus),
  training_completions: specOf(trainingCompletions, 'training_employee_status'),
  equipment: entity(equipment),
  equipment_schedules: specOf(equipmentSchedules, 'equipment'),
  equipment_metavalues: specOf(equipmentMetavalues, 'equipment'),
  equipment_asked_types: specOf(equipmentAskedTypes, 'equipment'),
  training_records: entity(trainingRecords),
  users: entity(users),
} as const satisfies Record<string, TableSpec>;

export type TableName = keyof typeof TABLES;

/** The tables of each stream, its entity table first. */
export const TABLES_OF: Readonly<Record<string, readonly TableName[]>> = {
  resources: ['resources', 'resource_versions'],
  followups: ['followups', 'followup_messages', 'followup_attachments'],
  'training-employee-status': ['training_employee_status', 'training_completions'],
  equipments: ['equipment', 'equipment_schedules', 'equipment_metavalues', 'equipment_asked_types'],
  'completed-trainings': ['training_records'],
  users: ['users'],
};

const MOST_DIFFERENCES = 8;

/** Fails with the first differences when a live row, or a child of one, differs from the service's record. */
export async function expectWarehouseEqualsSource(
  compared: Compared,
  options: CompareOptions = {},
): Promise<void> {
  expect(await findDifferences(compared, options)).toEqual([]);
}

/** One line per difference, at most a handful. */
async function findDifferences(compared: Compared, options: CompareOptions = {}): Promise<string[]> {
  const names = options.tables ?? (Object.keys(TABLES) as TableName[]);
  const expected = await readSource(compared, names);
  const differences: string[] = [];
  for (const name of names) {
    const spec: TableSpec = TABLES[name];
    const isLenient =
      options.exceptDeletedFollowups === true && (name === 'followups' || spec.parent === 'followups');
    differences.push(
      ...(await compareTable(compared, {
        name,
        spec,
        expected: expected[name] ?? [],
        mayHaveMore: isLenient ? goneFollowups(name, expected) : undefined,
      })),
    );
  }
  return differences.slice(0, MOST_DIFFERENCES);
}

function goneFollowups(name: string, expected: ExpectedTables): (row: ExpectedRow) => boolean {
  const present = new Set((expected['followups'] ?? []).map((row) => row['id']));
  return (row) => !present.has(name === 'followups' ? row['id'] : row['followup_id']);
}

interface Comparison {
  readonly name: string;
  readonly spec: TableSpec;
  readonly expected: readonly ExpectedRow[];
  readonly mayHaveMore?: ((row: ExpectedRow) => boolean) | undefined;
}

/** One line for each difference between the live rows of a table and the expected rows. */
export async function compareTable(
  compared: Pick<Compared, 'query'>,
  { name, spec, expected, mayHaveMore = () => false }: Comparison,
): Promise<string[]> {
  const actual = await readTable(compared, name, spec);
  const keyOf = (row: ExpectedRow): string => spec.key.map((column) => String(row[column])).join(' / ');
  const wanted = new Map(expected.map((row) => [keyOf(row), row]));
  const differences: string[] = [];
  for (const row of actual) {
    const source = wanted.get(keyOf(row));
    wanted.delete(keyOf(row));
    if (source === undefined) {
      if (!mayHaveMore(row)) differences.push(`${name} ${keyOf(row)}: the source has no such row`);
      continue;
    }
    for (const column of Object.keys(spec.columns)) {
      if (row[column] === source[column]) continue;
      differences.push(
        `${name} ${keyOf(row)}: ${column} is ${JSON.stringify(row[column])}, the source says ${JSON.stringify(source[column])}`,
      );
    }
  }
  for (const key of wanted.keys()) differences.push(`${name} ${key}: missing in the warehouse`);
  return differences;
}

const SELECT: Readonly<Record<ColumnKind, (column: string) => string>> = {
  text: (column) => `${column}::text`,
  ms: (column) => `floor(extract(epoch from ${column}) * 1000)::text`,
  day: (column) => `to_char(${column}, 'YYYYMMDD')`,
  number: (column) => `trim_scale(${column})::text`,
  bool: (column) => `${column}::text`,
  json: (column) => `${column}::text`,
  list: (column) => `array_to_json(${column}::text[])::text`,
};

async function readTable(
  compared: Pick<Compared, 'query'>,
  name: string,
  spec: TableSpec,
): Promise<ExpectedRow[]> {
  const columns = Object.entries(spec.columns).map(
    ([column, kind]) => `${SELECT[kind](`t."${column}"`)} as "${column}"`,
  );
  const parentKey = spec.parent === 'training_employee_status' ? 'user_id' : 'id';
  const live =
    spec.parent === null
      ? 't._deleted_at is null'
      : `exists (select from safety.${spec.parent} p where p.account_id = t.account_id
           and p."${parentKey}" = t."${spec.key[0] ?? ''}" and p._deleted_at is null)`;
  const found = await compared.query<Record<string, string | null>>(
    `select ${columns.join(', ')} from safety.${name} t where ${live}`,
  );
  return found.map((row) =>
    Object.fromEntries(
      Object.entries(spec.columns).map(([column, kind]) => [column, toCell(row[column] ?? null, kind)]),
    ),
  );
}

function toCell(value: string | null, kind: ColumnKind): Cell {
  if (value === null) return null;
  if (kind === 'bool') return value === 'true';
  if (kind === 'json') return sorted(JSON.parse(value));
  if (kind === 'list') return JSON.stringify(JSON.parse(value));
  return value;
}

/** Hooks of a test change the worker's responses only; the comparison reads unchanged data. */
async function withoutHooks<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
  const { beforeResponse, rewriteResponse } = sandbox.hooks;
  sandbox.hooks.beforeResponse = undefined;
  sandbox.hooks.rewriteResponse = undefined;
  const asked = sandbox.requests.length;
  try {
    return await work();
  } finally {
    sandbox.hooks.beforeResponse = beforeResponse;
    sandbox.hooks.rewriteResponse = rewriteResponse;
    // Requests of the comparison are removed from the log that a test examines.
    sandbox.requests.splice(asked);
  }
}

async function ask(sandbox: Sandbox, method: string, parameters: object): Promise<WireObject> {
  const response = await fetch(`${sandbox.url}/v1/${method}`, {
    method: 'POST',
    body: JSON.stringify({ token: sandbox.token, ...parameters }),
  });
  return (await response.json()) as WireObject;
}

interface ListQuestion {
  readonly method: string;
  readonly list: string;
  readonly parameters: object;
  /** Text as received, for a comparison with other records as received. */
  readonly isPlain?: boolean;
}

/** Reads all pages of a list, in as few requests as possible. */
async function askAll(sandbox: Sandbox, question: ListQuestion): Promise<WireObject[]> {
  const { largestPage } = sandbox.readings;
  sandbox.readings.largestPage = null;
  return await askPages(sandbox, question).finally(() => {
    sandbox.readings.largestPage = largestPage;
  });
}

/** A service may send the fields of a record in another order each time. */
const inKeyOrder = (_: string, value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

/** Reads all announced pages; without a total, reads until a page is refused or brings no new records. */
async function askPages(
  sandbox: Sandbox,
  { method, list, parameters, isPlain = false }: ListQuestion,
): Promise<WireObject[]> {
  const pages = new Set<string>();
  const records: WireObject[] = [];
  for (let page = 1; ; page += 1) {
    const asked = page === 1 ? parameters : { ...parameters, page };
    const response = await ask(sandbox, method, asked);
    if (response['ok'] !== true) {
      if (page > 1) return records;
      throw new Error(`${method} answered ${JSON.stringify(response)}`);
    }
    const received = isPlain ? response[list] : storable(response[list]);
    const found = (received as unknown[]).filter(isObject);
    const text = JSON.stringify(found, inKeyOrder);
    if (found.length === 0 || pages.has(text)) return records;
    pages.add(text);
    records.push(...found);
    const lastPage = isObject(response['paging']) ? Number(response['paging']['last_page']) : undefined;
    if (lastPage !== undefined && page >= lastPage) return records;
  }
}

/** Records with a usable key, each key once: the newest of several versions, else the last one. */
function keyed(records: WireObject[], keyField: string, changeTimeField?: string): WireObject[] {
  const kept = new Map<string, WireObject>();
  const changeTime = (record: WireObject): number =>
    changeTimeField === undefined ? 0 : Number(ms(record[changeTimeField]) ?? -Infinity);
  for (const record of records) {
    const key = toId(record[keyField]);
    if (key === null || key === '') continue;
    const before = kept.get(key);
    if (before === undefined || changeTime(record) >= changeTime(before)) kept.set(key, record);
  }
  return [...kept.values()];
}

interface Asked extends Omit<ListQuestion, 'parameters'> {
  /** Default: id. */
  readonly keyField?: string;
  readonly changeTimeField?: string;
  readonly parameters?: object;
}

/** Current records of a list of the service. */
export async function readList(sandbox: Sandbox, asked: Asked): Promise<WireObject[]> {
  const { keyField = 'id', changeTimeField, parameters = {}, ...list } = asked;
  const found = await withoutHooks(sandbox, () => askAll(sandbox, { ...list, parameters }));
  return keyed(found, keyField, changeTimeField);
}

/** The list of each stream, with the requests of the worker: a service may cache the responses to each apart. */
const ofType = { service_type: 'all', include_null_metavalues: true };
export const LISTS = {
  resources: { method: 'resources.list', list: 'resources', add: rows.addResource },
  followups: {
    ...{ method: 'followups.list', list: 'followups', changeTimeField: 'updated_on', add: rows.addFollowup },
    parameters: { limit: 500, status: 'all', followup_display_id: true },
  },
  'training-employee-status': {
    ...{ method: 'training-employee-status.list', list: 'employees', keyField: 'm_user_id' },
    ...{ parameters: { include_all_completions: true, limit: 1000 }, add: rows.addEmployee },
  },
  equipments: { method: 'equipments.list', list: 'equipments', parameters: ofType, add: rows.addEquipment },
  'completed-trainings': {
    ...{ method: 'completedtrainings.v2.list', list: 'completedtrainings' },
    ...{ parameters: { limit: 1000 }, add: rows.addCompletion },
  },
  users: { method: 'users.list', list: 'users', add: rows.addUser },
} satisfies Readonly<Record<string, Asked & { readonly add: typeof rows.addEquipment }>>;

/** The service's current records of a stream, each with the equipment type under which it is listed. */
export async function readStream(
  { sandbox, settings }: Pick<Compared, 'sandbox' | 'settings'>,
  stream: string,
  isPlain = false,
): Promise<{ record: WireObject; type: string }[]> {
  const asked: Asked = LISTS[stream as keyof typeof LISTS];
  const types = stream === 'equipments' ? settings.equipmentTypes : [''];
  const found: { record: WireObject; type: string }[] = [];
  for (const type of types) {
    const parameters = { ...asked.parameters, ...(type !== '' && { equipmentType_id: type }) };
    for (const record of await readList(sandbox, { ...asked, parameters, isPlain }))
      found.push({ record, type });
  }
  return found;
}

/** Expected rows of these tables by the service's current records. */
async function readSource(compared: Compared, names: readonly TableName[]): Promise<ExpectedTables> {
  const tables: ExpectedTables = {};
  for (const [stream, { add }] of Object.entries(LISTS)) {
    if (!(TABLES_OF[stream] ?? []).some((name) => names.includes(name))) continue;
    for (const { record, type } of await readStream(compared, stream)) add(tables, record, type);
  }
  return tables;
}
