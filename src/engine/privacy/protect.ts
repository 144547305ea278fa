/**
 * Removes protected values from a record before all other work: only the rest is compared, hashed, normalized, staged and
 * shown in data issues. A record of a person keeps only the fields of its stream. Pure. Applied to stored data a
 * second time, it changes nothing.
 */
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { Pseudonyms } from '../../shared/pseudonym.ts';
import type { StoredPolicy } from '../control-tables/stored-privacy.ts';
import type { RecordProtection } from '../loading/record.ts';
import { columnName } from '../streams/stored-columns.ts';
import type { Row, StreamDefinition, WireField, WireFields, WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { changeFields, createPeople, type ForgottenText, mapEach } from './people.ts';

interface ProtectionOptions extends Pick<StoredPolicy, 'omit' | 'pseudonymize' | 'keep'> {
  readonly stream: StreamDefinition;
  /** null: no values are replaced by pseudonyms. */
  readonly pseudonyms: Pseudonyms | null;
  readonly forgotten: readonly ForgottenText[];
}

export interface Protection extends RecordProtection {
  /** Like `ofRecord`, for the columns of a row that has no record any more. */
  ofRow(table: PgTable, row: Row): Row;
  ofUserId(id: string): string;
  /** Returns the key of one of the stream's records. */
  ofKey(key: string): string;
}

/** Replaces a value with an unexpected form, because its protected values cannot be determined. */
export const WITHHELD = '(not stored: it may hold protected values)';

type Replacement = (value: unknown) => unknown;

/** Undefined: the field is removed. */
const omitted: Replacement = () => undefined;
const same: Replacement = (value) => value;

/** The fields of a record, or of the items of one of its lists. */
interface Place {
  /** By the service's names; other fields are unknown. */
  readonly fields: ReadonlyMap<string, Replacement>;
  /** By columns, without lists, because a row of the table has none. */
  readonly columns: ReadonlyMap<string, Replacement>;
}

const toStableText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function createProtection(options: ProtectionOptions): Protection {
  const { stream, pseudonyms, keep = [] } = options;
  const { personal, keyField, fields } = stream;
  const [omit, pseudonymize] = [new Set(options.omit), new Set(options.pseudonymize)];
  const { find, ofId: personOf, ofUsers, inField } = createPeople(pseudonyms, options.forgotten);
  const places = new Map<PgTable, Place>();
  /** A value in another form than a field's may hold protected ones. */
  const isProtected =
    omit.size + pseudonymize.size > 0 || personal !== undefined || Object.values(fields).some(isDropped);
  const inOtherForm: Replacement = isProtected ? () => WITHHELD : find;

  const toPseudonym: Replacement = (value) => {
    if (Array.isArray(value)) return mapEach(value, toPseudonym);
    const text = toStableText(value);
    return text === '' || pseudonyms === null ? value : pseudonyms.of(text);
  };
  /** The column with the setting that applies. */
  const settingOf = (column: string): string => personal?.coveredBy[column] ?? column;
  const actionOf = (table: PgTable, column: string): Replacement | undefined => {
    for (const one of [column, settingOf(column)]) {
      const name = columnName(table, one);
      if (omit.has(name)) return omitted;
      if (pseudonymize.has(name)) return toPseudonym;
    }
    return undefined;
  };

  /** An object in place of an id is reduced to its id. */
  function toId(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, toId);
    return isWireRecord(value) ? (value[keyField] ?? null) : value;
  }

  /** Days and ids of other objects: the service may send a text with names there, but a number there is not a person. */
  const inTyped: Replacement = (value) => find(value, true);
  const ofMeasure: Replacement = (value) => find(value, typeof value !== 'string');

  function changeOf(table: PgTable, column: string, field: WireField): Replacement {
    const { name = column, isText = false, isUser = false, rows } = field;
    const isNotKept = personal?.keepable.includes(column) === true && !keep.includes(column);
    const action = isDropped(field) || isNotKept ? omitted : actionOf(table, column);
    if (action !== undefined) return action;
    if (rows?.fields !== undefined) return ofItems(placeOf(rows.table, rows.fields));
    if (rows?.columnOf !== undefined) return ofEntries(rows.table, rows.columnOf);
    const ofId = isUser ? ofUsers : inTyped;
    if (personal !== undefined && name.endsWith('_id')) return (value) => ofId(toId(value));
    if (isUser) return ofUsers;
    // The name in a namesake's own record belongs to the namesake.
    if (personal !== undefined && settingOf(column) === 'name') return same;
    if (isText || isJson(table, column)) return find;
    return isKeyColumn(table, column) ? same : inTyped;
  }

  function ofItems(place: Place): Replacement {
    const change: Replacement = (item) => (isWireRecord(item) ? inPlace(place, item) : inOtherForm(item));
    return (value) => (Array.isArray(value) ? mapEach(value, change) : inOtherForm(value));
  }

  function ofEntries(table: PgTable, columnOf: (value: unknown) => string | null): Replacement {
    const hasSetting = [...omit, ...pseudonymize].some((one) => one.startsWith(columnName(table, '')));
    const change = (entry: unknown): unknown => {
      if (!hasSetting || entry === null || entry === 'NULL') return ofMeasure(entry);
      const column = columnOf(entry);
      const action = column === null ? omitted : (actionOf(table, column) ?? ofMeasure);
      return action(entry) ?? null;
    };
    return (value) =>
      isWireRecord(value) ? changeFields(value, (entry, name) => [name, change(entry)]) : inOtherForm(value);
  }

  function placeOf(table: PgTable, declared: WireFields): Place {
    const place = { fields: new Map<string, Replacement>(), columns: new Map<string, Replacement>() };
    for (const [column, field] of Object.entries(declared)) {
      const change = changeOf(table, column, field);
      place.fields.set(field.name ?? column, change);
      if (field.rows?.fields === undefined) place.columns.set(column, change);
    }
    places.set(table, place);
    return place;
  }

  function inPlace({ fields }: Place, record: WireRecord): WireRecord {
    return changeFields(record, (value, name) => {
      const change = fields.get(name);
      if (change === undefined) return personal === undefined ? inField(value, name) : null;
      // What a list of names lacks is undefined.
      const changed = value === null || value === undefined ? value : change(value);
      return changed === undefined ? null : [name, changed];
    });
  }

  const root = placeOf(stream.parent, fields);
  const isOfPeople = Object.values(fields).some(({ name, isUser }) => name === keyField && isUser);
  const ofUserId = (id: string): string => personOf(id) ?? id;

  /** The name as a whole is stored where its parts are pseudonyms, because equal names have equal pseudonyms. */
  function withName(record: WireRecord): WireRecord {
    const name = personal?.nameOf(record);
    if (actionOf(stream.parent, 'name') !== toPseudonym || name === undefined || record['name'] === name)
      return record;
    return { ...record, name };
  }

  /** The record of a forgotten person is reduced to its key. */
  function ofPerson(record: WireRecord): WireRecord {
    const person = personOf(String(record[keyField]));
    if (person === undefined) return inPlace(root, withName(record));
    return changeFields(record, (_, name) => (name === keyField ? [name, person] : null));
  }

  return {
    secret: pseudonyms?.of('checksum') ?? 'protected',
    ofRecord(received) {
      if (isWireRecord(received))
        return personal === undefined ? inPlace(root, received) : ofPerson(received);
      const mayHold = typeof received === 'string' || (typeof received === 'object' && received !== null);
      return mayHold ? inOtherForm(received) : find(received);
    },
    /** Names of fields that the service is not known to send. */
    unknownIn(received) {
      if (personal === undefined || !isWireRecord(received)) return [];
      const unknown = Object.keys(received).filter(
        (name) => !root.fields.has(name) && !personal.notKept.includes(name),
      );
      return unknown.map((name) => inField(null, name)[0]);
    },
    ofRow(table, row) {
      const columns = places.get(table)?.columns;
      return changeFields(row, (value, column) => {
        const change = value === null ? undefined : columns?.get(column);
        return [column, change === undefined ? value : (change(value) ?? null)];
      });
    },
    ofUserId,
    ofKey: (key) => (isOfPeople ? ofUserId(key) : key),
  };
}

export const isDropped = (field: WireField): boolean => field.isDropped === true;

const isJson = (table: PgTable, column: string): boolean =>
  getTableConfig(table).columns.some((one) => one.name === column && one.getSQLType() === 'jsonb');

const isKeyColumn = (table: PgTable, column: string): boolean =>
  getTableConfig(table).primaryKeys.some(({ columns }) => columns.some(({ name }) => name === column));
