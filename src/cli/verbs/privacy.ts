import { capital, formatNumber } from '../../shared/format.ts';
import { toIso } from '../../shared/time.ts';
import { cleanAccount } from '../../engine/sync/forget.ts';
import { readCleaningProgress, readForgottenWithKey } from '../../engine/privacy/settings.ts';
import { describeUncleaned } from '../../operate/status/differences.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { findForgotten } from '../check/check-privacy.ts';
import { accountFields, afterBlank } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { type CommonOptions, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface PrivacyOptions extends CommonOptions {
  readonly clean?: true;
}

const PROGRESS = { done: 'in line', due: 'not yet in line', under_way: 'under way' } as const;

const columnsText = (columns: readonly string[]): string => (columns.length === 0 ? '–' : columns.join(', '));

const runPrivacy = withApp<PrivacyOptions>(async ({ app, terminal }, options) => {
  const { config, accounts, accountIds, db } = app;
  const isMany = accounts.length > 1;
  for (const account of accounts) {
    if (options.clean) await cleanAccount(account.runContext(buildRunEvents(account)));
    // Errors: `privacy_key_wrong`.
    await readForgottenWithKey(db, account.id, config.privacy);
  }
  const read = await readCleaningProgress(db, accountIds, config.privacy);
  const streams = accountIds.flatMap((id) =>
    (read.get(id) ?? []).map(({ stream, policy, progress, cleaning }) => ({
      ...accountFields(isMany, id),
      stream,
      omitted: policy.omit,
      pseudonyms: policy.pseudonymize,
      progress,
      rows_seen: cleaning?.rowsSeen ?? 0,
      rows_changed: cleaning?.rowsChanged ?? 0,
    })),
  );
  const { lastMs, people, finding, advice } = await findForgotten(db, accountIds);
  const table = () =>
    renderRows(
      streams,
      [
        accountColumn(isMany),
        { title: 'stream', cellOf: ({ stream }) => stream },
        { title: 'omitted', cellOf: ({ omitted }) => columnsText(omitted) },
        { title: 'pseudonyms', cellOf: ({ pseudonyms }) => columnsText(pseudonyms) },
        {
          title: 'what is stored',
          cellOf: ({ progress, rows_seen: seen }) =>
            `${PROGRESS[progress]}${progress === 'under_way' ? `: ${formatNumber(seen, 'row')} so far` : ''}`,
        },
        countColumn('rewritten', (row) => row.rows_changed, 1),
      ],
      terminal,
    );
  const warning = describeUncleaned([...read.values()].flat());
  return {
    json: { streams, forgotten: { people, last_at: toIso(lastMs) } },
    lines: () => [
      table(),
      ...afterBlank(warning === null ? [] : [warning]),
      ...afterBlank(config.privacy.key === undefined ? [] : [`${capital(finding)}. ${advice}`]),
    ],
  };
});

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
