import type { Account, App } from '../../app.ts';
import type { Cleaning, CleaningProgress } from '../../engine/control-tables/stored-privacy.ts';
import { capital, formatCount, formatNumber } from '../../shared/format.ts';
import { toIso } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { cleanAccount } from '../../engine/sync/forget.ts';
import { readCleaningProgress, readForgottenWithKey } from '../../engine/privacy/settings.ts';
import { describeUncleaned } from '../../operate/status/storage-rules.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { findForgotten } from '../check/check-privacy.ts';
import { accountFields, EXIT } from '../run-results.ts';
import { accountColumn, renderTable } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface PrivacyOptions extends CommonOptions {
  readonly clean?: true;
}

interface StreamPrivacy {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly isScheduled: boolean;
  readonly omitted: readonly string[];
  readonly pseudonyms: readonly string[];
  readonly progress: CleaningProgress;
  readonly cleaning: Cleaning | undefined;
}

/** Errors: `privacy_key_wrong`. */
async function readStreams({ config, warehouse }: App, account: Account): Promise<StreamPrivacy[]> {
  const { db } = warehouse.connection;
  const { id: accountId, offReasons } = account;
  await readForgottenWithKey(db, accountId, config.privacy);
  const streams = await readCleaningProgress(db, [accountId], config.privacy);
  return (streams.get(accountId) ?? []).map(({ stream, policy, progress, cleaning }) => ({
    accountId,
    stream,
    isScheduled: offReasons[stream] === undefined,
    omitted: policy.omit,
    pseudonyms: policy.pseudonymize,
    progress,
    cleaning,
  }));
}

function progressText({ progress, cleaning }: StreamPrivacy): string {
  switch (progress) {
    case 'done':
      return 'in line';
    case 'due':
      return 'not yet in line';
    case 'under_way':
      return `under way: ${formatNumber(cleaning?.rowsSeen ?? 0, 'row')} so far`;
  }
}

const columnsText = (columns: readonly string[]): string => (columns.length === 0 ? '–' : columns.join(', '));

async function runPrivacy(context: CommandContext, options: PrivacyOptions): Promise<number> {
  return await withApp(context, options, async (app) => {
    const { terminal } = context;
    const isMany = app.accounts.length > 1;
    const rows: StreamPrivacy[] = [];
    for (const account of app.accounts) {
      if (options.clean) await cleanAccount(account.runContext(buildRunEvents(account)));
      rows.push(...(await readStreams(app, account)));
    }
    const { lastMs, people, ...forgotten } = await findForgotten(
      app.warehouse.connection.db,
      app.accounts.map(({ id }) => id),
    );
    if (options.json) {
      const streams = rows.map(({ accountId, cleaning, ...row }) => ({
        ...accountFields(isMany, accountId),
        stream: row.stream,
        omitted: row.omitted,
        pseudonyms: row.pseudonyms,
        progress: row.progress,
        rows_seen: cleaning?.rowsSeen ?? 0,
        rows_changed: cleaning?.rowsChanged ?? 0,
      }));
      terminal.print(JSON.stringify({ streams, forgotten: { people, last_at: toIso(lastMs) } }));
      return EXIT.ok;
    }
    terminal.print(
      renderTable(
        [
          accountColumn(isMany),
          { title: 'stream' },
          { title: 'omitted' },
          { title: 'pseudonyms' },
          { title: 'what is stored' },
          { title: 'rewritten', align: 'right', spare: 1 },
        ],
        rows.map((row) => [
          row.accountId,
          row.stream,
          columnsText(row.omitted),
          columnsText(row.pseudonyms),
          progressText(row),
          formatCount(row.cleaning?.rowsChanged ?? 0),
        ]),
        terminal,
      ),
    );
    const warning = describeUncleaned(
      rows
        .filter(({ progress }) => progress !== 'done')
        .map(({ stream, progress, isScheduled }) => ({
          stream,
          isUnderWay: progress === 'under_way',
          isScheduled,
        })),
    );
    if (warning !== null) terminal.print(`\n${warning}`);
    if (app.config.privacy.key !== undefined)
      terminal.print(`\n${capital(forgotten.finding)}. ${forgotten.advice}`);
    return EXIT.ok;
  });
}

export const privacy: Verb<PrivacyOptions> = {
  name: 'privacy',
  about:
    'show omitted and pseudonymized columns, how far stored rows comply, and how many people are forgotten',
  hasAccounts: true,
  options: [
    ['--clean', 'rewrite rows that do not comply yet; otherwise the next run of each stream does'],
    JSON_OPTION,
  ],
  run: runPrivacy,
};
