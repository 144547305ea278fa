import { findWhatIsWrong } from '../../operate/alerts/what-is-wrong.ts';
import { type OffReason, offReasonsOf, placeOf } from '../../config/account-config.ts';
import { markDeadRuns } from '../../engine/control/dead-runs.ts';
import { readLastRuns, type RunRow } from '../../engine/control/runs.ts';
import { readStoredParts } from '../../engine/control/stored-parts.ts';
import { adviceOf, type ErrorCode } from '../../shared/errors.ts';
import type { TokenPlace } from '../../shared/token-place.ts';
import {
  capital,
  formatAge,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../shared/format.ts';
import { toIso, toMs } from '../../shared/time.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import {
  countUnread,
  describeUnread,
  type StoredPart,
  UNREAD_ADVICE,
  unreadOf,
} from '../../engine/streams/unread-parts.ts';
import { describeProtection, describeRetention, describeUncleaned } from '../../pages/words.ts';
import { freshnessOf } from '../../operate/status/build-status.ts';
import { keepingOf, type UncleanedStream, uncleanedOf } from '../../operate/status/keeping.ts';
import { readAccounts, type StreamFacts } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import type { Freshness } from '../../operate/status/status.ts';
import { heldUpReasons, sentence } from '../../operate/status/verdict.ts';
import { readCleaningProgress } from '../../engine/privacy/settings.ts';
import type { App } from '../../app.ts';
import { readAccountFindings } from './accounts.ts';
import { EXIT, type Failure, renderFailures, statusText, streamLabel } from '../run-results.ts';
import { accountColumn, type Colors, renderTable, withIsoTimes } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

/** `unread`: live rows that the last success did not bring up to date. */
function freshnessText({ facts, freshness, offReason }: Judged, unread: number, colors: Colors): string {
  if (offReason === 'no equipment types') return colors.dim(`off: ${offReason}`);
  if (facts.heldUpBy !== undefined) return colors.red(`${freshness}, held up`);
  switch (freshness) {
    case 'fresh':
      return unread === 0 ? colors.green('fresh') : colors.yellow(`fresh but ${formatCount(unread)}`);
    case 'stale':
      return colors.red('stale');
    case 'never':
      return colors.dim('never synced');
  }
}

function lastRunText({ lastRun }: Judged, nowMs: number, colors: Colors): string {
  if (lastRun === null) return colors.dim('–');
  const { status, kind, started_at: startedAt, finished_at: finishedAt } = lastRun;
  const what = `${statusText(status, colors)} ${kind === 'sync' ? '' : `${kind} `}`;
  if (status === 'running') return `${what}for ${formatDuration(Math.max(0, nowMs - toMs(startedAt)))}`;
  // When it ended, as the last success is: the two are compared.
  return `${what}${formatAge(finishedAt ?? startedAt, nowMs)}`;
}

function toFailure(label: string, { lastRun, place }: Judged): Failure[] {
  if (lastRun?.status !== 'failed') return [];
  const { error_code: code, error_message: message, request_id: requestId } = lastRun;
  return [
    {
      stream: label,
      code: (code ?? 'internal_error') as ErrorCode,
      message: message ?? 'no message',
      advice: adviceOf(code ?? 'internal_error', place),
      requestId,
    },
  ];
}

/** With more accounts than this, healthy ones are only counted. */
const MOST_LISTED = 20;

interface Judged {
  readonly accountId: string;
  readonly facts: StreamFacts;
  readonly freshness: Freshness;
  /** The reason why it is not synced automatically; null: it is. */
  readonly offReason: OffReason | null;
  /** The newest, also an active one. */
  readonly lastRun: RunRow | null;
  readonly liveRows: number;
  readonly deletedRows: number;
  readonly place: TokenPlace;
}

const needsLook = ({ facts, lastRun, freshness, offReason }: Judged): boolean =>
  facts.heldUpBy !== undefined ||
  (offReason === null && freshness !== 'fresh') ||
  lastRun?.status === 'failed';

function toJsonStream({ facts, freshness, offReason, lastRun, ...rows }: Judged): Record<string, unknown> {
  return {
    stream: facts.stream,
    freshness,
    is_scheduled: offReason === null,
    off_reason: offReason,
    last_success_at: toIso(facts.lastSuccessMs),
    ...(facts.heldUpBy === undefined ? {} : { held_up_by: facts.heldUpBy }),
    current_until: toIso(facts.currentUntilMs),
    watermark: toIso(facts.watermarkMs),
    calculated_at: toIso(facts.calculatedMs),
    live_rows: rows.liveRows,
    deleted_rows: rows.deletedRows,
    open_data_issues: facts.openIssues,
    last_run: lastRun === null ? null : withIsoTimes(lastRun),
  };
}

/** With many accounts: those that need attention, and the number of the others. */
function chooseListed(all: readonly (readonly Judged[])[]): { listed: readonly Judged[]; left: number } {
  if (all.length <= MOST_LISTED) return { listed: all.flat(), left: 0 };
  const listed = all.filter((streams) => streams.some(needsLook));
  return { listed: listed.flat().filter(needsLook), left: all.length - listed.length };
}

const keyOf = (row: { readonly account_id: string; readonly stream: string }) =>
  `${row.stream} ${row.account_id}`;

/** A few statements for all accounts; the streams come in the accounts' order. */
async function judgeAccounts({ config, accounts, warehouse, clock }: App) {
  const { connection } = warehouse;
  const ids = accounts.map(({ id }) => id);
  const [read, runs, counts] = await Promise.all([
    readAccounts(connection, ids, { clock }),
    readLastRuns(connection.db, ids).then((last) => markDeadRuns(connection.db, last)),
    countRows(connection.db, ids),
  ]);
  const runOf = new Map(runs.map((run) => [keyOf(run), run]));
  const countOf = new Map([...counts].map((count) => [keyOf(count), count]));
  const wrong = await findWhatIsWrong(connection.db, { accounts, seen: read, config });
  const judged = accounts.map(({ id, config: own }) => {
    const offReasons = offReasonsOf(own);
    return (read.accounts.get(id) ?? []).map((facts): Judged => {
      const key = keyOf({ account_id: id, stream: facts.stream });
      return {
        accountId: id,
        facts,
        freshness: freshnessOf(facts, read.databaseNowMs, config.freshnessBudgetMinutes),
        offReason: offReasons[facts.stream] ?? null,
        lastRun: runOf.get(key) ?? null,
        liveRows: countOf.get(key)?.live ?? 0,
        deletedRows: countOf.get(key)?.deleted ?? 0,
        place: placeOf(own),
      };
    });
  });
  return { judged, wrong, nowMs: read.databaseNowMs };
}

/** By account, only streams with rows that need cleaning. */
async function readUncleaned({ config, accounts, warehouse }: App): Promise<Map<string, UncleanedStream[]>> {
  const ids = accounts.map(({ id }) => id);
  const progress = await readCleaningProgress(warehouse.connection.db, ids, config.privacy);
  return new Map(
    accounts.flatMap(({ id, offReasons }): [string, UncleanedStream[]][] => {
      const streams = uncleanedOf(progress.get(id) ?? []);
      const judged = streams.map((one) => ({ ...one, isScheduled: offReasons[one.stream] === undefined }));
      return judged.length === 0 ? [] : [[id, judged]];
    }),
  );
}

/** By account, only those with rows of equipment types that are not configured. */
export async function readUnread({ accounts, warehouse }: App): Promise<Map<string, StoredPart[]>> {
  const stored = await readStoredParts(
    warehouse.connection.db,
    accounts.map(({ id }) => id),
  );
  return new Map(
    accounts.flatMap(({ id, config }): [string, StoredPart[]][] => {
      const unread = unreadOf(stored.get(id) ?? [], config.equipmentTypes);
      return unread.length === 0 ? [] : [[id, unread]];
    }),
  );
}

async function runStatus(context: CommandContext, options: CommonOptions): Promise<number> {
  return await withApp(context, options, async (app) => {
    const { judged, wrong, nowMs } = await judgeAccounts(app);
    const exitCode = wrong.isWell ? EXIT.ok : EXIT.failed;
    const isMany = app.accounts.length > 1;
    const uncleaned = await readUncleaned(app);
    const unread = await readUnread(app);
    const unreadRows = ({ accountId, facts }: Judged): number =>
      STREAMS.some(({ name, partition }) => name === facts.stream && partition !== undefined)
        ? countUnread(unread.get(accountId) ?? [])
        : 0;
    const findings = options.account === undefined ? await readAccountFindings(app) : [];
    const { omitted, pseudonyms, ...kept } = keepingOf(app.config);
    if (options.json) {
      const bodies = app.accounts.map(({ id }, index) => ({
        account_id: id,
        streams: (judged[index] ?? []).map(toJsonStream),
        not_cleaned: (uncleaned.get(id) ?? []).map(({ stream }) => stream),
        unread_equipment_types: (unread.get(id) ?? []).map(({ part, live, readAtMs }) => ({
          equipment_type_id: part,
          live_rows: live,
          last_read_at: toIso(readAtMs),
        })),
      }));
      const retention = {
        deleted_days: kept.deletedDays,
        runs_days: kept.runsDays,
        issues_days: kept.issuesDays,
      };
      const privacy = { omitted, pseudonyms };
      const all = {
        ...(isMany ? { accounts: bodies } : bodies[0]),
        is_well: wrong.isWell,
        worker_last_seen_at: toIso(wrong.workerSeenMs),
        retention,
        privacy,
      };
      context.terminal.print(JSON.stringify(all));
      return exitCode;
    }
    const { terminal } = context;
    const { colors } = terminal;
    const { listed, left } = chooseListed(judged);
    if (listed.length > 0) {
      terminal.print(
        renderTable(
          [
            accountColumn(isMany),
            { title: 'stream' },
            { title: 'data' },
            { title: 'last success', spare: 3 },
            { title: 'last run', isCut: true },
            { title: 'current to', spare: 1 },
            { title: 'live', align: 'right' },
            { title: 'deleted', align: 'right', spare: 2 },
            { title: 'open issues', align: 'right' },
          ],
          listed.map((one) => [
            one.accountId,
            one.facts.stream,
            freshnessText(one, unreadRows(one), colors),
            formatAge(one.facts.lastSuccessMs, nowMs),
            lastRunText(one, nowMs, colors),
            formatTime(one.facts.watermarkMs ?? one.facts.calculatedMs),
            formatCount(one.liveRows),
            formatCount(one.deletedRows),
            formatCount(one.facts.openIssues),
          ]),
          terminal,
        ),
      );
    }
    if (left > 0) {
      const others = listed.length === 0 ? 'All' : 'The other';
      terminal.print(
        `${listed.length === 0 ? '' : '\n'}${others} ${formatNumber(left, 'account')} are fresh; --account NAME shows one, --json all.`,
      );
    }
    const failures = renderFailures(
      listed.flatMap((one) => toFailure(streamLabel(isMany, one.accountId, one.facts.stream), one)),
      colors,
    );
    if (failures.length > 0) terminal.print(`\n${failures.join('\n')}`);
    if (wrong.workerMissing !== null) terminal.print(colors.red(`\n${wrong.workerMissing}`));
    for (const { accountId, facts } of listed) {
      for (const reason of heldUpReasons([facts]))
        terminal.print(`\n${colors.red(isMany ? `${accountId}: ${reason}.` : sentence(reason))}`);
    }
    const keeping = { omitted, pseudonyms, ...kept };
    terminal.print(colors.dim(`\n${describeRetention(keeping)}`));
    const isProtected = describeProtection(keeping);
    if (isProtected !== null) terminal.print(colors.dim(isProtected));
    for (const [account, streams] of uncleaned) {
      const warning = describeUncleaned(streams);
      if (warning !== null) terminal.print(colors.yellow(`${isMany ? `${account}: ` : ''}${warning}`));
    }
    for (const { finding, advice } of findings)
      terminal.print(colors.yellow(`${capital(finding)}. ${advice}`));
    for (const [account, parts] of unread) {
      const warning = `${describeUnread(parts) ?? ''}. ${UNREAD_ADVICE}`;
      terminal.print(colors.yellow(`${isMany ? `${account}: ` : ''}${warning}`));
    }
    return exitCode;
  });
}

export const status: Verb<CommonOptions> = {
  name: 'status',
  about:
    'for each stream show freshness, last run, watermark, live and deleted rows, open data issues; also retention, privacy, and sessions that hold runs up',
  hasAccounts: true,
  options: [JSON_OPTION],
  run: runStatus,
};
