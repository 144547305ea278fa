import {
  type AccountChange,
  commandOf,
  describeChange,
  readAccountChanges,
  readStoredAccounts,
} from '../../engine/control-tables/account-changes.ts';
import { countAccountRows, readAccountTables } from '../../warehouse/account-tables.ts';
import { accountName } from '../../config/value-forms.ts';
import { formatAge, formatNumber } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { toIso } from '../../shared/time.ts';
import { readAccounts } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { changeAccount } from '../../warehouse/change-account.ts';
import type { App } from '../../app.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface ChangeOptions extends CommonOptions {
  readonly yes?: true;
}

/** The configured accounts in their order, then the other accounts that have rows. */
async function listAccounts({ accountIds: configured, connection, db, clock }: App) {
  const stored = await readStoredAccounts(connection);
  const ids = [...new Set([...configured, ...stored])];
  const counts = [...(await countRows(db, ids))];
  const read = await readAccounts(connection, ids, { clock });
  const changes = await readAccountChanges(connection);
  return ids.map((id) => {
    const own = counts.filter((one) => one.account_id === id);
    const successes = (read.accounts.get(id) ?? []).flatMap(({ lastSuccessMs }) => lastSuccessMs ?? []);
    const change = changes.find(({ from, to }) => from === id || to === id);
    return {
      account_id: id,
      is_configured: configured.includes(id),
      is_stored: stored.includes(id),
      live_rows: own.reduce((sum, { live }) => sum + live, 0),
      deleted_rows: own.reduce((sum, { deleted }) => sum + deleted, 0),
      last_success_at: successes.length === 0 ? null : toIso(Math.max(...successes)),
      /** The command that finishes an interrupted rename or removal of the account. */
      unfinished: change === undefined ? null : commandOf(change),
    };
  });
}

const runList = withApp<CommonOptions>(async ({ app, terminal }) => {
  const { colors } = terminal;
  const all = await listAccounts(app);
  const findings = await readAccountFindings(app);
  const nowMs = app.clock.now();
  const table = () =>
    renderRows(
      all,
      [
        accountColumn(true),
        { title: 'configured', cellOf: (row) => (row.is_configured ? 'yes' : colors.yellow('no')) },
        countColumn('live', (row) => row.live_rows),
        countColumn('deleted', (row) => row.deleted_rows),
        { title: 'last success', cellOf: (row) => formatAge(row.last_success_at, nowMs) },
      ],
      terminal,
    );
  return {
    json: { accounts: all },
    lines: () => [
      table(),
      ...findings.map(({ finding, advice }) => `\n${colors.yellow(finding)}\n${advice}`),
    ],
  };
});

/** Finds stored accounts that are not configured, and changes that were cut off. `app` must have every configured account. */
export async function readAccountFindings({ accountIds, connection }: App) {
  const changes = await readAccountChanges(connection);
  const known = [...accountIds, ...changes.flatMap(({ from, to }) => [from, to])];
  const others = (await readStoredAccounts(connection)).filter((id) => !known.includes(id));
  return [
    ...changes.map((change) => ({
      finding: `${describeChange(change)}, which was not finished: no run of it begins`,
      advice: `Finish it: ${commandOf(change)}`,
    })),
    ...others.map((id) => ({
      finding: `the warehouse holds account ${id}, which is not configured`,
      advice: `If another worker has it, nothing is to be done. Else give what is stored its present name: safety-sync accounts rename ${id} NEW; or remove it: safety-sync accounts remove ${id}`,
    })),
  ];
}

/** Throws `usage_invalid` unless the change is confirmed. */
async function confirm(terminal: Terminal, change: AccountChange): Promise<void> {
  if (terminal.ask === undefined) {
    throw usageError('off a terminal this needs --yes', `If it is meant: ${commandOf(change)} --yes`);
  }
  const name = change.to ?? change.from;
  const typed = await terminal.ask(`Type ${name} to go on: `);
  if (typed.trim() !== name) throw usageError(`that was not ${name}: nothing was changed`);
}

function assertNewName({ from, to }: AccountChange): void {
  if (to === from) throw usageError('the new name is the old one');
  if (to === null || accountName.safeParse(to).success) return;
  throw usageError(
    `${JSON.stringify(to)} is no name of an account: expected ${String(accountName.description)}`,
  );
}

/** Renames what is stored of an account, or removes it if there is no new name. */
const runChange = withApp<ChangeOptions>(async ({ app, terminal, signal }, options, names) => {
  const [from = '', to = null] = names;
  const change: AccountChange = { from, to };
  assertNewName(change);
  const { accountIds, connection, warehouse } = app;
  const isConfigured = accountIds.includes(from);
  if (to === null && isConfigured) {
    throw usageError(
      `account ${from} is configured: the next run would read it anew`,
      `First take ${from} out of the configuration (SAFETY_ACCOUNT or SAFETY_ACCOUNTS_FILE), here and where safety-sync start runs; then try again.`,
    );
  }
  const tables = await readAccountTables(connection);
  const counts = await countAccountRows(connection, tables, from);
  const rows = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const what = to === null ? `To be removed: account ${from}` : `To be renamed to ${to}: account ${from}`;
  terminal.note(`${what}, ${formatNumber(rows, 'row')} in ${formatNumber(counts.size, 'table')}.`);
  if (options.yes !== true) await confirm(terminal, change);
  const changed = await changeAccount(
    {
      databaseUrl: warehouse.url,
      connection,
      signal,
      onTable: (table, count) =>
        terminal.note(terminal.noteColors.dim(`  ${table}: ${formatNumber(count, 'row')}`)),
    },
    change,
  );
  const lines = [
    to === null
      ? `Nothing is stored of account ${from} any more.`
      : `Everything that was stored of account ${from} is that of account ${to} now.`,
  ];
  if (to !== null && isConfigured) {
    lines.push(
      `Before the next run name it ${to} in the configuration (SAFETY_ACCOUNT or SAFETY_ACCOUNTS_FILE): as ${from} it would be read anew.`,
    );
  }
  return { json: { account_id: from, renamed_to: to, rows: changed }, lines: () => lines };
});

const YES_OPTION = ['--yes', 'do it without a question; needed off a terminal'] as const;

const listVerb: Verb<CommonOptions> = {
  name: 'list',
  about:
    'show accounts that are configured or stored, with their rows and last success, and changes that were cut off',
  options: [JSON_OPTION],
  run: runList,
};

const rename: Verb<ChangeOptions> = {
  name: 'rename',
  about:
    'give everything that is stored of an account another name, in steps; repeat it after an interruption',
  takes: [
    ['old', 'the account as it is stored'],
    ['new', 'a name of which nothing is stored'],
  ],
  options: [YES_OPTION, JSON_OPTION],
  run: runChange,
};

const remove: Verb<ChangeOptions> = {
  name: 'remove',
  about:
    'remove everything that is stored of an account that is not configured, in steps; repeat it after an interruption',
  takes: [['name', 'the account as it is stored']],
  options: [YES_OPTION, JSON_OPTION],
  run: runChange,
};

export const accounts: Verb<CommonOptions> = {
  ...listVerb,
  name: 'accounts',
  verbs: [listVerb, rename, remove],
};
