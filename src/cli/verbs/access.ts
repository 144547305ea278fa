import { type Confinement, confinementsIn, readPolicyTables, whyNotConfine } from '../../warehouse/access.ts';
import {
  nameSome,
  type Overreach,
  readOverreach,
  readShutOut,
  readUnsecuredViews,
} from '../../warehouse/access-relations.ts';
import { readUnfit, readWaysOut, type Unfit, type WayOut } from '../../warehouse/access-roles.ts';
import { grantAccess, revokeAccess } from '../../warehouse/change-access.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { usageError } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { EXIT } from '../run-results.ts';
import { renderTable, type Terminal } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface ReaderAccess {
  /** Why no role can be confined here; null: roles can. */
  readonly unsupported: string | null;
  readonly confined: readonly Confinement[];
  /** Views that show more than the tables below them. */
  readonly unsecuredViews: readonly string[];
  readonly unfit: readonly Unfit[];
  readonly overreach: readonly Overreach[];
  readonly waysOut: readonly WayOut[];
  /** Confined roles without the right to read the relations that they should. */
  readonly shutOut: readonly string[];
}

export async function readAccess(connection: Connection): Promise<ReaderAccess> {
  const confined = confinementsIn(await readPolicyTables(connection));
  const unsupported = await whyNotConfine(connection);
  const nothing = { unsecuredViews: [], unfit: [], overreach: [], waysOut: [], shutOut: [] };
  if (confined.length === 0) return { unsupported, confined, ...nothing };
  const roles = confined.map(({ role }) => role);
  return {
    unsupported,
    confined,
    unsecuredViews: (await readUnsecuredViews(connection)).map(({ name }) => name),
    unfit: await readUnfit(connection, roles),
    overreach: await readOverreach(connection, roles),
    waysOut: await readWaysOut(connection, roles),
    shutOut: await readShutOut(connection, roles),
  };
}

const grantCommand = ({ role, accounts }: Confinement): string =>
  `safety-sync access grant ${role}${accounts.map((name) => ` --account ${name}`).join('')}`;

/** Differences from the grants, a sentence each, with the next step. */
export function accessProblems(found: ReaderAccess): string[] {
  const { confined, unsecuredViews, unfit, overreach, waysOut, shutOut } = found;
  const nameOf = ({ role, member }: { readonly role: string; readonly member: string }) =>
    member === role ? member : `${member}, a member of ${role},`;
  return [
    ...confined
      .filter(({ differing }) => differing.length > 0)
      .map((one) => {
        const { role, differing } = one;
        return `${role} is not confined alike in ${formatNumber(differing.length, 'table')} (${nameSome(differing)}); as the owner: ${grantCommand(one)}`;
      }),
    ...confined
      .filter(({ role }) => shutOut.includes(role))
      .map((one) => `${one.role} may not read all of schema safety; as the owner: ${grantCommand(one)}`),
    ...(unsecuredViews.length === 0
      ? []
      : [`${unsecuredViews.join(', ')} show every account; as the owner: safety-sync migrate`]),
    ...unfit.map((one) => `${nameOf(one)} ${one.reason}, and so sees every account; take that right away`),
    ...overreach.map(
      (one) =>
        `${nameOf(one)} may read ${nameSome(one.relations)}, which no policy confines; in psql: revoke select on ${one.relations.join(', ')} from "${one.member}"; (or from the role through which it has the right)`,
    ),
    ...waysOut.map(
      (one) =>
        `${nameOf(one)} can become ${one.other} (set role) and see what that one sees; in psql: revoke "${one.other}" from "${one.member}";`,
    ),
  ];
}

function printAccess(found: ReaderAccess, terminal: Terminal): void {
  const { unsupported, confined } = found;
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
  for (const problem of accessProblems(found)) terminal.print(terminal.colors.red(problem));
}

async function runAccess(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal } = context;
  return await withApp(context, {}, async ({ warehouse }) => {
    const found = await readAccess(warehouse.connection);
    if (options.json) {
      const { unsupported, confined } = found;
      const roles = confined.map(({ role, accounts }) => ({ role, accounts }));
      terminal.print(JSON.stringify({ unsupported, roles, problems: accessProblems(found) }));
    } else printAccess(found, terminal);
    return accessProblems(found).length === 0 ? EXIT.ok : EXIT.failed;
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
