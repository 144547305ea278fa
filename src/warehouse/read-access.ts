/** Roles that are confined to accounts, and what differs from their grants. */
import type { Connection } from '../engine/database/connection.ts';
import { formatNumber, nameSome } from '../shared/format.ts';
import { type Confinement, confinementsIn, readPolicyTables, whyNotConfine } from './access.ts';
import { NAMED_RELATIONS, readMissingGrants, readUnsecuredViews } from './access-relations.ts';
import { readFaults } from './access-roles.ts';

export type ReaderAccess = Awaited<ReturnType<typeof readAccess>>;

const grantCommand = ({ role, accounts }: Confinement): string =>
  `safety-sync access grant ${role}${accounts.map((name) => ` --account ${name}`).join('')}`;

/** A sentence each, with the next step. */
async function readProblems(connection: Connection, confined: readonly Confinement[]): Promise<string[]> {
  const roles = confined.map(({ role }) => role);
  const unsecured = await readUnsecuredViews(connection);
  const faults = await readFaults(connection, roles);
  const shutOut: string[] = [];
  for (const role of roles) if ((await readMissingGrants(connection, role)).length > 0) shutOut.push(role);
  return [
    ...confined
      .filter(({ differing }) => differing.length > 0)
      .map((one) => {
        const { role, differing } = one;
        return `${role} is not confined alike in ${formatNumber(differing.length, 'table')} (${nameSome(differing, NAMED_RELATIONS)}); as the owner: ${grantCommand(one)}`;
      }),
    ...confined
      .filter(({ role }) => shutOut.includes(role))
      .map((one) => `${one.role} may not read all of schema safety; as the owner: ${grantCommand(one)}`),
    ...(unsecured.length === 0
      ? []
      : [
          `${unsecured.map(({ name }) => name).join(', ')} show every account; as the owner: safety-sync migrate`,
        ]),
    ...faults.map(({ role, member, problem, remedy }) => {
      const name = member === role ? member : `${member}, a member of ${role},`;
      return `${name} ${problem}; ${remedy}`;
    }),
  ];
}

export async function readAccess(connection: Connection) {
  const confined = confinementsIn(await readPolicyTables(connection));
  /** Why no role can be confined here; null: roles can. */
  const unsupported = await whyNotConfine(connection);
  const problems = confined.length === 0 ? [] : await readProblems(connection, confined);
  return { unsupported, confined, problems };
}
