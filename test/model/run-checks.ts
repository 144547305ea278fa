/** Checks after every run, for any behaviour of the service. */
import { expect } from 'vitest';
import type { RequestLogEntry, Sandbox } from '../../src/sandbox/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { type CompareOptions, TABLES_OF } from '../support/source-oracle.ts';
import { specimenOf } from '../support/specimens.ts';
import { stateOf } from '../support/warehouse-marks.ts';
import { presentAt, type RowMark, wronglyDeleted } from './presence.ts';
import type { Source } from './source-change.ts';

/** State before a run. */
interface Before {
  readonly rows: ReadonlyMap<string, RowMark>;
  readonly present: ReadonlySet<string>;
  readonly requests: number;
  readonly lastSuccessAt: string | null;
}

interface Ended {
  readonly stream: StreamName;
  readonly kind: RunRequest['kind'];
  readonly isRetry: boolean;
  /** The source did not change during the run. */
  readonly isStill: boolean;
  readonly before: Before;
  readonly result: RunResult;
}

export interface RunChecks {
  before(stream: StreamName): Promise<Before>;
  hold(ended: Ended): Promise<void>;
  /** The service has calculated the cached list again, and may have sent an older time for it, or an equal one. */
  recordOddReport(): void;
}

export function createRunChecks(options: {
  readonly sandbox: Sandbox;
  readonly source: Source;
  readonly query: <Row>(text: string) => Promise<Row[]>;
  readonly owner: string;
  readonly compare: (options: CompareOptions) => Promise<void>;
}): RunChecks {
  const { sandbox, source, query, owner, compare } = options;
  let isReportOdd = false;
  /** The latest time of its own that the service has sent. */
  let latestSentMs = 0;

  async function marksOf(stream: StreamName): Promise<Map<string, RowMark>> {
    const { table, keyColumn } = specimenOf(stream);
    const deleted = stream === 'users' ? 'false' : '_deleted_at is not null';
    const rows = await query<{ key: string; version: string; is_deleted: boolean }>(
      `select ${keyColumn} as key, xmin::text as version, ${deleted} as is_deleted from safety.${table}`,
    );
    return new Map(rows.map((row) => [row.key, { version: row.version, isDeleted: row.is_deleted }]));
  }

  async function lastSuccessOf(stream: StreamName): Promise<string | null> {
    const [row] = await query<{ at: string | null }>(
      `select last_success_at::text as at from safety_sync.stream_state where stream = '${stream}'`,
    );
    return row?.at ?? null;
  }

  async function lastStatusOf(stream: StreamName): Promise<string | undefined> {
    const [row] = await query<{ status: string }>(
      `select status from safety_sync.runs where stream = '${stream}' order by run_id desc limit 1`,
    );
    return row?.status;
  }

  /** Records that the source lacked for a while, or had where not every run finds them. */
  function excusedOf(stream: StreamName): Set<string> {
    const isCached = stream === 'training-employee-status';
    const gone = [...(isCached ? source.everDeleted : source.deletedInRun)]
      .filter((name) => name.startsWith(`${stream}/`))
      .map((name) => name.slice(stream.length + 1));
    const restless = [...source.movesInRun].flatMap(([key, moves]) => (moves > 1 ? [key] : []));
    return new Set([...gone, ...restless]);
  }

  /** Nothing went wrong between the service and the worker. */
  function isHarmless(requests: readonly RequestLogEntry[], code: string): boolean {
    return (
      !/^(database|lock|interrupted|delete_guard|request_timeout)/.test(code) &&
      requests.every(({ outcome, fault }) => outcome === 'ok' && fault === null)
    );
  }

  async function holdRows({ stream, kind, before, result }: Ended): Promise<void> {
    const { counts } = result;
    const after = await marksOf(stream);
    const wrong = wronglyDeleted({
      before: before.rows,
      after,
      presentBefore: before.present,
      presentAfter: presentAt(sandbox, stream),
      excused: excusedOf(stream),
    });
    expect(wrong, `${stream} that are at the source and were marked deleted`).toEqual([]);
    const written = [...after].filter(([key, { version }]) => before.rows.get(key)?.version !== version);
    const counted = counts.inserted + counts.updated + counts.deleted;
    expect(written.length, `rows of ${stream} written`).toBeLessThanOrEqual(counted);
    if (result.outcome === 'succeeded' && kind === 'sync' && stream !== 'followups') {
      expect(written.length, `rows of ${stream} written`).toBe(counted);
    }
  }

  async function holdState({ stream, isRetry, before, result }: Ended): Promise<void> {
    const { watermark } = await stateOf({ query }, 'followups');
    if (watermark !== null) {
      expect(watermark, 'watermark').toBeLessThanOrEqual(latestSentMs);
    }
    // A run that loses its session before it has begun leaves the run of a killed worker to the next run.
    const own = result.outcome === 'failed' ? `and owner = '${owner}'` : '';
    const [open] = await query<{ count: number }>(
      `select count(*)::int as count from safety_sync.runs where status = 'running' and stream = '${stream}' ${own}`,
    );
    expect(open?.count, `runs of ${stream} left running`).toBe(0);
    // The response to a commit can be lost with its session, so the state in the warehouse counts.
    if ((await lastStatusOf(stream)) !== 'succeeded' || isRetry) {
      const message = `last success of ${stream}, which had none`;
      expect(await lastSuccessOf(stream), message).toBe(before.lastSuccessAt);
    }
  }

  return {
    recordOddReport() {
      isReportOdd = true;
    },
    async before(stream) {
      latestSentMs = Math.max(latestSentMs, source.now());
      return {
        rows: await marksOf(stream),
        present: presentAt(sandbox, stream),
        requests: sandbox.requests.length,
        lastSuccessAt: await lastSuccessOf(stream),
      };
    },
    async hold(ended) {
      const { stream, kind, isRetry, isStill, before, result } = ended;
      const { counts } = result;
      await holdRows(ended);
      await holdState(ended);
      const requests = sandbox.requests.slice(before.requests);
      if (result.outcome === 'failed' && isStill && isHarmless(requests, result.error.code)) {
        throw result.error;
      }
      if (result.outcome !== 'succeeded' || isRetry) return;
      expect(counts.read, 'read').toBe(counts.inserted + counts.updated + counts.unchanged + counts.rejected);
      const isTraining = stream === 'training-employee-status';
      if (isTraining && result.note === null) isReportOdd = false;
      // A successful run has read all data, also if it counts no changes.
      const isTaken = result.note === null || (isTraining && !isReportOdd);
      const isPart = kind === 'backfill' && stream === 'followups';
      if (!isStill || !isTaken || isPart || stream === 'users') return;
      await compare({ tables: TABLES_OF[stream] ?? [], exceptDeletedFollowups: kind === 'sync' });
    },
  };
}
