/** Reads what there is to know about each stream of an account, for `status` and the HTTP endpoints. */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { STREAMS } from '../streams/index.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import type { Database } from './connection.ts';
import { dataIssues, streamState } from './control-tables.ts';
import { readRuns, type RunRow } from './runs.ts';
import { target } from './sql-names.ts';
import { tableShape } from './table-shape.ts';

export interface StreamStatus {
  readonly stream: StreamName;
  readonly lastRun: RunRow | null;
  /** ISO times. */
  readonly watermark: string | null;
  readonly calculatedAt: string | null;
  readonly lastSuccessAt: string | null;
  readonly liveRows: number;
  readonly deletedRows: number;
  readonly openIssues: number;
}

const toIso = (instant: string | null | undefined): string | null =>
  instant === null || instant === undefined ? null : new Date(instant).toISOString();

async function readStreamStatus(
  db: Database,
  accountId: string,
  stream: StreamDefinition,
): Promise<StreamStatus> {
  const scope = { accountId, stream: stream.name };
  const [lastRun] = await readRuns(db, { ...scope, limit: 1 });
  const [state] = await db
    .select()
    .from(streamState)
    .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream.name)));
  const [rows] = await db.execute<{ live: number; deleted: number }>(sql`
    select count(*) filter (where _deleted_at is null)::int as live,
      count(*) filter (where _deleted_at is not null)::int as deleted
    from ${target(tableShape(stream.parent))} where account_id = ${accountId}`);
  const openIssues = await db.$count(
    dataIssues,
    and(
      eq(dataIssues.account_id, accountId),
      eq(dataIssues.stream, stream.name),
      isNull(dataIssues.resolved_at),
    ),
  );
  return {
    stream: stream.name,
    lastRun: lastRun ?? null,
    watermark: toIso(state?.watermark),
    calculatedAt: toIso(state?.calculated_at),
    lastSuccessAt: toIso(state?.last_success_at),
    liveRows: rows?.live ?? 0,
    deletedRows: rows?.deleted ?? 0,
    openIssues,
  };
}

export async function readStatus(db: Database, accountId: string): Promise<StreamStatus[]> {
  return await Promise.all(STREAMS.map((stream) => readStreamStatus(db, accountId, stream)));
}
