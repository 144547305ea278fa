/**
 * Removes protected values from a record before all other work: only the rest is compared, hashed, normalized, staged and
 * shown in data issues. Pure. Applied to stored data a second time, it changes nothing.
 */
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { Pseudonyms } from '../../shared/pseudonym.ts';
import type { RecordProtection } from '../loading/load-options.ts';
import { columnName } from '../streams/stored-columns.ts';
import type { Row, StreamDefinition, WireField, WireFields, WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { changeFields, createPeopleFinder, mapEach } from './find-people.ts';
import { createPeople, type ForgottenText } from './people.ts';
import { createPersonFilter } from './person-record.ts';

interface ProtectionOptions {
  readonly stream: StreamDefinition;
  /** Columns as `table.column`. */
  readonly omit: readonly string[];
  readonly pseudonymize: readonly string[];
  /** Words of USERS_KEEP. */
  readonly keep?: readonly string[] | undefined;
  /** null: no values are replaced by pseudonyms. */
  readonly pseudonyms: Pseudonyms | null;
  readonly forgotten: readonly ForgottenText[];
}

export interface Protection extends RecordProtection {
  /** Like `ofRecord`, for the columns of a row that has no record any more. */
  ofRow(table: PgTable, row: Row): Row;
  /** Like `ofRecord`, for a value of any kind, for example the value of a data issue. */
  ofValue(value: unknown): unknown;
  /** `messages[2].note`: returns whether the value at this place, or a value in it, is protected. */
  touches(field: string): boolean;
  ofUserId(id: string): string;
  /** Returns the key of one of the stream's records. */
  ofKey(key: string): string;
}

/** Replaces a value with an unexpected form, because its protected values cannot be determined. */
export const WITHHELD = '(not stored: it may hold protected values)';

type Replacement = (value: unknown) => unknown;

/** Undefined: the field is removed. */
const omitted: Replacement = () => undefined;

interface ProtectionRule {
  readonly name: string;
  readonly column: string;
  readonly change: Replacement;
  /** False for a list of rows: a row of the table has no such column. */
  readonly isOfRecord: boolean;
}

interface ProtectedPath {
  readonly rules: readonly ProtectionRule[];
  /** Names of all known fields. */
  readonly known: ReadonlySet<string>;
}

const toStableText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function createProtection(options: ProtectionOptions): Protection {
  const { stream, pseudonyms } = options;
  const [omit, pseudonymize] = [new Set(options.omit), new Set(options.pseudonymize)];
  const people = pseudonyms === null ? null : createPeople(pseudonyms, options.forgotten);
  const finder = createPeopleFinder(people);
  const { personal } = stream;
  const person = personal === undefined ? null : createPersonFilter(stream, options.keep ?? []);
  /** Paths of all protected fields: `messages.note`. */
  const paths: string[] = [];
  const places = new Map<PgTable, ProtectedPath>();

  const toPseudonym: Replacement = (value) => {
    if (Array.isArray(value)) return mapEach(value, toPseudonym);
    const text = toStableText(value);
    return text === '' || pseudonyms === null ? value : pseudonyms.of(text);
  };
  const actionOf = (table: PgTable, column: string): Replacement | undefined => {
    for (const one of [column, personal?.coveredBy[column] ?? column]) {
      const name = columnName(table, one);
      if (omit.has(name)) return omitted;
      if (pseudonymize.has(name)) return toPseudonym;
    }
    return undefined;
  };

  function ruleOf(
    table: PgTable,
    column: string,
    field: WireField,
    parent: string,
  ): ProtectionRule | undefined {
    const { name = column, isText = false, isUser = false, isDropped = false, rows } = field;
    const path = parent + name;
    const rule = (change: Replacement): ProtectionRule => ({
      name,
      column,
      change,
      isOfRecord: rows?.fields !== undefined,
    });
    const action = isDropped ? omitted : actionOf(table, column);
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
        return isProtected ? WITHHELD : finder.in(item);
      };
      return rule((value) => {
        if (Array.isArray(value)) return mapEach(value, change);
        return isProtected ? WITHHELD : finder.in(value);
      });
    }
    if (rows?.columnOf !== undefined) return rule(ofEntries(rows.table, rows.columnOf, path));
    if (people === null) return undefined;
    if (isUser) return rule(finder.ofUsers);
    if (isText || isJson(table, column)) return rule((value) => finder.in(value));
    // Days and ids of other objects: the service may send a text with names there, but a short number there is not the id
    // of a person.
    return isKeyColumn(table, column) ? undefined : rule((value) => finder.in(value, 'not_people'));
  }

  /** The names of the entries are not checked as words, because they are names of measured values. */
  const ofMeasures: Replacement = (value) =>
    isWireRecord(value)
      ? changeFields(value, (one, name) => [name, finder.in(one, 'measured')])
      : finder.in(value);

  function ofEntries(table: PgTable, columnOf: (value: unknown) => string | null, path: string): Replacement {
    const before = paths.length;
    for (const name of [...omit, ...pseudonymize])
      if (name.startsWith(columnName(table, ''))) paths.push(path);
    if (paths.length === before) return ofMeasures;
    return (value) => {
      if (!isWireRecord(value)) return WITHHELD;
      return changeFields(value, (entry, name) => {
        if (entry === null || entry === 'NULL') return [name, entry];
        const column = columnOf(entry);
        const action = column === null ? omitted : actionOf(table, column);
        return [name, action === undefined ? finder.in(entry, 'measured') : (action(entry) ?? null)];
      });
    };
  }

  function placeOf(table: PgTable, fields: WireFields, path: string): ProtectedPath {
    const all = Object.entries(fields);
    const rules = all.flatMap(([column, field]) => ruleOf(table, column, field, path) ?? []);
    const place = { rules, known: new Set(all.map(([column, { name = column }]) => name)) };
    if (place.known.size < all.length) throw new TypeError(`${path}: two columns come from one field`);
    places.set(table, place);
    return place;
  }

  function inPlace({ rules, known }: ProtectedPath, record: WireRecord): WireRecord {
    return changeFields(record, (value, name) => {
      const rule = rules.find((one) => one.name === name);
      if (rule === undefined) return known.has(name) ? [name, value] : finder.inField(value, name);
      const changed = value === null ? null : rule.change(value);
      return changed === undefined ? null : [name, changed];
    });
  }

  const ofUserId = (id: string): string => people?.ofId(id) ?? id;
  const root = placeOf(stream.parent, stream.fields, '');
  const hasRules = paths.length > 0 || person !== null;
  const keyField = Object.values(stream.fields).find(({ name }) => name === stream.keyField);

  const ids = options.forgotten.filter(({ words }) => words === null);
  /** Finds only ids, because the name in a namesake's own record belongs to the namesake. */
  const ofNamesakes =
    person !== null && ids.length < options.forgotten.length
      ? createProtection({ ...options, forgotten: ids })
      : null;
  const isNamed = (value: unknown): boolean => typeof value === 'string' && finder.in(value) !== value;
  /** The name as a whole is stored where its parts are pseudonyms, because equal names have equal pseudonyms. */
  function withName(record: WireRecord): WireRecord {
    const name = personal?.nameOf(record);
    if (actionOf(stream.parent, 'name') !== toPseudonym || name === undefined || record['name'] === name)
      return record;
    return { ...record, name };
  }

  function ofPerson(record: WireRecord, filter: NonNullable<typeof person>['filter']): WireRecord {
    const own = finder.ofOwn(record, stream.keyField);
    if (own !== undefined) return own;
    const kept = withName(filter(record));
    const isNamesake = ofNamesakes !== null && isNamed(personal?.nameOf(kept));
    return isNamesake ? (ofNamesakes.ofRecord(kept) as WireRecord) : inPlace(root, kept);
  }

  function ofRecord(received: unknown): unknown {
    if (!isWireRecord(received)) {
      const mayHold = typeof received === 'string' || typeof received === 'object';
      return hasRules && mayHold && received !== null ? WITHHELD : finder.in(received);
    }
    return person === null ? inPlace(root, received) : ofPerson(received, person.filter);
  }

  return {
    secret: pseudonyms?.of('checksum') ?? 'protected',
    ofRecord,
    unknownIn: (received) =>
      (person?.unknownIn(received) ?? []).map((name) => finder.inField(null, name)?.[0] ?? name),
    ofRow(table, row) {
      const rules = (places.get(table)?.rules ?? []).filter(({ isOfRecord }) => !isOfRecord);
      return changeFields(row, (value, column) => {
        const rule = rules.find((one) => one.column === column);
        return [column, rule === undefined || value === null ? value : (rule.change(value) ?? null)];
      });
    },
    ofValue: (value) => finder.in(value),
    ofUserId,
    ofKey: (key) => (keyField?.isUser === true ? ofUserId(key) : key),
    touches(field) {
      const path = field.replace(/\[\d*\]/g, '');
      if (person?.isKept(path.split('.', 1)[0] ?? '') === false) return true;
      return paths.some((one) => `${one}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${one}.`));
    },
  };
}

const isJson = (table: PgTable, column: string): boolean =>
  getTableConfig(table).columns.some((one) => one.name === column && one.getSQLType() === 'jsonb');

const isKeyColumn = (table: PgTable, column: string): boolean =>
  getTableConfig(table).primaryKeys.some(({ columns }) => columns.some(({ name }) => name === column));
