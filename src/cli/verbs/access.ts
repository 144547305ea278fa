import { grantAccess, readAccess, type ReaderAccess, revokeAccess } from '../../warehouse/change-access.ts';

import { usageError } from '../../shared/errors.ts';
import { EXIT } from '../run-results.ts';
import { renderRows } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, JSON_OPTION, runWithApp, type Verb, withApp } from '../verb.ts';

function describeAccess({ unsupported, confined, problems }: ReaderAccess, terminal: Terminal): string[] {
  if (confined.length === 0) {
    return [
      'No role is confined: every role that may read schema safety sees all accounts.',
      unsupported === null
        ? 'To confine a role: safety-sync access grant ROLE --account NAME'
        : `No role can be confined here: ${unsupported}.`,
    ];
  }
  return [
    renderRows(
      confined,
      [
        { title: 'role', cellOf: ({ role }) => role },
        { title: 'accounts that it reads', cellOf: ({ accounts }) => accounts.join(', ') },
      ],
      terminal,
    ),
    '\nWhoever else may read schema safety, as safety_reader, sees every account.',
    ...problems.map((problem) => terminal.colors.red(problem)),
  ];
}

const runAccess = withApp<CommonOptions>(async ({ app, terminal }) => {
  const found = await readAccess(app.connection);
  const { unsupported, confined, problems } = found;
  const roles = confined.map(({ role, accounts }) => ({ role, accounts }));
  return {
    json: { unsupported, roles, problems },
    lines: () => describeAccess(found, terminal),
    code: problems.length === 0 ? EXIT.ok : EXIT.failed,
  };
});

const TAKES_ROLE = [
  ['role', 'a role of PostgreSQL: the login of a BI tool, or a group role of logins'],
] as const;

const grant: Verb<CommonOptions> = {
  name: 'grant',
  about:
    'let a role of PostgreSQL read these accounts and, of schema safety, no other rows; adds to its accounts',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may read; several, or several times'], JSON_OPTION],
  run: async (context, { json, account: accounts = [] }, [role = '']) =>
    await runWithApp(context, { json }, async (app) => {
      if (accounts.length === 0) {
        throw usageError(
          'which accounts? Name each with --account',
          `For example: safety-sync access grant ${role} --account NAME`,
        );
      }
      const change = { role, accounts, configured: app.accountIds };
      const { accounts: now } = await grantAccess(app.warehouse, change);
      const said = `${role} reads ${now.join(', ')} and nothing else, through every table and view of schema safety.`;
      return { json: { role, accounts: now }, lines: () => [said] };
    }),
};

const revoke: Verb<CommonOptions> = {
  name: 'revoke',
  about: 'take accounts away from a role; without --account all of them: then it reads no rows',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may not read any more'], JSON_OPTION],
  run: async (context, { json, account: accounts = [] }, [role = '']) =>
    await runWithApp(context, { json }, async ({ warehouse }) => {
      const { accounts: left } = await revokeAccess(warehouse, { role, accounts });
      const said =
        left.length === 0
          ? `${role} reads nothing of schema safety any more.`
          : `${role} reads ${left.join(', ')} and nothing else.`;
      return { json: { role, accounts: left }, lines: () => [said] };
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
