/** Checks after every run, for any behaviour of the service. */
import { expect } from 'vitest';
import type { RunKind } from '../../src/engine/streams/state.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunResult } from '../../src/engine/sync/run.ts';
import { type CompareOptions, TABLES_OF } from '../support/source-oracle.ts';
import { id as toId, type WireObject } from '../support/source-wire.ts';
import { specimenOf } from '../support/specimens.ts';
import { runsOf, stateOf } from '../support/world.ts';
import type { Source } from './source-change.ts';

interface Ended {
  readonly kind: RunKind;
  readonly isRetry: boolean;
  /** The source did not change during the run. */
  readonly isStill: boolean;
  readonly result: RunResult;
}

interface RunChecksOptions {
  readonly source: Source;
  readonly query: <Row>(text: string) => Promise<Row[]>;
  readonly owner: string;
  readonly compare: (options: CompareOptions) => Promise<void>;
}

export function createRunChecks({ source, query, owner, compare }: RunChecksOptions) {
  const { sandbox } = source;
  /** The latest time of its own that the service has sent. */
  let latestSentMs = 0;

  /** Keys of the stream's records in the source. */
  function presentOf(stream: StreamName): Set<string | null> {
    const specimen = specimenOf(stream);
    const records = [...specimen.records({ sandbox }).values()] as WireObject[];
    return new Set(records.map((one) => toId(one[specimen.keyField])));
  }

  async function deletedOf(stream: StreamName): Promise<Set<string>> {
    const { table, keyColumn } = specimenOf(stream);
    const rows = await query<{ key: string }>(
      `select ${keyColumn} as key from safety.${table} where _deleted_at is not null`,
    );
    return new Set(rows.map(({ key }) => key));
  }

  async function lastSuccessOf(stream: StreamName): Promise<string | null> {
    const [row] = await query<{ at: string | null }>(
      `select last_success_at::text as at from safety_sync.stream_state where stream = '${stream}'`,
    );
    return row?.at ?? null;
  }

  /** Returns the checks at the end of the run that begins now. */
  return async function begin(stream: StreamName): Promise<(ended: Ended) => Promise<void>> {
    latestSentMs = Math.max(latestSentMs, source.now());
    const asked = sandbox.requests.length;
    const [present, deleted] = [presentOf(stream), await deletedOf(stream)];
    const lastSuccess = await lastSuccessOf(stream);

    return async ({ kind, isRetry, isStill, result }) => {
      const stays = presentOf(stream);
      const wrong = [...(await deletedOf(stream))].filter(
        (key) =>
          !deleted.has(key) &&
          present.has(key) &&
          stays.has(key) &&
          // A cached list may still lack it, and not every run finds what moved twice.
          !source.everDeleted.has(`${stream}/${key}`) &&
          (source.movesInRun.get(key) ?? 0) < 2,
      );
      expect(wrong, `${stream} that are at the source and were marked deleted`).toEqual([]);
      const { watermark } = await stateOf({ query }, 'followups');
      expect(watermark ?? 0, 'watermark').toBeLessThanOrEqual(latestSentMs);
      // A run that loses its session before it has begun leaves the run of a killed worker to the next run.
      const own = result.outcome === 'failed' ? `and owner = '${owner}'` : '';
      const open = await query(
        `select run_id from safety_sync.runs where status = 'running' and stream = '${stream}' ${own}`,
      );
      expect(open, `runs of ${stream} left running`).toEqual([]);
      // The response to a commit can be lost with its session, so the state in the warehouse counts.
      const [last] = await runsOf({ query }, stream);
      if (last?.status !== 'succeeded' || isRetry)
        expect(await lastSuccessOf(stream), `last success of ${stream}`).toBe(lastSuccess);
      // Nothing went wrong between the service and the worker.
      const isHarmless = sandbox.requests
        .slice(asked)
        .every(({ outcome, fault }) => outcome === 'ok' && fault === null);
      if (result.outcome === 'failed') {
        const isOfService = !/^(database|lock|interrupted|delete_guard|request_timeout)/.test(
          result.error.code,
        );
        if (isStill && isHarmless && isOfService) throw result.error;
      }
      if (result.outcome !== 'succeeded' || isRetry) return;
      const { read, inserted, updated, unchanged, rejected } = result.counts;
      expect(read, 'read').toBe(inserted + updated + unchanged + rejected);
      // A successful run has read all data, also if it counts no changes.
      const isWhole = result.note === null || stream === 'training-employee-status';
      if (!isStill || !isWhole || kind === 'backfill' || stream === 'users') return;
      await compare({ tables: TABLES_OF[stream] ?? [], exceptDeletedFollowups: kind === 'sync' });
    };
  };
}
