import type { ReportIssue } from './stream.ts';
import { type Field, type Item, describeValue } from './wire.ts';

interface KeyedItemsOptions {
  readonly items: readonly Item[] | null;
  readonly list: string;
  readonly keyField: string;
  readonly key: Field<string>;
  readonly report: ReportIssue;
  /**
   * Determines which of two items with one key is kept: true when `next` replaces `kept`. Default: the later one in the
   * list.
   */
  readonly replaces?: (kept: Item, next: Item) => boolean;
}

/**
 * The items of a list that can be rows of a child table: with a usable key, and each key once. Other items are reported with
 * their whole content; an exact repetition is dropped without a report.
 */
export function keyedItems(options: KeyedItemsOptions): { key: string; item: Item }[] {
  const { list, keyField, report } = options;
  const kept = new Map<string, Item>();
  const reject = (item: Item, problem: string) =>
    report({ kind: 'record_rejected', field: `${list}[${item.index}]`, problem, value: item.record });
  for (const item of options.items ?? []) {
    const key = options.key.read(item.record[keyField], () => undefined);
    if (key === null) {
      reject(item, `no usable ${keyField}: ${describeValue(item.record[keyField] ?? null)}`);
      continue;
    }
    const before = kept.get(key);
    if (before === undefined) {
      kept.set(key, item);
    } else if (JSON.stringify(before.record) !== JSON.stringify(item.record)) {
      const next = options.replaces?.(before, item) ?? true;
      reject(next ? before : item, `a second entry with ${keyField} ${JSON.stringify(key)} is kept instead`);
      if (next) kept.set(key, item);
    }
  }
  return [...kept].map(([key, item]) => ({ key, item }));
}
