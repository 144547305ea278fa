import { findWhatIsWrong } from '../../operate/worker/what-is-wrong.ts';
import { describeUnlimited, offReasonOf, tokenSourceOf } from '../../config/account-config.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readLastRuns } from '../../engine/control-tables/runs.ts';
import { adviceOf, type ErrorCode } from '../../shared/errors.ts';
import { capital, formatAge, formatDuration, formatNumber, formatTime } from '../../shared/format.ts';
import { toIso, toMs } from '../../shared/time.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import { countUnread, describeUnread, UNREAD_ADVICE } from '../../engine/streams/unread-partitions.ts';
import { describeProtection, describeRetention } from '../../pages/words.ts';
import { freshnessOf } from '../../operate/status/build-status.ts';
import { byKey, streamKey, readAccounts, readNotOffered } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { streamProblems } from '../../operate/status/status.ts';
import { describeUncleaned, storageRulesOf, uncleanedOf } from '../../operate/status/storage-rules.ts';
import { sentence } from '../../operate/status/verdict.ts';
import { readCleaningProgress } from '../../engine/privacy/settings.ts';
import type { App } from '../../app.ts';
import { readAccountFindings } from './accounts.ts';
import { readUnreadPartitions } from './equipment-types.ts';
import {
  accountFields,
  afterBlank,
  EXIT,
  type Failure,
  renderFailures,
  statusText,
  streamLabel,
} from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { type Colors, type Terminal, withIsoTimes } from '../terminal.ts';
import { type CommonOptions, JSON_OPTION, type Verb, withApp } from '../verb.ts';

type State = Awaited<ReturnType<typeof readState>>;
type ShownAccount = State['accounts'][number];
/** A stream of an account. */
type ShownStream = ShownAccount['streams'][number];

/** A few statements for all accounts. */
async function readState(app: App, isOneOfMany: boolean) {
  const { config, accounts, accountIds, connection, db, clock } = app;
  const [read, runs, counts] = await Promise.all([
    readAccounts(connection, accountIds, { clock }),
    readLastRuns(db, accountIds).then((last) => markDeadRuns(db, last)),
    countRows(db, accountIds),
  ]);
  const runOf = byKey(runs);
  const countOf = byKey(counts);
  const wrong = await findWhatIsWrong(db, { accounts, accountsRead: read, config });
  const cleanings = await readCleaningProgress(db, accountIds, config.privacy);
  const unreadOfAccounts = await readUnreadPartitions(app);
  const lacking = await readNotOffered(db, toArrayLiteral(accountIds));
  const states = accounts.map(({ id, config: own, offReasons }) => {
    const unread = unreadOfAccounts.get(id) ?? [];
    const streams = (read.accounts.get(id) ?? []).map((facts) => {
      const key = streamKey({ account_id: id, stream: facts.stream });
      const isPartitioned = STREAMS.some(({ name, partitionedBy }) => name === facts.stream && partitionedBy);
      return {
        ...accountFields(accounts.length > 1, id),
        facts,
        freshness: freshnessOf(facts, read.databaseNowMs, config.freshnessBudgetMinutes),
        /** The reason why it is not synced automatically; null: it is. */
        offReason: offReasonOf(offReasons, facts),
        /** The newest, also an active one. */
        lastRun: runOf.get(key) ?? null,
        liveRows: countOf.get(key)?.live ?? 0,
        deletedRows: countOf.get(key)?.deleted ?? 0,
        /** Live rows that the last success did not bring up to date. */
        unreadRows: isPartitioned ? countUnread(unread) : 0,
        tokenSource: tokenSourceOf(own),
      };
    });
    const blockedUntilMs = read.blocked.get(id) ?? null;
    return {
      id,
      streams,
      blockedUntilMs,
      uncleaned: uncleanedOf(cleanings.get(id) ?? [], offReasons),
      unread,
      notOffered: lacking.filter((one) => one.account_id === id).map(({ method }) => method),
    };
  });
  return {
    accounts: states,
    wrong,
    rules: storageRulesOf(config),
    /** Nothing is configured and nothing stored: somebody looks around, perhaps after the demo. */
    isUnused:
      app.isEmbedded && accounts.every(({ config: own }) => own.service === undefined) && runs.length === 0,
    unlimited: describeUnlimited(config.accounts, config.api.requestsPerMinute),
    findings: isOneOfMany ? [] : await readAccountFindings(app),
    nowMs: read.databaseNowMs,
  };
}

function toJsonStream({ facts, freshness, offReason, lastRun, ...rows }: ShownStream) {
  return {
    stream: facts.stream,
    freshness,
    is_scheduled: offReason === null,
    off_reason: offReason,
    last_success_at: toIso(facts.lastSuccessMs),
    ...(facts.heldUpBy === undefined ? {} : { held_up_by: facts.heldUpBy }),
    ...(facts.failingWith === undefined ? {} : { failing_with: facts.failingWith }),
    ...(facts.failedReconcile === undefined ? {} : { failed_reconcile: facts.failedReconcile }),
    current_until: toIso(facts.currentUntilMs),
    watermark: toIso(facts.watermarkMs),
    calculated_at: toIso(facts.calculatedMs),
    live_rows: rows.liveRows,
    deleted_rows: rows.deletedRows,
    open_data_issues: facts.openIssues,
    last_run: lastRun === null ? null : withIsoTimes(lastRun),
  };
}

function statusJson({ accounts, wrong, rules }: State) {
  const bodies = accounts.map(({ id, streams, blockedUntilMs, uncleaned, unread, notOffered }) => ({
    account_id: id,
    blocked_until: toIso(blockedUntilMs),
    streams: streams.map(toJsonStream),
    not_offered: notOffered,
    not_cleaned: uncleaned.map(({ stream }) => stream),
    unread_equipment_types: unread.map(({ partition, live, readAtMs }) => ({
      equipment_type_id: partition,
      live_rows: live,
      last_read_at: toIso(readAtMs),
    })),
  }));
  const { omitted, pseudonyms, deletedDays, runsDays, issuesDays } = rules;
  return {
    ...(bodies.length > 1 ? { accounts: bodies } : bodies[0]),
    is_well: wrong.isWell,
    worker_last_seen_at: toIso(wrong.workerSeenMs),
    retention: { deleted_days: deletedDays, runs_days: runsDays, issues_days: issuesDays },
    privacy: { omitted, pseudonyms },
  };
}

function freshnessText({ facts, freshness, offReason, unreadRows }: ShownStream, colors: Colors): string {
  if (offReason === 'no equipment types') return colors.dim(`off: ${offReason}`);
  if (offReason === 'not offered') return colors.dim(offReason);
  if (facts.heldUpBy !== undefined) return colors.red(`${freshness}, held up`);
  if (offReason !== null && freshness !== 'fresh') return colors.dim(offReason);
  switch (freshness) {
    case 'fresh':
      return unreadRows === 0
        ? colors.green('fresh')
        : colors.yellow(`fresh, ${formatNumber(unreadRows, 'row')} not read`);
    case 'stale':
      return colors.red('stale');
    case 'never':
      return colors.dim('never synced');
  }
}

function lastRunText({ lastRun }: ShownStream, nowMs: number, colors: Colors): string {
  if (lastRun === null) return colors.dim('–');
  const { status, kind, started_at: startedAt, finished_at: finishedAt } = lastRun;
  const outcome = `${statusText(status, colors)} ${kind === 'sync' ? '' : `${kind} `}`;
  if (status === 'running') return `${outcome}for ${formatDuration(Math.max(0, nowMs - toMs(startedAt)))}`;
  // The end of the run, because it is compared with the last success, which is an end, too.
  return `${outcome}${formatAge(finishedAt ?? startedAt, nowMs)}`;
}

/** The last run, and the failure that it hides: a run that is active or was stopped corrects none. */
function streamFailures({ account_id: accountId, facts, lastRun, tokenSource }: ShownStream): Failure[] {
  const failureOf = (code: string, message: string, requestId?: string | null): Failure => ({
    stream: streamLabel(accountId, facts.stream),
    code: code as ErrorCode,
    message,
    advice: adviceOf(code, tokenSource),
    requestId,
  });
  const code = lastRun?.status === 'failed' ? (lastRun.error_code ?? 'internal_error') : undefined;
  const { failingWith } = facts;
  return [
    ...(code === undefined
      ? []
      : [failureOf(code, lastRun?.error_message ?? 'no message', lastRun?.request_id)]),
    ...(failingWith === undefined || failingWith === code
      ? []
      : [failureOf(failingWith, 'the last run that ended by itself failed; see: safety-sync runs')]),
  ];
}

/** With more accounts than this, healthy ones are only counted. */
const MOST_LISTED = 20;

const needsAttention = ({ facts, lastRun, freshness, offReason }: ShownStream): boolean =>
  facts.heldUpBy !== undefined ||
  facts.failedReconcile !== undefined ||
  facts.failingWith !== undefined ||
  (offReason === null && freshness !== 'fresh') ||
  lastRun?.status === 'failed';

/** With many accounts: streams that need attention, and the number of accounts without any. */
function chooseListed(accounts: readonly ShownAccount[]): { listed: readonly ShownStream[]; left: number } {
  const all = accounts.flatMap(({ streams }) => streams);
  if (accounts.length <= MOST_LISTED) return { listed: all, left: 0 };
  const isWell = ({ streams }: ShownAccount): boolean => !streams.some(needsAttention);
  return { listed: all.filter(needsAttention), left: accounts.filter(isWell).length };
}

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

function describeState(
  { accounts, wrong, rules, unlimited, findings, isUnused, nowMs }: State,
  terminal: Terminal,
): string[] {
  const { red, yellow, dim } = terminal.colors;
  const { listed, left } = chooseListed(accounts);
  const lines = listed.length > 0 ? [streamTable(listed, nowMs, terminal)] : [];
  if (left > 0) {
    const others = listed.length === 0 ? 'All' : '\nThe other';
    lines.push(
      `${others} ${formatNumber(left, 'account')} ${left === 1 ? 'is' : 'are'} fresh; --account NAME shows one, --json all.`,
    );
  }
  lines.push(...afterBlank(renderFailures(listed.flatMap(streamFailures), terminal.colors)));
  if (wrong.workerMissing !== null) lines.push(red(`\n${wrong.workerMissing}`));
  for (const { account_id: id, facts } of listed) {
    for (const reason of streamProblems([facts]))
      lines.push(`\n${red(id === undefined ? sentence(reason) : `${id}: ${reason}.`)}`);
  }
  lines.push(dim(`\n${describeRetention(rules)}`));
  const protection = describeProtection(rules);
  if (protection !== null) lines.push(dim(protection));
  const warn = (id: string, warning: string | null): void => {
    if (warning !== null) lines.push(yellow(`${accounts.length > 1 ? `${id}: ` : ''}${warning}`));
  };
  for (const { id, uncleaned, blockedUntilMs } of accounts) {
    const until = formatTime(blockedUntilMs);
    warn(id, blockedUntilMs === null ? null : `Waiting for the request limit until ${until}.`);
    warn(id, describeUncleaned(uncleaned));
  }
  if (isUnused) lines.push(yellow(NOTHING_YET));
  if (unlimited !== null) lines.push(yellow(`${unlimited}.`));
  for (const { finding, advice } of findings) lines.push(yellow(`${capital(finding)}. ${advice}`));
  for (const { id, notOffered } of accounts) {
    const whose = accounts.length > 1 ? `${id}: ` : '';
    if (notOffered.length > 0)
      lines.push(dim(`${whose}Not offered by the service: ${notOffered.join(', ')}`));
  }
  for (const { id, unread } of accounts) {
    const types = describeUnread(unread);
    warn(id, types && `${types}. ${UNREAD_ADVICE}`);
  }
  return lines;
}

const runStatus = withApp<CommonOptions>(async ({ app, terminal }, options) => {
  const state = await readState(app, options.account !== undefined);
  return {
    json: statusJson(state),
    lines: () => describeState(state, terminal),
    code: state.wrong.isWell ? EXIT.ok : EXIT.failed,
  };
});

export const status: Verb<CommonOptions> = {
  name: 'status',
  about:
    'for each stream show freshness, last run, watermark, live and deleted rows, open data issues; also retention, privacy, and sessions that hold runs up',
  hasAccounts: true,
  options: [JSON_OPTION],
  run: runStatus,
};
