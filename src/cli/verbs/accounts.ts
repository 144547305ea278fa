import {
  type AccountChange,
  commandOf,
  describeChange,
  readAccountChanges,
  readStoredAccounts,
} from '../../engine/control-tables/account-changes.ts';
import { accountName } from '../../config/value-forms.ts';
import { formatAge, formatNumber } from '../../shared/format.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { describeSource, isOtherAccount } from '../../engine/sync/source.ts';
import { toIso } from '../../shared/time.ts';
import { readAccounts } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { changeAccount, countAccountRows, moveAccount } from '../../warehouse/change-account.ts';
import type { App } from '../../app.ts';
import { confirm, YES_OPTION } from '../confirm.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
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

function assertNewName({ to }: AccountChange): void {
  if (to === null || accountName.safeParse(to).success) return;
  throw usageError(
    `${JSON.stringify(to)} is no name of an account: expected ${String(accountName.description)}`,
  );
}

/** The account is configured, with the service that it belongs to: a removal would only make the next run read it again. */
async function isReadOn({ accounts }: App, id: string): Promise<boolean> {
  const account = accounts.find((one) => one.id === id);
  if (account?.config.service === undefined) return account !== undefined;
  return !(await account.source.compare()).isOther;
}

/** Renames what is stored of an account, or removes it if there is no new name. */
const runChange = withApp<ChangeOptions>(async ({ app, terminal, signal }, options, names) => {
  const [from = '', to = null] = names;
  const change: AccountChange = { from, to };
  assertNewName(change);
  const { accountIds, connection, warehouse } = app;
  const isConfigured = accountIds.includes(from);
  if (to === null && (await isReadOn(app, from))) {
    throw usageError(
      `account ${from} is configured: the next run would read it anew`,
      `First take ${from} out of the configuration (SAFETY_ACCOUNT or SAFETY_ACCOUNTS_FILE), here and where safety-sync start runs; then try again.`,
    );
  }
  const { rows, tables } = await countAccountRows(connection, from);
  const what = to === null ? `To be removed: account ${from}` : `To be renamed to ${to}: account ${from}`;
  terminal.note(`${what}, ${formatNumber(rows, 'row')} in ${formatNumber(tables, 'table')}.`);
  await confirm(terminal, options, { name: to ?? from, command: commandOf(change) });
  await changeAccount({ databaseUrl: warehouse.url, connection, signal }, change);
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
  return { json: { account_id: from, renamed_to: to }, lines: () => lines };
});

/** Lets an account be read from another address of its service. */
const runMove = withApp<ChangeOptions>(
  async ({ app, terminal }, options, [name = '']) => {
    const { accounts, connection, warehouse } = app;
    const account = accounts.find(({ id }) => id === name);
    if (account === undefined) {
      throw usageError(
        `account ${name} is not configured`,
        'First give it its new address in the configuration (SAFETY_BASE_URL, or base_url of its entry in SAFETY_ACCOUNTS_FILE).',
      );
    }
    const { stored, isOther } = await account.source.compare();
    const current = await account.source.readCurrent();
    if (stored?.isRead !== true)
      throw usageError(`nothing is stored of account ${name}: it can be read from anywhere`);
    if (!isOther) throw usageError(`account ${name} belongs to ${describeSource(stored)} already`);
    const [from, to] = [describeSource(stored), describeSource(current)];
    if (isOtherAccount(stored, current)) {
      throw new SafetySyncError(
        'source_changed',
        `${to} is not the account that was read from ${from}: not moved`,
        {
          advice: `Read it as another account (SAFETY_ACCOUNT), or remove what is stored: safety-sync accounts remove ${name}`,
        },
      );
    }
    terminal.note(`To be moved: account ${name} from ${from} to ${to}.`);
    if (stored.serviceId === null || current.serviceId === null) {
      terminal.note(
        'The service does not say whether both are the same account: what the new address lacks will be marked deleted.',
      );
    }
    await confirm(terminal, options, { name, command: `safety-sync accounts move ${name}` });
    const source = { ...current, serviceId: current.serviceId ?? stored.serviceId };
    await moveAccount({ databaseUrl: warehouse.url, connection }, { accountId: name, source });
    const lines = [
      `Account ${name} belongs to ${to} now.`,
      'The next sync reads everything and marks as deleted what is not there, without the delete guard. Now: safety-sync sync',
    ];
    return { json: { account_id: name, from: stored.address, to: current.address }, lines: () => lines };
  },
  { needsService: true },
);

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

const move: Verb<ChangeOptions> = {
  name: 'move',
  about:
    'let an account be read from its new, configured address of the same service: the next sync reads everything and deletes what is not there',
  takes: [['name', 'the account, configured with the new address']],
  options: [YES_OPTION, JSON_OPTION],
  run: runMove,
};

export const accounts: Verb<CommonOptions> = {
  ...listVerb,
  name: 'accounts',
  verbs: [listVerb, rename, move, remove],
};
