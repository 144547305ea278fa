/** Builds the details that only the page of one account shows: runs, counts, data issues and next runs. Pure. */
import type { OffReasons } from '../../config/account-config.ts';
import { adviceOf } from '../../shared/errors.ts';
import type { TokenPlace } from '../../shared/token-place.ts';
import { SECOND_MS, toMs } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { describeUnread, unreadOf } from '../../engine/streams/unread-parts.ts';
import type { RunRow } from '../../engine/control/runs.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import type { AccountRows } from './read-account-rows.ts';
import type { UncleanedStream } from './keeping.ts';
import type { Volumes } from './read-volumes.ts';
import type {
  AccountDetail,
  PlannedRun,
  OtherTimezone,
  ProgressStatus,
  RunningStatus,
  RunSummary,
  StreamDetail,
  StreamStatus,
} from './status.ts';

export interface DetailFacts {
  readonly timezone: string;
  readonly place: TokenPlace;
  readonly volumes: Volumes | null;
  /** When the volumes were counted, by this process's clock; null: never. */
  readonly countedAtMs: number | null;
  readonly nextRuns: readonly PlannedRun[];
  readonly equipmentTypes: readonly string[];
  /** Streams that do not match the privacy settings yet. */
  readonly uncleaned: readonly Omit<UncleanedStream, 'isScheduled'>[];
  readonly otherTimezone: OtherTimezone | null;
  /** Progress of this process's runs. */
  readonly progress: ReadonlyMap<StreamName, BackfillProgress>;
}

interface DetailContext {
  readonly facts: DetailFacts;
  readonly offReasons: OffReasons;
  readonly owner: string;
  /** null: the warehouse was not read yet. */
  readonly rows: AccountRows | null;
  /** See `DatabaseClock`. */
  readonly offMs: number;
  readonly judgedMs: number;
}

/**
 * Rounds to whole seconds, because schedules have no milliseconds: these come from the duration of the query and the offset
 * of the database's clock.
 */
function toSecond(ms: number): number {
  return Math.round(ms / SECOND_MS) * SECOND_MS;
}

/** Most runs in the list of recent runs. */
const LISTED_RUNS = 25;

function toRunSummary(row: RunRow, { judgedMs, facts: { place } }: DetailContext): RunSummary {
  const startedMs = toMs(row.started_at);
  const endMs = toMs(row.finished_at) ?? (row.status === 'running' ? judgedMs : startedMs);
  const { error_code: code } = row;
  return {
    runId: row.run_id,
    stream: row.stream,
    kind: row.kind,
    trigger: row.trigger,
    status: row.status,
    startedMs,
    durationMs: Math.max(0, endMs - startedMs),
    requests: row.requests,
    retries: row.retries,
    read: row.records_read,
    inserted: row.inserted,
    updated: row.updated,
    deleted: row.deleted,
    rejected: row.rejected,
    repaired: row.repaired,
    note: row.note,
    error: code === null ? null : { code, message: row.error_message ?? '', advice: adviceOf(code, place) },
    requestId: row.request_id,
    owner: row.owner,
  };
}

function progressOf(run: RunSummary, { facts, rows, owner }: DetailContext): ProgressStatus {
  const live = run.owner === owner ? facts.progress.get(run.stream) : undefined;
  if (live !== undefined) return { records: live.records, total: live.total };
  const slices = rows?.slices.find(({ stream }) => stream === run.stream);
  // The ledger of a finished backfill does not apply to a sync.
  const isUnderWay = slices !== undefined && slices.slicesDone < slices.slices;
  return isUnderWay
    ? { records: slices.records, total: slices.expected }
    : { records: run.read, total: null };
}

function toStreamDetail(
  status: StreamStatus,
  context: DetailContext & { readonly reports: readonly RunSummary[] },
): StreamDetail {
  const { facts, offMs } = context;
  const { stream, watermarkMs, calculatedMs } = status;
  const runs = context.reports.filter((one) => one.stream === stream);
  const running = runs.find((run) => run.status === 'running');
  const volume = facts.volumes?.rows.find((one) => one.stream === stream);
  const next = facts.nextRuns.find((one) => one.stream === stream && one.kind === 'sync');
  return {
    ...status,
    offReason: context.offReasons[stream] ?? null,
    currentToMs: watermarkMs ?? calculatedMs,
    rows: volume?.rows ?? null,
    rowsCountedMs: facts.countedAtMs === null ? null : facts.countedAtMs + offMs,
    isEstimate: volume?.isEstimate ?? false,
    nextRunMs: next === undefined ? null : toSecond(next.atMs + offMs),
    running: running === undefined ? null : { ...running, progress: progressOf(running, context) },
    lastRun: runs.find((run) => run.status !== 'running') ?? null,
    recentRuns: runs.toReversed(),
    repaired: runs.reduce((sum, { repaired }) => sum + (repaired ?? 0), 0),
  };
}

export function buildDetail(streams: readonly StreamStatus[], context: DetailContext): AccountDetail {
  const { facts, rows, offMs } = context;
  const reports = (rows?.runs ?? []).map((row) => toRunSummary(row, context));
  const details = streams.map((status) => toStreamDetail(status, { ...context, reports }));
  return {
    timezone: facts.timezone,
    unread: describeUnread(unreadOf(facts.volumes?.parts ?? [], facts.equipmentTypes)),
    uncleaned: facts.uncleaned.map((one) => ({
      ...one,
      isScheduled: context.offReasons[one.stream] === undefined,
    })),
    otherTimezone: facts.otherTimezone,
    streams: details,
    running: details.flatMap(({ running }): RunningStatus[] => (running === null ? [] : [running])),
    recentRuns: reports.slice(0, LISTED_RUNS),
    days: facts.volumes?.days ?? [],
    issues: (rows?.issues ?? []).map(({ firstSeenAt, ...issue }) => ({
      ...issue,
      firstSeenMs: toMs(firstSeenAt),
    })),
    nextRuns: facts.nextRuns.map((one) => ({ ...one, atMs: toSecond(one.atMs + offMs) })),
  };
}
