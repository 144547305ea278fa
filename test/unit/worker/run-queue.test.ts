import { describe, expect, it } from 'vitest';
import { createRunQueue } from '../../../src/operate/worker/run-queue.ts';
import { createGate, type Gate } from '../../support/gate.ts';

function createFixture(slots: number) {
  const time = { passedMs: 0 };
  const clock = { now: () => time.passedMs, monotonicMs: () => time.passedMs };
  const queue = createRunQueue({ slots, clock });
  const begun: string[] = [];
  const gates = new Map<string, Gate>();
  /** A run that lasts until it is ended by its name. */
  const start = (accountId: string, stream: string) => {
    const name = `${accountId} ${stream}`;
    const gate = createGate();
    gates.set(name, gate);
    return queue.run(accountId, async () => {
      begun.push(name);
      await gate.opened;
    });
  };
  /** Runs that it makes possible have begun when this resolves. */
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const end = async (name: string) => {
    gates.get(name)?.open();
    await settle();
  };
  return { queue, begun, start, end, settle, time };
}

describe('slots', () => {
  it('at most as many runs as slots are under way, and the next one begins when one ends', async () => {
    const { queue, begun, start, end, settle } = createFixture(2);
    for (const stream of ['r', 'f', 't']) void start('north', stream);
    await settle();
    expect(begun).toEqual(['north r', 'north f']);
    expect(queue.load).toEqual({ slots: 2, running: 2, unhealthy: 0, waiting: 1, longestWaitMs: 0 });
    await end('north f');
    expect(begun).toEqual(['north r', 'north f', 'north t']);
  });

  it('slots rotate between accounts, so that an account with many runs does not delay the others', async () => {
    const { begun, start, end, settle } = createFixture(1);
    for (const stream of ['r', 'f', 't']) void start('large', stream);
    void start('small', 'r');
    void start('other', 'r');
    await settle();
    for (const name of ['large r', 'large f', 'small r', 'other r']) await end(name);
    expect(begun).toEqual(['large r', 'large f', 'small r', 'other r', 'large t']);
  });

  it('a slot is released by a run that throws', async () => {
    const { queue } = createFixture(1);
    await expect(queue.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(queue.run('a', () => Promise.resolve(7))).resolves.toBe(7);
  });

  it('the load of the queue contains the longest wait of a run', async () => {
    const { queue, start, settle, time } = createFixture(1);
    void start('a', 'r');
    void start('b', 'r');
    time.passedMs = 5_000;
    void start('c', 'r');
    time.passedMs = 7_000;
    await settle();
    expect(queue.load).toMatchObject({ waiting: 2, longestWaitMs: 7_000 });
  });
});

describe('an unhealthy account', () => {
  it('an unhealthy account releases the slots of its runs to others', async () => {
    const { queue, begun, start, settle } = createFixture(2);
    for (const stream of ['r', 'f', 't']) void start('sick', stream);
    void start('well', 'r');
    void start('well', 'f');
    await settle();
    expect(begun).toEqual(['sick r', 'sick f']);
    queue.setHealth('sick', false);
    await settle();
    // Not its own third one: it has one at a time from now on.
    expect(begun).toEqual(['sick r', 'sick f', 'well r', 'well f']);
    expect(queue.load).toMatchObject({ running: 4, unhealthy: 2, waiting: 1 });
  });

  it('an unhealthy account has one run at a time, and all of them when it is healthy again', async () => {
    const { queue, begun, start, end, settle } = createFixture(3);
    queue.setHealth('sick', false);
    for (const stream of ['r', 'f', 't']) void start('sick', stream);
    await settle();
    expect(begun).toEqual(['sick r']);
    await end('sick r');
    expect(begun).toEqual(['sick r', 'sick f']);
    queue.setHealth('sick', true);
    await settle();
    expect(begun).toEqual(['sick r', 'sick f', 'sick t']);
  });

  it('unhealthy accounts have at most as many extra runs as there are slots', async () => {
    const { queue, begun, start, settle } = createFixture(2);
    for (let round = 0; round < 5; round += 1) {
      for (const account of ['a', 'b']) void start(`${account}${round}`, 'r');
      await settle();
      for (const account of ['a', 'b']) queue.setHealth(`${account}${round}`, false);
      await settle();
    }
    expect(begun).toHaveLength(4);
    expect(queue.load).toMatchObject({ running: 4, waiting: 6 });
  });
});
