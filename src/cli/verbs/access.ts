import { grantAccess, readAccess, revokeAccess } from '../../warehouse/change-access.ts';
import { usageError } from '../../shared/errors.ts';
import { EXIT } from '../run-results.ts';
import { renderRows } from '../table.ts';
import type { Verb } from '../verb.ts';

const TAKES_ROLE = [['<role>', 'a role of PostgreSQL: the login of a BI tool, or a group role']] as const;

function outputOf(role: string, accounts: readonly string[]) {
  const said =
    accounts.length === 0
      ? `${role} reads nothing of schema safety any more.`
      : `${role} reads ${accounts.join(', ')} and nothing else, through every table and view of schema safety.`;
  return { json: { role, accounts }, lines: [said] };
}

/** Their --account selects no configured account. */
const OF_ALL = { account: [] };

const grant: Verb = {
  about: 'let a role read these accounts, in addition to others of it, and nothing else of schema safety',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may read; several, or several times']],
  common: ['json'],
  needs({ account: accounts = [] }) {
    if (accounts.length === 0) throw usageError('which accounts? Name each with --account');
    return OF_ALL;
  },
  async run({ app: { warehouse, accountIds: configured } }, { account: accounts = [] }, [role = '']) {
    return outputOf(role, await grantAccess(warehouse, { role, accounts, configured }));
  },
};

const revoke: Verb = {
  about: 'take accounts away from a role; without --account all of them: then it reads no rows',
  takes: TAKES_ROLE,
  options: [['--account <name...>', 'an account that it may not read any more']],
  common: ['json'],
  needs: () => OF_ALL,
  async run({ app: { warehouse } }, { account: accounts = [] }, [role = '']) {
    return outputOf(role, await revokeAccess(warehouse, { role, accounts }));
  },
};

export const access: Verb = {
  about: 'show roles that are confined to accounts (row-level security), and where they see more',
  common: ['json'],
  verbs: { grant, revoke },
  async run({ app, terminal }) {
    const { unsupported, confined, problems } = await readAccess(app.connection);
    const roles = confined.map(({ role, accounts }) => ({ role, accounts }));
    const table = renderRows(terminal, roles, {
      role: ({ role }) => role,
      'accounts that it reads': ({ accounts }) => accounts.join(', '),
    });
    const others = '\nEvery other role, as safety_reader, sees all accounts.';
    const none =
      unsupported === null
        ? 'No role is confined. To confine one: safety-sync access grant ROLE --account NAME'
        : `No role can be confined here: ${unsupported}.`;
    return {
      json: { unsupported, roles, problems },
      lines: roles.length === 0 ? [none] : [table, others, ...problems.map(terminal.colors.red)],
      code: problems.length === 0 ? EXIT.ok : EXIT.failed,
    };
  },
};
