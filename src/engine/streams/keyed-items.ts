import type { ReadFieldsOptions } from './read-fields.ts';
import type { WireRecord } from './stream.ts';
import { type Field, type Item, describeValue } from './wire.ts';

interface KeyedItemsOptions<Fields> extends Pick<ReadFieldsOptions, 'addIssue'> {
  readonly list: string;
  readonly key: Field<string> & { readonly name: string };
  readonly read: (record: WireRecord, options: ReadFieldsOptions) => Fields;
  /**
   * Determines which of two items with one key is kept: true when `next` replaces `kept`. Default: the later one in the
   * list.
   */
  readonly replaces?: (kept: Item, next: Item) => boolean;
}

/**
 * Reads the items of a list that can be rows of a child table: with a usable key, and each key once. Other items
 * become data issues with their whole content; an exact repetition is dropped without an issue.
 */
export function keyedItems<Fields>(
  items: readonly Item[] | null,
  { list, key: { name, read: readKey }, read, addIssue, replaces }: KeyedItemsOptions<Fields>,
): { key: string; index: number; fields: Fields }[] {
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
    if (before === undefined) {
      kept.set(key, item);
    } else if (JSON.stringify(before.record) !== JSON.stringify(item.record)) {
      const next = replaces?.(before, item) ?? true;
      reject(next ? before : item, `a second entry with ${name} ${JSON.stringify(key)} is kept instead`);
      if (next) kept.set(key, item);
    }
  }
  return Array.from(kept, ([key, { record, index }]) => ({
    key,
    index,
    fields: read(record, { addIssue, at: `${list}[${index}]` }),
  }));
}
