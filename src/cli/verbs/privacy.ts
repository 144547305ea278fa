import type { App } from '../../app.ts';
import { capital, formatNumber } from '../../shared/format.ts';
import { toIso } from '../../shared/time.ts';
import { cleanAccount } from '../../engine/sync/forget.ts';
import {
  readCleaningProgress,
  readForgottenWithKey,
  type StreamCleaning,
} from '../../engine/privacy/settings.ts';
import { describeUncleaned, type UncleanedStream, uncleanedOf } from '../../operate/status/storage-rules.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { findForgotten } from '../check/check-privacy.ts';
import { accountFields, EXIT } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface PrivacyOptions extends CommonOptions {
  readonly clean?: true;
}

interface StreamPrivacy extends StreamCleaning {
  readonly accountId: string;
}

/** Errors: `privacy_key_wrong`. */
async function readStreams({ config, warehouse }: App, accountId: string): Promise<StreamPrivacy[]> {
  const { db } = warehouse.connection;
  await readForgottenWithKey(db, accountId, config.privacy);
  const streams = await readCleaningProgress(db, [accountId], config.privacy);
  return (streams.get(accountId) ?? []).map((one) => ({ accountId, ...one }));
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
    const uncleaned: UncleanedStream[] = [];
    for (const account of app.accounts) {
      if (options.clean) await cleanAccount(account.runContext(buildRunEvents(account)));
      const streams = await readStreams(app, account.id);
      rows.push(...streams);
      uncleaned.push(...uncleanedOf(streams, account.offReasons));
    }
    const { lastMs, people, ...forgotten } = await findForgotten(
      app.warehouse.connection.db,
      app.accounts.map(({ id }) => id),
    );
    if (options.json) {
      const streams = rows.map(({ accountId, stream, policy, progress, cleaning }) => ({
        ...accountFields(isMany, accountId),
        stream,
        omitted: policy.omit,
        pseudonyms: policy.pseudonymize,
        progress,
        rows_seen: cleaning?.rowsSeen ?? 0,
        rows_changed: cleaning?.rowsChanged ?? 0,
      }));
      terminal.print(JSON.stringify({ streams, forgotten: { people, last_at: toIso(lastMs) } }));
      return EXIT.ok;
    }
    terminal.print(
      renderRows(
        rows,
        [
          accountColumn(isMany, ({ accountId }) => accountId),
          { title: 'stream', cellOf: ({ stream }) => stream },
          { title: 'omitted', cellOf: ({ policy }) => columnsText(policy.omit) },
          { title: 'pseudonyms', cellOf: ({ policy }) => columnsText(policy.pseudonymize) },
          { title: 'what is stored', cellOf: progressText },
          countColumn('rewritten', ({ cleaning }) => cleaning?.rowsChanged ?? 0, 1),
        ],
        terminal,
      ),
    );
    const warning = describeUncleaned(uncleaned);
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
