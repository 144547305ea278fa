/** What only the page of one account shows: runs, counts, data issues and next runs. Pure. */
import type { RunRow } from '../../engine/control-tables/runs.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { countUnread, describeUnread, unreadOf } from '../../engine/streams/unread-partitions.ts';
import { tokenSourceOf } from '../../config/account-config.ts';
import { adviceOf } from '../../shared/errors.ts';
import { SECOND_MS, toMs } from '../../shared/time.ts';
import type { TokenSource } from '../../shared/token-source.ts';
import type { AccountFacts, StatusFacts, StreamStatus } from './facts.ts';
import { databaseOffsetMs } from './read-accounts.ts';
import { differencesOf, expiredOf, uncleanedOf } from './storage-rules.ts';

interface Progress {
  readonly records: number;
  /** null: the service sends no total. */
  readonly total: number | null;
}

export type RunSummary = ReturnType<typeof toRunSummary>;

/** A run as the Status shows it. `judgedMs`: the end of a run that is still running. */
function toRunSummary(row: RunRow, judgedMs: number, tokenSource: TokenSource) {
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
    /** Up to now, for a running run. */
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
    error:
      code === null ? null : { code, message: row.error_message ?? '', advice: adviceOf(code, tokenSource) },
    requestId: row.request_id,
    owner: row.owner,
  };
}

export type AccountDetail = ReturnType<typeof buildDetail>;
/** The state of a stream on the page of one account. */
export type StreamDetail = AccountDetail['streams'][number];

export function buildDetail(
  { account, progress }: AccountFacts,
  streams: readonly StreamStatus[],
  { facts, judgedMs }: { readonly facts: StatusFacts; readonly judgedMs: number },
) {
  const { accountsRead, volumes, rows } = facts.warehouse;
  const { config, offReasons } = account;
  const unread = unreadOf(volumes?.partitions ?? [], config.equipmentTypes);
  const { reportingTimezone: own, schedule } = config;
  const stored = rows?.reportingTimezone;
  const toSummary = (row: RunRow) => toRunSummary(row, judgedMs, tokenSourceOf(config));
  const open = (rows?.openRuns ?? []).map(toSummary);
  const isOpen = ({ status }: RunSummary): boolean => status === 'running';
  const ended = [...open.filter((run) => !isOpen(run)), ...(rows?.lastRuns ?? []).map(toSummary)];
  const offMs = databaseOffsetMs(accountsRead);
  const nextRuns = (facts.nextRuns ?? []).map((one) => ({
    ...one,
    // Whole seconds, because schedules have no milliseconds: these come from the query and the offset of the clock.
    atMs: Math.round((one.atMs + offMs) / SECOND_MS) * SECOND_MS,
  }));

  function progressOf(run: RunSummary): Progress {
    const live = run.owner === facts.owner ? progress.get(run.stream) : undefined;
    const { records, total } = live ??
      rows?.backfills.find(({ stream }) => stream === run.stream) ?? { records: run.read, total: null };
    return { records, total };
  }

  function toDetail(status: StreamStatus) {
    const { stream } = status;
    const volume = volumes?.rows.find((one) => one.stream === stream);
    const running = open.find((run) => run.stream === stream && isOpen(run)) ?? null;
    return {
      ...status,
      lastRun: ended.find((run) => run.stream === stream) ?? null,
      /** Live rows that the last success did not bring up to date, because their equipment type is not configured. */
      unreadRows: streamNamed(stream).partitionedBy === undefined ? 0 : countUnread(unread),
      /** The newest change that is stored: the watermark, or the time of the training list. */
      currentToMs: status.watermarkMs ?? status.calculatedMs,
      /** null: not counted since its first run. */
      rows: volume === undefined || (volume.rows === 0 && running !== null) ? null : volume.rows,
      isEstimate: volume?.isEstimate ?? false,
      nextRunMs: nextRuns.find((one) => one.stream === stream && one.kind === 'sync')?.atMs ?? null,
      running: running === null ? null : { ...running, progress: progressOf(running) },
    };
  }

  const details = streams.map(toDetail);
  return {
    timezone: schedule.timezone,
    differences: differencesOf({
      unread: describeUnread(unread),
      expired: expiredOf(streams, facts.keeping, judgedMs),
      uncleaned: uncleanedOf(rows?.cleanings ?? [], offReasons),
      otherTimezone: own === null || stored === undefined || stored === own ? null : { own, stored },
    }),
    streams: details,
    running: details.flatMap(({ running }) => running ?? []),
    /** Newest first. */
    recentRuns: (rows?.recentRuns ?? []).map(toSummary),
    issues: rows?.issues ?? [],
    /** Soonest first. */
    nextRuns,
  };
}
