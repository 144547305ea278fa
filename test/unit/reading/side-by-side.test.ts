import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readSideBySide } from '../../../src/engine/reading/backfill.ts';
import { records, type RecordsStep, type Step } from '../../../src/engine/reading/step.ts';
import { Received } from '../../../src/shared/received.ts';
import { createGate } from '../../support/gate.ts';

type Reader = AsyncGenerator<RecordsStep, void, undefined>;

const describe = (step: Step): unknown => (step.kind === 'records' ? step.records[0]?.parse() : step.kind);

async function collect(
  readers: Reader[],
  {
    width = 2,
    onStep,
    onAbort,
  }: {
    readonly width?: number;
    readonly onStep?: (step: unknown) => void;
    readonly onAbort?: () => void;
  } = {},
) {
  const seen: unknown[] = [];
  const aborted: boolean[] = [];
  const queue = [...readers];
  const steps = readSideBySide({
    width,
    next: () => queue.shift(),
    abort: () => {
      aborted.push(true);
      onAbort?.();
    },
  });
  try {
    for await (const step of steps) {
      seen.push(describe(step));
      onStep?.(describe(step));
    }
    return { seen, aborted, failure: undefined, left: queue.length };
  } catch (failure) {
    return { seen, aborted, failure, left: queue.length };
  }
}

const once = (reader: Reader) => {
  const queue = [reader];
  return () => queue.shift();
};

async function* of(...names: string[]): Reader {
  for (const name of names) yield await Promise.resolve(records([Received.of(name)]));
}

test('all steps of all readers are yielded, in the order of each reader, with a commit at the end', async () => {
  const { seen, failure } = await collect([of('a1', 'a2', 'a3'), of('b1', 'b2'), of('c1')]);
  expect(failure).toBeUndefined();
  expect(seen.filter((one) => one !== 'idle').sort()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'commit']);
  expect(seen.filter((one) => String(one).startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
});

test('the number of open readers is at most the width, and the next reader begins when one ends', async () => {
  const open = new Set<string>();
  let most = 0;
  async function* counted(name: string): Reader {
    open.add(name);
    most = Math.max(most, open.size);
    yield* of(`${name}1`, `${name}2`);
    open.delete(name);
  }
  const { seen } = await collect(['a', 'b', 'c', 'd', 'e'].map(counted), { width: 2 });
  expect(most).toBe(2);
  expect(seen.filter((one) => one !== 'idle')).toHaveLength(11);
});

test('an idle step is yielded before a wait without ready steps', async () => {
  const gate = createGate();
  async function* slow(): Reader {
    yield records([Received.of('first')]);
    await gate.opened;
    yield records([Received.of('second')]);
  }
  const { seen } = await collect([slow()], {
    onStep: (step) => {
      if (step === 'idle') gate.open();
    },
  });
  expect(seen.slice(0, 2)).toEqual(['first', 'idle']);
  expect(seen.filter((one) => one !== 'idle')).toEqual(['first', 'second', 'commit']);
});

test('a step that arrives during a commit is yielded', async () => {
  const idle = createGate();
  async function* slow(): Reader {
    yield records([Received.of('first')]);
    await idle.opened;
    yield records([Received.of('last')]);
  }
  const seen: unknown[] = [];
  for await (const step of readSideBySide({ width: 1, next: once(slow()), abort: () => undefined })) {
    seen.push(describe(step));
    if (step.kind !== 'idle') continue;
    idle.open();
    await nextTurn();
  }
  expect(seen).toEqual(['first', 'idle', 'last', 'commit']);
});

test('if a reader fails, ready steps are still yielded and committed, and no further reader begins', async () => {
  const aborted = createGate();
  async function* failing(): Reader {
    yield await Promise.resolve(records([Received.of('bad1')]));
    throw new Error('no more');
  }
  async function* other(): Reader {
    yield records([Received.of('good1')]);
    yield records([Received.of('good2')]);
    await aborted.opened;
    throw new Error('interrupted');
  }
  const { seen, failure, left, ...ended } = await collect([failing(), other(), of('later')], {
    onAbort: () => aborted.open(),
  });
  expect(failure).toMatchObject({ message: 'no more' });
  expect(ended.aborted).toEqual([true]);
  expect(left).toBe(1);
  expect(seen).toContain('bad1');
  expect(seen).toContain('good1');
  expect(seen.at(-1)).toBe('commit');
});
