/** Every stream of the registry through the battery that holds what all of them promise. */
import { expect, test } from 'vitest';
import { STREAMS } from '../../src/engine/streams/index.ts';
import { expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { specimenOf, SPECIMENS } from '../support/specimens.ts';
import { describeStream } from '../support/stream-battery.ts';

/** The names come from many lists, which test/integration/names.test.ts compares. */
const OWN_LIST = STREAMS.filter(({ readMode }) => readMode.kind !== 'names');

test('every stream has a specimen and tables to compare', () => {
  const names = OWN_LIST.map((stream) => stream.name).toSorted();
  expect(Object.keys(SPECIMENS).toSorted()).toEqual(names);
  expect(Object.keys(TABLES_OF).toSorted()).toEqual(names);
});

/** One that reads increments; one that reads whole lists is the sixth stream. */
const SAMPLES = ['followups'];
for (const stream of OWN_LIST) {
  const tables = TABLES_OF[stream.name] ?? [];
  describeStream({
    stream,
    specimen: specimenOf(stream.name),
    isSample: SAMPLES.includes(stream.name),
    isEqual: (worker) => expectWarehouseEqualsSource(worker, { tables }),
  });
}
