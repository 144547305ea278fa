import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import { streamShape } from '../../../src/engine/database/table-shape.ts';
import { STREAMS } from '../../../src/engine/streams/index.ts';
import type { Row, WireRecord } from '../../../src/engine/streams/stream.ts';
import { createRandom } from '../../support/seeded-random.ts';
import { specimenOf } from '../../support/specimens.ts';

const random = createRandom(7);
/** Values that a service may send in the place of an identifier. */
const KEYS = ['a', 'b', ' a', 'A', 7, '7', '', null, {}, ['a'], 1.5, 2 ** 60, 'é', 'x'.repeat(700)];

/** The record with some identifiers replaced, and some elements of its lists left out, repeated or added. */
function distort(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.flatMap((item: unknown) =>
      Array.from({ length: random.below(4) }, () => distort(item)),
    );
    return random.below(8) === 0 ? [...items, random.pick(KEYS)] : items;
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, distort(inner, field)]));
  }
  return /id$|key$/i.test(name) && random.below(3) === 0 ? random.pick(KEYS) : value;
}

const WITH_CHILDREN = STREAMS.filter(({ children }) => children.length > 0);

test.each(WITH_CHILDREN.map((stream) => [stream.name, stream] as const))(
  'in the rows of a %s record, every reference is to another row of the record, because COPY does not look up foreign keys',
  (name, stream) => {
    const { parent, children } = streamShape(stream);
    const tables = [parent, ...children].map(({ table }) => table);
    const keys = tables.flatMap((table, from) =>
      getTableConfig(table).foreignKeys.map((key) => {
        const { columns, foreignColumns, foreignTable } = key.reference();
        const [own = [], foreign = []] = [columns, foreignColumns].map((some) =>
          some.map((one) => one.name).slice(1),
        );
        return { from, to: tables.indexOf(foreignTable), own, foreign };
      }),
    );
    let references = 0;
    const missing: string[] = [];
    for (let round = 0; round < 2000; round += 1) {
      const record = {
        ...(distort(specimenOf(name).build('k')) as WireRecord),
        [stream.keyField]: 'k',
        messages: distort([
          { id: 'm', date: 1, attachments: [{ key: 'f' }] },
          { id: 'n', date: 2, attachments: [{ key: 'g' }] },
        ]),
      };
      const made = stream.toRows(record, {}, () => undefined);
      const rows: readonly (readonly Row[])[] = [[made.parent], ...made.children];
      const valuesOf = (row: Row, names: readonly string[]) => JSON.stringify(names.map((one) => row[one]));
      for (const { from, to, own, foreign } of keys) {
        const there = new Set(rows[to]?.map((row) => valuesOf(row, foreign)));
        for (const row of rows[from] ?? []) {
          references += 1;
          if (!there.has(valuesOf(row, own))) missing.push(valuesOf(row, own));
        }
      }
    }
    expect(missing).toEqual([]);
    expect(references).toBeGreaterThan(1000);
  },
);
