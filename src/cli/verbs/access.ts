import { grantAccess, revokeAccess } from '../../warehouse/change-access.ts';
import { type ReaderAccess, readAccess } from '../../warehouse/read-access.ts';
import { usageError } from '../../shared/errors.ts';
import { EXIT } from '../run-results.ts';
import { renderTable, type Terminal } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

function printAccess(found: ReaderAccess, terminal: Terminal): void {
  const { unsupported, confined, problems } = found;
  if (confined.length === 0) {
    terminal.print('No role is confined: every role that may read schema safety sees all accounts.');
    terminal.print(
      unsupported === null
        ? 'To confine a role: safety-sync access grant ROLE --account NAME'
        : `No role can be confined here: ${unsupported}.`,
    );
    return;
  }
  terminal.print(
    renderTable(
      [{ title: 'role' }, { title: 'accounts that it reads' }],
      confined.map(({ role, accounts }) => [role, accounts.join(', ')]),
      terminal,
    ),
  );
  terminal.print('\nWhoever else may read schema safety, as safety_reader, sees every account.');
  for (const problem of problems) terminal.print(terminal.colors.red(problem));
}

async function runAccess(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal } = context;
  return await withApp(context, {}, async ({ warehouse }) => {
    const found = await readAccess(warehouse.connection);
    if (options.json) {
      const { unsupported, confined, problems } = found;
      const roles = confined.map(({ role, accounts }) => ({ role, accounts }));
      terminal.print(JSON.stringify({ unsupported, roles, problems }));
    } else printAccess(found, terminal);
    return found.problems.length === 0 ? EXIT.ok : EXIT.failed;
  });
}

const TAKES_ROLE = [
  ['role', 'a role of PostgreSQL: the login of a BI tool, or a group role of logins'],
] as const;

const grant: Verb<CommonOptions> = {
  name: 'grant',
  about:
    'let a role of PostgreSQL read these accounts and, of schema safety, no other rows; adds to its accounts',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may read; several, or several times'], JSON_OPTION],
  run: async (context, options, [role = '']) =>
    await withApp(context, {}, async (app) => {
      const { account: accounts = [] } = options;
      if (accounts.length === 0) {
        throw usageError(
          'which accounts? Name each with --account',
          `For example: safety-sync access grant ${role} --account NAME`,
        );
      }
      const change = { role, accounts, configured: app.accounts.map(({ id }) => id) };
      const { accounts: now } = await grantAccess(app.warehouse.connection, change);
      context.terminal.print(
        options.json
          ? JSON.stringify({ role, accounts: now })
          : `${role} reads ${now.join(', ')} and nothing else, through every table and view of schema safety.`,
      );
      return EXIT.ok;
    }),
};

const revoke: Verb<CommonOptions> = {
  name: 'revoke',
  about: 'take accounts away from a role; without --account all of them: then it reads no rows',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may not read any more'], JSON_OPTION],
  run: async (context, options, [role = '']) =>
    await withApp(context, {}, async ({ warehouse }) => {
      const { account: accounts = [] } = options;
      const { accounts: left } = await revokeAccess(warehouse.connection, { role, accounts });
      const said =
        left.length === 0
          ? `${role} reads nothing of schema safety any more.`
          : `${role} reads ${left.join(', ')} and nothing else.`;
      context.terminal.print(options.json ? JSON.stringify({ role, accounts: left }) : said);
      return EXIT.ok;
    }),
};

export const access: Verb<CommonOptions> = {
  name: 'access',
  about:
    'show roles that are confined to accounts (row-level security), their accounts, and rights by which they see more',
  options: [JSON_OPTION],
  verbs: [grant, revoke],
  run: runAccess,
};
