import { describeUnlimited } from '../../config/account-config.ts';
import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readLastRuns } from '../../engine/control-tables/runs.ts';
import { capital, formatAge, formatDuration, formatNumber, formatTime } from '../../shared/format.ts';
import { toIso, toMs } from '../../shared/time.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import { countUnread } from '../../engine/streams/unread-partitions.ts';
import { streamKey } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { describeProtection } from '../../operate/status/differences.ts';
import { toProblems } from '../../operate/status/json-status.ts';
import { readProblems } from '../../operate/worker/what-is-wrong.ts';
import { readCleaningProgress } from '../../engine/privacy/settings.ts';
import type { App } from '../../app.ts';
import { readAccountFindings } from './accounts.ts';
import { accountFields, afterBlank, EXIT, statusText } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { type Colors, type Terminal, withIsoTimes } from '../terminal.ts';
import { type CommonOptions, JSON_OPTION, type Verb, withApp } from '../verb.ts';

type State = Awaited<ReturnType<typeof readState>>;
/** A stream of an account. */
type ShownStream = State['accounts'][number]['streams'][number];

/** A few statements for all accounts. */
async function readState(app: App, isOneOfMany: boolean) {
  const { config, accounts, accountIds, db } = app;
  const [found, runs, counts, cleanings] = await Promise.all([
    readProblems(app),
    readLastRuns(db, accountIds).then((last) => markDeadRuns(db, last)),
    countRows(db, accountIds),
    readCleaningProgress(db, accountIds, config.privacy),
  ]);
  const runOf = new Map(runs.map((one) => [streamKey(one), one]));
  const countOf = new Map([...counts].map((one) => [streamKey(one), one]));
  return {
    ...found,
    accounts: found.accounts.map(({ id, streams, unread }) => ({
      id,
      unread,
      blockedUntilMs: found.read.blocked.get(id) ?? null,
      notOffered: found.read.notOffered.get(id) ?? [],
      notCleaned: (cleanings.get(id) ?? []).filter(({ progress }) => progress !== 'done'),
      streams: streams.map((facts) => {
        const key = streamKey({ account_id: id, stream: facts.stream });
        const isPartitioned = STREAMS.some((one) => one.name === facts.stream && one.partitionedBy);
        return {
          ...accountFields(accounts.length > 1, id),
          facts,
          /** The newest, also an active one. */
          lastRun: runOf.get(key) ?? null,
          liveRows: countOf.get(key)?.live ?? 0,
          deletedRows: countOf.get(key)?.deleted ?? 0,
          /** Live rows that the last success did not bring up to date. */
          unreadRows: isPartitioned ? countUnread(unread) : 0,
        };
      }),
    })),
    privacy: config.privacy,
    /** Nothing is configured and nothing stored: somebody looks around, perhaps after the demo. */
    isUnused:
      app.isEmbedded && accounts.every(({ config: own }) => own.service === undefined) && runs.length === 0,
    unlimited: describeUnlimited(config.accounts, config.api.requestsPerMinute),
    findings: isOneOfMany ? [] : await readAccountFindings(app),
  };
}

function toJsonStream({ facts, lastRun, ...rows }: ShownStream) {
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
    live_rows: rows.liveRows,
    deleted_rows: rows.deletedRows,
    open_data_issues: facts.openIssues,
    last_run: lastRun === null ? null : withIsoTimes(lastRun),
  };
}

function statusJson({ accounts, problems, isWell, workerSeenMs, privacy }: State) {
  const bodies = accounts.map(({ id, streams, blockedUntilMs, notCleaned, unread, notOffered }) => ({
    account_id: id,
    blocked_until: toIso(blockedUntilMs),
    streams: streams.map(toJsonStream),
    not_offered: notOffered,
    not_cleaned: notCleaned.map(({ stream }) => stream),
    unread_equipment_types: unread.map(({ partition, live, readAtMs }) => ({
      equipment_type_id: partition,
      live_rows: live,
      last_read_at: toIso(readAtMs),
    })),
  }));
  return {
    ...(bodies.length > 1 ? { accounts: bodies } : bodies[0]),
    is_well: isWell,
    problems: toProblems(problems).map(({ accountId, isReason, sinceMs, ...one }) => ({
      ...one,
      account_id: accountId,
      is_reason: isReason,
      since: toIso(sinceMs),
    })),
    worker_last_seen_at: toIso(workerSeenMs),
    privacy: { omitted: privacy.omit, pseudonyms: privacy.pseudonymize },
  };
}

function freshnessText({ facts, unreadRows }: ShownStream, colors: Colors): string {
  const { freshness, offReason } = facts;
  if (offReason === 'no equipment types') return colors.dim(`off: ${offReason}`);
  if (offReason === 'not offered') return colors.dim(offReason);
  if (offReason !== null && freshness !== 'fresh') return colors.dim(offReason);
  if (freshness === 'stale') return colors.red('stale');
  if (freshness === 'never') return colors.dim('never synced');
  return unreadRows === 0
    ? colors.green('fresh')
    : colors.yellow(`fresh, ${formatNumber(unreadRows, 'row')} not read`);
}

function lastRunText({ lastRun }: ShownStream, nowMs: number, colors: Colors): string {
  if (lastRun === null) return colors.dim('–');
  const { status, kind, started_at: startedAt, finished_at: finishedAt } = lastRun;
  const outcome = `${statusText(status, colors)} ${kind === 'sync' ? '' : `${kind} `}`;
  if (status === 'running') return `${outcome}for ${formatDuration(Math.max(0, nowMs - toMs(startedAt)))}`;
  // The end of the run, because it is compared with the last success, which is an end, too.
  return `${outcome}${formatAge(finishedAt ?? startedAt, nowMs)}`;
}

/** With more accounts than this, healthy ones are only counted. */
const MOST_LISTED = 20;

function streamTable(streams: readonly ShownStream[], nowMs: number, terminal: Terminal): string {
  const { colors } = terminal;
  return renderRows(
    streams,
    [
      accountColumn(streams.some((one) => one.account_id !== undefined)),
      { title: 'stream', cellOf: ({ facts }) => facts.stream },
      { title: 'data', cellOf: (one) => freshnessText(one, colors) },
      { title: 'last success', spare: 3, cellOf: ({ facts }) => formatAge(facts.lastSuccessMs, nowMs) },
      { title: 'last run', isCut: true, cellOf: (one) => lastRunText(one, nowMs, colors) },
      {
        title: 'current to',
        spare: 1,
        cellOf: ({ facts }) => formatTime(facts.watermarkMs ?? facts.calculatedMs),
      },
      countColumn('live', ({ liveRows }) => liveRows),
      countColumn('deleted', ({ deletedRows }) => deletedRows, 2),
      countColumn('open issues', ({ facts }) => facts.openIssues),
    ],
    terminal,
  );
}

const NOTHING_YET =
  'No service is configured (SAFETY_BASE_URL, SAFETY_TOKEN), and nothing was read yet. The demo has a database of its own: safety-sync demo --serve';

function describeState(state: State, terminal: Terminal): string[] {
  const { accounts, problems, privacy, unlimited, findings, isUnused, nowMs } = state;
  const { red, yellow, dim } = terminal.colors;
  const isMany = accounts.length > 1;
  const isWell = ({ id }: State['accounts'][number]): boolean =>
    !problems.some(({ accountId, isFailure }) => isFailure && accountId === id);
  const listed = accounts.length <= MOST_LISTED ? accounts : accounts.filter((one) => !isWell(one));
  const streams = listed.flatMap((one) => one.streams);
  const lines = streams.length > 0 ? [streamTable(streams, nowMs, terminal)] : [];
  const left = accounts.length - listed.length;
  if (left > 0) {
    const others = listed.length === 0 ? 'All' : '\nThe other';
    lines.push(
      `${others} ${formatNumber(left, 'account')} ${left === 1 ? 'is' : 'are'} fresh; --account NAME shows one, --json all.`,
    );
  }
  const named = describeProblems(problems).map(({ problem: { accountId, isFailure, level }, text }) => {
    const whole = isMany && accountId !== null ? `${accountId}: ${text}` : text;
    return isFailure ? red(whole) : level === 'note' ? dim(whole) : yellow(whole);
  });
  const protection = describeProtection(privacy);
  lines.push(...afterBlank(isUnused ? [yellow(NOTHING_YET)] : named));
  if (protection !== null) lines.push(...afterBlank([dim(protection)]));
  if (unlimited !== null) lines.push(yellow(`${unlimited}.`));
  for (const { finding, advice } of findings) lines.push(yellow(`${capital(finding)}. ${advice}`));
  for (const { id, notOffered } of accounts) {
    const whose = isMany ? `${id}: ` : '';
    if (notOffered.length > 0)
      lines.push(dim(`${whose}Not offered by the service: ${notOffered.join(', ')}`));
  }
  return lines;
}

const runStatus = withApp<CommonOptions>(async ({ app, terminal }, options) => {
  const state = await readState(app, options.account !== undefined);
  return {
    json: statusJson(state),
    lines: () => describeState(state, terminal),
    code: state.isWell ? EXIT.ok : EXIT.failed,
  };
});

export const status: Verb<CommonOptions> = {
  name: 'status',
  about:
    'for each stream show freshness, last run, watermark, live and deleted rows, open data issues; also every problem, and sessions that hold runs up',
  hasAccounts: true,
  options: [JSON_OPTION],
  run: runStatus,
};
