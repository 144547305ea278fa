import { readRuns, type RunRow } from '../../engine/control-tables/runs.ts';
import { formatAge, formatDuration, formatTime } from '../../shared/format.ts';
import { toIso, toMs } from '../../shared/time.ts';
import type { StreamStatus } from '../../operate/status/facts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { toProblems, withIsoTimes } from '../../operate/status/json-status.ts';
import { readProblems } from '../../operate/worker/read-problems.ts';
import { afterBlank, EXIT, statusText } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import type { Colors } from '../terminal.ts';
import type { Verb } from '../verb.ts';

type ShownStream = ReturnType<typeof toShownStream>;

function toShownStream(
  facts: StreamStatus,
  lastRun: RunRow | undefined,
  rows: { readonly live: number; readonly deleted: number } = { live: 0, deleted: 0 },
) {
  return {
    stream: facts.stream,
    freshness: facts.freshness,
    is_scheduled: facts.isScheduled,
    off_reason: facts.offReason,
    last_success_at: toIso(facts.lastSuccessMs),
    ...(facts.failingWith === null ? {} : { failing_with: facts.failingWith }),
    ...(facts.failedReconcile === null ? {} : { failed_reconcile: facts.failedReconcile }),
    current_until: toIso(facts.currentUntilMs),
    watermark: toIso(facts.watermarkMs),
    calculated_at: toIso(facts.calculatedMs),
    live_rows: rows.live,
    deleted_rows: rows.deleted,
    open_data_issues: facts.openIssues,
    /** The newest, also an active one. */
    last_run: lastRun === undefined ? null : withIsoTimes(lastRun),
  };
}

function freshnessText({ freshness, off_reason: offReason }: ShownStream, colors: Colors) {
  if (offReason !== null && (offReason !== 'not scheduled' || freshness !== 'fresh'))
    return colors.dim(offReason);
  return { fresh: colors.green('fresh'), stale: colors.red('stale'), never: 'never synced' }[freshness];
}

function lastRunText({ last_run: run }: ShownStream, nowMs: number, colors: Colors): string | null {
  if (run === null) return null;
  const outcome = `${statusText(run.status, colors)} ${run.kind === 'sync' ? '' : `${run.kind} `}`;
  if (run.status === 'running')
    return `${outcome}for ${formatDuration(Math.max(0, nowMs - toMs(run.started_at)))}`;
  // The end of the run, because it is compared with the last success, which is an end, too.
  return `${outcome}${formatAge(run.finished_at ?? run.started_at, nowMs)}`;
}

export const status: Verb = {
  about: 'show each stream: freshness, last run, watermark, rows, open data issues; and every problem',
  common: ['accounts', 'json'],
  async run({ app, terminal }) {
    const { accountIds, db } = app;
    const { unlimited } = app.config.warnings;
    const { colors } = terminal;
    const { accounts: found, problems, isWell, workerSeenMs, nowMs } = await readProblems(app);
    const runs = await readRuns(db, accountIds);
    const counts = await countRows(db, accountIds);
    const accounts = found.map(({ id, streams, unread, blockedUntilMs, notOffered }) => ({
      account_id: id,
      blocked_until: toIso(blockedUntilMs),
      streams: streams.map((facts) => {
        const isIts = (one: { readonly account_id: string; readonly stream: string }) =>
          one.account_id === id && one.stream === facts.stream;
        return toShownStream(facts, runs.find(isIts), counts.find(isIts));
      }),
      not_offered: notOffered,
      unread_equipment_types: unread.map(({ partition, live, readAtMs }) => ({
        equipment_type_id: partition,
        live_rows: live,
        last_read_at: toIso(readAtMs),
      })),
    }));
    const rows = accounts.flatMap((one) =>
      one.streams.map((stream) => ({ account_id: one.account_id, ...stream })),
    );
    const table = renderRows(terminal, rows, {
      ...accountColumn(rows),
      stream: ({ stream }) => stream,
      data: (one) => freshnessText(one, colors),
      'last run': (one) => lastRunText(one, nowMs, colors),
      live: (one) => one.live_rows,
      issues: (one) => one.open_data_issues,
      deleted: (one) => one.deleted_rows,
      'current to': (one) => formatTime(one.watermark ?? one.calculated_at),
      'last success': (one) => formatAge(one.last_success_at, nowMs),
    });
    const isMany = accounts.length > 1;
    const ofAccount = (id: string | null): string => (isMany && id !== null ? `${id}: ` : '');
    const named = describeProblems(problems).map(({ problem: { accountId, isFailure, level }, text }) => {
      const color = isFailure ? colors.red : level === 'note' ? colors.dim : colors.yellow;
      return color(ofAccount(accountId) + text);
    });
    const lacking = found.filter(({ notOffered }) => notOffered.length > 0);
    const remarks = [
      ...(unlimited === null ? [] : [`${unlimited}.`]),
      ...lacking.map((one) => `${ofAccount(one.id)}Not offered by the service: ${one.notOffered.join(', ')}`),
    ];
    return {
      json: {
        ...(isMany ? { accounts } : accounts[0]),
        is_well: isWell,
        problems: toProblems(problems).map(({ accountId, isReason, sinceMs, ...one }) => ({
          ...one,
          account_id: accountId,
          is_reason: isReason,
          since: toIso(sinceMs),
        })),
        worker_last_seen_at: toIso(workerSeenMs),
      },
      lines: [table, ...afterBlank(named), ...afterBlank(remarks.map(colors.dim))],
      code: isWell ? EXIT.ok : EXIT.failed,
    };
  },
};
