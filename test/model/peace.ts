/** Checks the end of a history: after all departures are reverted, the next sync makes the warehouse equal to the source. */
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { type CompareOptions, TABLES_OF } from '../support/source-oracle.ts';
import type { Departures } from './create-departures.ts';
import { makeChange, type Source } from './source-change.ts';

/** Lets the training cache expire. Only the test's clock advances, not PostgreSQL's. */
const CACHE_MS = 16 * MINUTE_MS;

interface PeaceOptions {
  readonly sandbox: Sandbox;
  readonly source: Source;
  readonly departures: Departures;
  readonly streams: readonly StreamName[];
  readonly query: <Row>(text: string) => Promise<Row[]>;
  readonly run: (stream: StreamName, request: Partial<RunRequest>) => Promise<RunResult>;
  readonly compare: (options?: CompareOptions) => Promise<void>;
  /** Removes faults that wait for the next run. */
  disarm(): Promise<void>;
  /** A new worker with long timeouts. */
  startWithLongTimeouts(): Promise<void>;
  pass(ms: number): void;
}

interface Peace {
  end(): Promise<void>;
}

export function createPeace(options: PeaceOptions): Peace {
  const { sandbox, source, departures, query, run, compare } = options;
  const holds = (stream: StreamName): boolean => options.streams.includes(stream);
  const lists = options.streams.filter((name) => name !== 'users');
  /** Reverts all departures, starts a new worker with long timeouts, and lets the training cache expire. */
  async function end(): Promise<void> {
    departures.putRight();
    await options.disarm();
    await options.startWithLongTimeouts();
    options.pass(MINUTE_MS);
    changeInPeace();
    options.pass(CACHE_MS);
    for (const stream of lists) {
      const { outcome } = await succeed(stream, { force: true });
      if (outcome === 'succeeded') continue;
      // An older list is accepted after the cache has expired.
      expect(stream, 'a stream that takes nothing').toBe('training-employee-status');
      options.pass(CACHE_MS);
      const again = await succeed(stream, { force: true });
      expect(again.outcome, `${stream} after the cache is over`).toBe('succeeded');
    }
    const tables = lists.flatMap((stream) => TABLES_OF[stream] ?? []);
    await compare({ tables, exceptDeletedFollowups: true });
    if (holds('followups')) await succeed('followups', { kind: 'reconcile' });
    if (holds('users')) await succeed('users', { kind: 'reconcile' });
    await compare({ tables: options.streams.flatMap((stream) => TABLES_OF[stream] ?? []) });
    await standStill();
    await unknownFieldsAreReported();
    const open = await query(`select run_id from safety_sync.runs where status = 'running'`);
    expect(open, 'runs left running').toEqual([]);
  }

  /** Changes right after the correction are those that a wrong clock would skip. */
  function changeInPeace(): void {
    makeChange(source, { kind: 'followup', action: 'reassign', at: 3 });
    for (const of of ['resources', 'equipments', 'training-employee-status'] as const) {
      makeChange(source, { kind: 'change', of, action: 'update', at: 1 });
    }
  }

  /** Unknown fields are open issues of every stream while the service sends them. */
  async function unknownFieldsAreReported(): Promise<void> {
    const open = await query<{ stream: string }>(
      `select distinct stream from safety_sync.data_issues
       where kind = 'unknown_field' and field like 'x%extra%' and resolved_at is null and stream <> 'users' order by 1`,
    );
    const { followups, resources, employees, equipment } = sandbox.store;
    const sizes = [
      ['equipments', equipment.size],
      ['followups', followups.size],
      ['resources', resources.size],
      ['training-employee-status', employees.size],
    ] as const;
    const isSent = sandbox.readings.extraFields;
    const expected = isSent
      ? sizes.filter(([stream, size]) => size > 0 && holds(stream)).map(([stream]) => stream)
      : [];
    expect(
      open.map(({ stream }) => stream),
      'streams with open issues of unknown fields',
    ).toEqual(expected);
  }

  /** A sync of an unchanged source writes no rows. */
  async function standStill(): Promise<void> {
    for (const stream of lists) {
      // Its passes read each record twice: copies in other bytes within one batch are written.
      if (stream === 'completed-trainings' && sandbox.readings.bytes !== 'plain') continue;
      const { counts } = await run(stream, { force: true });
      const { inserted, updated, deleted } = counts;
      expect({ inserted, updated, deleted }, `${stream} once more`).toEqual({
        inserted: 0,
        updated: 0,
        deleted: 0,
      });
    }
  }

  async function succeed(stream: StreamName, request: Partial<RunRequest>): Promise<RunResult> {
    const result = await run(stream, request);
    if (result.outcome === 'failed') throw result.error;
    return result;
  }

  return { end };
}
