/**
 * What of a record must not be stored, taken out before anything else is done with it: what is compared, hashed, normalized,
 * staged and told as a data issue is what is left. Pure. Applied to what is stored already it changes nothing.
 */
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { ExactNumber } from '../shared/exact-number.ts';
import type { Pseudonyms } from '../shared/pseudonym.ts';
import { columnName } from '../streams/stored-columns.ts';
import type { Row, StreamDefinition, WireFields, WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { DEEPEST } from './canonical-json.ts';
import { createPeople, type ForgottenText } from './people.ts';

interface ProtectionOptions {
  readonly stream: StreamDefinition;
  /** `table.column` each. */
  readonly omit: readonly string[];
  readonly pseudonymize: readonly string[];
  /** null: nothing is to be replaced by pseudonyms. */
  readonly pseudonyms: Pseudonyms | null;
  readonly forgotten: readonly ForgottenText[];
}

export interface Protection {
  /** As it may be stored; the record itself where all of it may be. */
  ofRecord(received: unknown): unknown;
  /** The same of the columns of a row, for what has no record any more. */
  ofRow(table: PgTable, row: Row): Row;
  /** The same of a value that may hold anything, as a data issue has it. */
  ofValue(value: unknown): unknown;
  /** `messages[2].note`: whether what stands there, or a part of it, is protected. */
  touches(field: string): boolean;
  ofUserId(id: string): string;
  /** Of the stream's records. */
  ofKey(key: string): string;
}

/** Stands for what has not the form in which it could be told what of it is protected. */
const WITHHELD = '(not stored: PRIVACY_OMIT or PRIVACY_PSEUDONYMIZE)';

type Change = (value: unknown) => unknown;

/** Undefined: the field goes. */
const omitted: Change = () => undefined;

interface Rule {
  readonly name: string;
  readonly column: string;
  readonly change: Change;
  /** Of a list of rows: a row of the table has no such column. */
  readonly isOfRecord: boolean;
}

interface Place {
  readonly rules: readonly Rule[];
  /** Names of all fields that are known. */
  readonly known: ReadonlySet<string>;
}

function toStableText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof ExactNumber ? String(value) : JSON.stringify(value);
}

function mapEach(list: readonly unknown[], change: Change): unknown {
  const changed = list.map((one) => (one === null ? null : change(one)));
  return changed.every((one, at) => one === list[at]) ? list : changed;
}

export function createProtection(options: ProtectionOptions): Protection {
  const { stream, pseudonyms } = options;
  const [omit, pseudonymize] = [new Set(options.omit), new Set(options.pseudonymize)];
  const people = pseudonyms === null ? null : createPeople(pseudonyms, options.forgotten);
  const isLookup = stream.readMode.kind === 'lookup';
  /** Of every protected field: `messages.note`. */
  const paths: string[] = [];
  const places = new Map<PgTable, Place>();

  const toPseudonym: Change = (value) => {
    if (Array.isArray(value)) return mapEach(value, toPseudonym);
    const text = toStableText(value);
    return text === '' || pseudonyms === null ? value : pseudonyms.of(text);
  };
  const actionOf = (table: PgTable, column: string): Change | undefined => {
    const name = columnName(table, column);
    if (omit.has(name)) return omitted;
    return pseudonymize.has(name) ? toPseudonym : undefined;
  };

  /** The ids of people in a field that holds ids. */
  const ofUsers: Change = (value) => {
    if (Array.isArray(value)) return mapEach(value, ofUsers);
    return isId(value) ? (people?.ofId(String(value)) ?? value) : inAnything(value, 0);
  };

  /** Ids and names of people in what may hold anything. */
  function inAnything(value: unknown, depth: number, inText = people?.inText): unknown {
    if (inText === undefined || depth > DEEPEST) return value;
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return mapEach(value, (one) => inAnything(one, depth + 1, inText));
    if (!isWireRecord(value)) return value;
    let copy: Record<string, unknown> | undefined;
    for (const [name, inner] of Object.entries(value)) {
      const changed = isUserField(name) ? ofUsers(inner) : inAnything(inner, depth + 1);
      if (changed !== inner) (copy ??= { ...value })[name] = changed;
    }
    return copy ?? value;
  }

  const isUserColumn = (table: PgTable, column: string): boolean =>
    stream.userIdColumns.some((one) => one.table === table && one.column === column) ||
    (isLookup && table === stream.parent && column === stream.keyColumn);

  function ruleOf(table: PgTable, name: string, fields: WireFields, path: string): Rule | undefined {
    const { column = name, isText = false, rows } = fields[name] ?? {};
    const rule = (change: Change): Rule => ({ name, column, change, isOfRecord: rows?.fields !== undefined });
    const action = actionOf(table, column);
    if (action !== undefined) {
      paths.push(path);
      return rule(action);
    }
    if (rows?.fields !== undefined) {
      const before = paths.length;
      const inner = placeOf(rows.table, rows.fields, `${path}.`);
      const isProtected = paths.length > before;
      if (inner.rules.length === 0 && people === null) return undefined;
      const change = (item: unknown): unknown => {
        if (isWireRecord(item)) return inPlace(inner, item);
        return isProtected ? WITHHELD : inAnything(item, 0);
      };
      return rule((value) => {
        if (Array.isArray(value)) return mapEach(value, change);
        return isProtected ? WITHHELD : inAnything(value, 0);
      });
    }
    if (rows?.columnOf !== undefined) return rule(ofEntries(rows.table, rows.columnOf, path));
    if (people === null) return undefined;
    if (isUserColumn(table, column)) return rule(ofUsers);
    if (isText || isJson(table, column)) return rule((value) => inAnything(value, 0));
    // What should be a day or another id may hold words, but a short id is a number of its own there.
    return isKey(table, column) ? undefined : rule((value) => inAnything(value, 0, people.amongWords));
  }

  function ofEntries(table: PgTable, columnOf: (value: unknown) => string | null, path: string): Change {
    const before = paths.length;
    for (const name of [...omit, ...pseudonymize])
      if (name.startsWith(columnName(table, ''))) paths.push(path);
    if (paths.length === before) return (value) => inAnything(value, 0);
    return (value) => {
      if (!isWireRecord(value)) return WITHHELD;
      let copy: Record<string, unknown> | undefined;
      for (const [name, entry] of Object.entries(value)) {
        if (entry === null || entry === 'NULL') continue;
        const column = columnOf(entry);
        const action = column === null ? omitted : actionOf(table, column);
        const changed = action === undefined ? inAnything(entry, 0) : (action(entry) ?? null);
        if (changed !== entry) (copy ??= { ...value })[name] = changed;
      }
      return copy ?? value;
    };
  }

  function placeOf(table: PgTable, fields: WireFields, path: string): Place {
    const rules = Object.keys(fields).flatMap((name) => ruleOf(table, name, fields, path + name) ?? []);
    const place = { rules, known: new Set(Object.keys(fields)) };
    places.set(table, place);
    return place;
  }

  function inPlace({ rules, known }: Place, record: WireRecord): WireRecord {
    let copy: Record<string, unknown> | undefined;
    const put = (name: string, value: unknown, before: unknown): void => {
      if (value === before) return;
      copy ??= { ...record };
      if (value === undefined) Reflect.deleteProperty(copy, name);
      else copy[name] = value;
    };
    for (const { name, change } of rules) {
      const value = record[name];
      if (value !== undefined && value !== null) put(name, change(value), value);
    }
    if (people !== null) {
      for (const [name, value] of Object.entries(record)) {
        if (known.has(name)) continue;
        put(name, isUserField(name) ? ofUsers(value) : inAnything(value, 0), value);
      }
    }
    return copy ?? record;
  }

  const ofUserId = (id: string): string => people?.ofId(id) ?? id;
  const root = placeOf(stream.parent, stream.fields, '');
  const hasRules = paths.length > 0;

  function ofRecord(received: unknown): unknown {
    if (!isWireRecord(received)) {
      const mayHold = typeof received === 'string' || typeof received === 'object';
      return hasRules && mayHold && received !== null ? WITHHELD : inAnything(received, 0);
    }
    if (isLookup) {
      const key = received[stream.keyField];
      if (key === undefined && hasRules && 'asked_for' in received) {
        const asked = inAnything(received['asked_for'], 0);
        return received['answered'] === WITHHELD ? received : { asked_for: asked, answered: WITHHELD };
      }
      const person = isId(key) ? people?.ofId(String(key)) : undefined;
      if (person !== undefined) return ofForgotten(received, stream.keyField, person);
    }
    return inPlace(root, received);
  }

  return {
    ofRecord,
    ofRow(table, row) {
      let copy: Record<string, unknown> | undefined;
      for (const { column, change, isOfRecord } of places.get(table)?.rules ?? []) {
        const value = row[column];
        if (isOfRecord || value === undefined || value === null) continue;
        const changed = change(value) ?? null;
        if (changed !== value) (copy ??= { ...row })[column] = changed;
      }
      return copy ?? row;
    },
    ofValue: (value) => inAnything(value, 0),
    ofUserId,
    ofKey: (key) => (isUserColumn(stream.parent, stream.keyColumn) ? ofUserId(key) : key),
    touches(field) {
      const path = field.replace(/\[\d*\]/g, '');
      return paths.some((one) => `${one}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${one}.`));
    },
  };
}

/** As the service names fields that hold ids of people. */
const isUserField = (name: string): boolean => /^m_\w*ids?$/.test(name);

const isJson = (table: PgTable, column: string): boolean =>
  getTableConfig(table).columns.some((one) => one.name === column && one.getSQLType() === 'jsonb');

const isKey = (table: PgTable, column: string): boolean =>
  getTableConfig(table).primaryKeys.some(({ columns }) => columns.some(({ name }) => name === column));

const isId = (value: unknown): value is string | number | ExactNumber =>
  typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;

/** Everything that somebody's own record says of them. */
function ofForgotten(record: WireRecord, keyField: string, person: string): WireRecord {
  const changes = Object.entries(record).flatMap(([name, value]) =>
    value !== person && (name === keyField || typeof value === 'string') ? [[name, person] as const] : [],
  );
  return changes.length === 0 ? record : { ...record, ...Object.fromEntries(changes) };
}
