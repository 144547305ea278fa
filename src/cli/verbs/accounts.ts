import {
  type AccountChange,
  commandOf,
  readAccountChanges,
} from '../../engine/control-tables/account-changes.ts';
import { accountName } from '../../config/variables.ts';
import { formatNumber } from '../../shared/format.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { describeSource, isOtherAccount } from '../../engine/sync/source.ts';
import {
  changeAccount,
  countAccountRows,
  moveAccount,
  readStoredAccounts,
} from '../../warehouse/change-account.ts';
import type { App } from '../../app.ts';
import { renderRows } from '../table.ts';
import { confirm } from '../terminal.ts';
import type { AppContext, CommonOptions, Verb } from '../verb.ts';

/** `findings`: stored accounts that are not configured. `app` must have every configured account. */
export async function readStored({ accountIds, connection }: App) {
  const changes = await readAccountChanges(connection);
  const known = [...accountIds, ...changes.flatMap(({ from, to }) => [from, to])];
  const stored = await readStoredAccounts(connection);
  const others = stored.filter((id) => !known.includes(id));
  const findings = others.map((id) => ({
    finding: `the warehouse holds account ${id}, which is not configured`,
    advice: `Unless another worker has it: safety-sync accounts rename ${id} NEW, or safety-sync accounts remove ${id}`,
  }));
  return { changes, stored, findings };
}

const list: Verb = {
  about: 'show accounts that are configured or stored, and changes that were cut off',
  common: ['json'],
  async run({ app, terminal }) {
    const { accountIds: configured } = app;
    const { changes, stored, findings } = await readStored(app);
    const ids = [...new Set([...configured, ...stored])];
    const accounts = ids.map((id) => {
      const change = changes.find(({ from, to }) => from === id || to === id);
      return {
        account_id: id,
        is_configured: configured.includes(id),
        is_stored: stored.includes(id),
        /** The command that finishes an interrupted rename or removal of the account. */
        unfinished: change === undefined ? null : commandOf(change),
      };
    });
    const yesOrNo = (is: boolean): string => (is ? 'yes' : terminal.colors.yellow('no'));
    const table = renderRows(terminal, accounts, {
      account: (one) => one.account_id,
      configured: (one) => yesOrNo(one.is_configured),
      stored: (one) => yesOrNo(one.is_stored),
      ...(changes.length > 0 && { unfinished: (one: { unfinished: string | null }) => one.unfinished }),
    });
    return {
      json: { accounts },
      lines: [table, ...findings.map(({ finding, advice }) => `\n${finding}\n${advice}`)],
    };
  },
};

/** Asks, then renames what is stored of an account, or removes it if there is no new name. Returns the JSON output. */
async function change({ app, terminal, signal }: AppContext, options: CommonOptions, asked: AccountChange) {
  const { from, to } = asked;
  const { rows, tables } = await countAccountRows(app.connection, from);
  const what = to === null ? `To be removed: account ${from}` : `To be renamed to ${to}: account ${from}`;
  terminal.note(`${what}, ${formatNumber(rows, 'row')} in ${formatNumber(tables, 'table')}.`);
  await confirm(terminal, options, to ?? from, commandOf(asked));
  await changeAccount(app.warehouse.url, asked, signal);
  return { account_id: from, renamed_to: to };
}

const rename: Verb = {
  about: 'give what is stored of an account another name, in steps; repeat it after an interruption',
  takes: [
    ['<old>', 'the account as it is stored'],
    ['<new>', 'a name of which nothing is stored'],
  ],
  common: ['yes', 'json'],
  async run(context, options, [from = '', to = '']) {
    if (!accountName.safeParse(to).success) {
      const expected = String(accountName.description);
      throw usageError(`${JSON.stringify(to)} is no name of an account: expected ${expected}`);
    }
    const json = await change(context, options, { from, to });
    const said = `Everything that was stored of account ${from} is that of account ${to} now. Name it ${to} in the configuration, too, before the next run.`;
    return { json, lines: [said] };
  },
};

const remove: Verb = {
  about: 'remove what is stored of an account, in steps; repeat it after an interruption',
  takes: [['<name>', 'the account as it is stored']],
  common: ['yes', 'json'],
  async run(context, options, [name = '']) {
    const account = context.app.accounts.find(({ id }) => id === name);
    if (account?.config.service && !(await account.source.compare()).isOther) {
      throw usageError(
        `account ${name} is configured: the next run would read it anew`,
        `First take ${name}, or the address of its service, out of the configuration (SAFETY_BASE_URL, SAFETY_ACCOUNT or SAFETY_ACCOUNTS_FILE), here and where safety-sync start runs; then try again.`,
      );
    }
    const json = await change(context, options, { from: name, to: null });
    return { json, lines: [`Nothing is stored of account ${name} any more.`] };
  },
};

const move: Verb = {
  about: 'read an account from its new address; the next sync reads all, and deletes what is not there',
  takes: [['<name>', 'the account, configured with the new address']],
  common: ['yes', 'json'],
  needs: () => ({ needsService: true }),
  async run({ app, terminal }, options, [name = '']) {
    const { accounts, db, warehouse } = app;
    const account = accounts.find(({ id }) => id === name);
    if (account === undefined) {
      throw usageError(
        `account ${name} is not configured`,
        'First give it its new address in the configuration (SAFETY_BASE_URL, or base_url of its entry in SAFETY_ACCOUNTS_FILE).',
      );
    }
    const { stored, isOther } = await account.source.compare();
    const current = await account.source.readCurrent();
    if (stored === undefined)
      throw usageError(`nothing is stored of account ${name}: it can be read from anywhere`);
    if (!isOther) throw usageError(`account ${name} belongs to ${describeSource(stored)} already`);
    const [from, to] = [describeSource(stored), describeSource(current)];
    if (isOtherAccount(stored, current)) {
      const message = `${to} is not the account that was read from ${from}: not moved`;
      const advice = `Read it as another account (SAFETY_ACCOUNT), or remove what is stored: safety-sync accounts remove ${name}`;
      throw new SafetySyncError('source_changed', message, { advice });
    }
    if (current.service_id === null)
      terminal.note(`${to} has not said which service it is: make sure that it is the same one.`);
    terminal.note(
      `To be moved: account ${name} from ${from} to ${to}. The next sync reads everything and marks as deleted what is not there, without the delete guard.`,
    );
    await confirm(terminal, options, name, `safety-sync accounts move ${name}`);
    const source = { ...current, service_id: current.service_id ?? stored.service_id };
    await moveAccount(warehouse.url, db, { accountId: name, source });
    return {
      json: { account_id: name, from: stored.address, to: current.address },
      lines: [`Account ${name} belongs to ${to} now. Next: safety-sync sync`],
    };
  },
};

export const accounts: Verb = {
  ...list,
  verbs: { list, rename, move, remove },
};
