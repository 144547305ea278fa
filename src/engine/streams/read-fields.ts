/** Reads the fields of an object, and the items of a list as rows of a child table; the names of the values are those of their columns. */
import type { ColumnField } from './fields.ts';
import type { AddIssue, WireRecord } from './stream.ts';
import { type AddProblem, describeValue, type Field, type Item } from './wire.ts';

type FieldMap = Readonly<Record<string, ColumnField<unknown>>>;

/** Declares a column that is never null. */
interface NotNull {
  readonly build: () => { readonly _: { readonly notNull: true } };
}

/** The values by column. Those of keys are there, because no row is made of a record or an item without a usable key. */
type Values<F extends FieldMap> = {
  [K in keyof F]: F[K] extends Field<infer T> ? (F[K] extends NotNull ? T : T | null) : never;
};

/**
 * Makes a reader for one kind of object: field by field; a value that cannot be stored becomes null with an issue, an
 * unknown field gets an issue, unless `ignoresOthers`. The fields become lists once, because records are read by the million.
 * `at`: the place of the record in its parent, '' or `messages[2].`.
 */
export function fieldReader<const F extends FieldMap>(fields: F, { ignoresOthers = false } = {}) {
  // Objects of one shape, because fields have many shapes and calls on them would be slow.
  const readers = Object.entries(fields).map(([column, { name = column, read }]) => ({ column, name, read }));
  const known = new Set(readers.map((reader) => reader.name));

  return (record: WireRecord, addIssue: AddIssue, at = ''): Values<F> => {
    const values: Record<string, unknown> = {};
    let name = '';
    let value: unknown;
    // One function for all fields, because they are read one after the other.
    const addProblem: AddProblem = (problem, detail = {}) =>
      addIssue({
        kind: detail.kind ?? 'field_nulled',
        field: at + name + (detail.suffix ?? ''),
        problem,
        value: 'value' in detail ? detail.value : value,
      });
    let present = 0;
    for (const reader of readers) {
      name = reader.name;
      value = record[name];
      if (value !== undefined) present += 1;
      values[reader.column] = reader.read(value, addProblem);
    }
    if (!ignoresOthers && Object.keys(record).length !== present)
      for (const unknown in record) {
        if (known.has(unknown)) continue;
        addIssue({
          kind: 'unknown_field',
          field: `${at.replaceAll(/\d/g, '')}${unknown}`,
          problem: 'the specification names no such field',
          value: record[unknown],
        });
      }
    return values as Values<F>;
  };
}

/** Adds columns to a row of read values in place, because a spread of both takes ten times as long. */
export const addColumns = <V extends object, C extends object>(values: V, columns: C): Omit<V, keyof C> & C =>
  Object.assign(values, columns);

/**
 * Makes a reader for the items of a list that are rows of a child table: those with a usable key, and the last one of each
 * key. Other items become data issues with their whole content; an exact repetition is dropped without an issue.
 */
export function itemsReader<const F extends FieldMap>(
  list: string,
  { name, read: readKey }: Field<string> & { readonly name: string },
  itemFields: F,
) {
  const read = fieldReader(itemFields);
  return (items: readonly Item[] | null, addIssue: AddIssue) => {
    const kept = new Map<string, Item>();
    const reject = (item: Item, problem: string) =>
      addIssue({ kind: 'record_rejected', field: `${list}[${item.index}]`, problem, value: item.record });
    for (const item of items ?? []) {
      const sent = item.record[name];
      const key = readKey(sent, () => undefined);
      if (key === null) {
        reject(item, `no usable ${name}: ${describeValue(sent ?? null)}`);
        continue;
      }
      const before = kept.get(key);
      if (before !== undefined) {
        if (JSON.stringify(before.record) === JSON.stringify(item.record)) continue;
        reject(before, `a second entry with ${name} ${JSON.stringify(key)} is kept instead`);
        // The one that is kept stays in its own place.
        kept.delete(key);
      }
      kept.set(key, item);
    }
    return Array.from(kept.values(), ({ record, index }) => ({
      index,
      fields: read(record, addIssue, `${list}[${index}].`),
    }));
  };
}

/** Sorts by the times of the items if each of them has one; otherwise, and in ties, they stay as they are. */
export function oldestFirst<Item>(
  items: readonly Item[],
  timeOf: (item: Item) => string | null,
): readonly Item[] {
  if (items.some((item) => timeOf(item) === null)) return items;
  const compare = (one: string, other: string): number => Number(one > other) - Number(one < other);
  return items.toSorted((a, b) => compare(timeOf(a) ?? '', timeOf(b) ?? ''));
}
