import { DAY_MS } from '../../shared/time.ts';
import type { Random } from '../random.ts';
import type { User } from '../records.ts';
import {
  clients,
  fieldOffices,
  jobTitles,
  lineOfBusinesses,
  personName,
  projects,
  roles,
} from './vocabulary.ts';
import type { World } from './world.ts';

/** People that one supervisor leads; as many supervisors have one manager. */
const SPAN = 9;

const idsOf = (named: readonly (readonly [id: string | number, ...unknown[]])[]): string[] =>
  named.map(([id]) => String(id));
const officeIds = idsOf(fieldOffices);
const lineIds = idsOf(lineOfBusinesses);
const clientIds = idsOf(clients);
const projectIds = idsOf(projects);
const titleIds = idsOf(jobTitles);
const roleIds = idsOf(roles);

/** `rank`: place in the organisation, 0 for its head. */
export function buildUser(
  id: string,
  rank: number,
  { random, world }: { random: Random; world: World },
): User {
  const { firstname, lastname } = personName(random);
  const { peopleIds, now, beginning } = world;
  const account = `${firstname}.${lastname}.${id}`
    .normalize('NFD')
    .replace(/[^\w.-]/g, '')
    .toLowerCase();
  const hireDate = Math.floor(beginning - random.next() * 3000 * DAY_MS);
  const supervisor = rank === 0 ? undefined : peopleIds[Math.floor((rank - 1) / SPAN)];
  const manager = rank <= SPAN ? undefined : peopleIds[Math.floor((rank - 1 - SPAN) / SPAN ** 2)];
  const isLeader = rank * SPAN < peopleIds.length;
  const isKnown = (probability: number): boolean => !world.oddities || random.chance(probability);
  return {
    created: hireDate + DAY_MS,
    fieldOffice_id: random.sample(officeIds, isKnown(0.97) ? random.pick([1, 1, 1, 1, 2]) : 0),
    lineOfBusiness_id: random.sample(lineIds, random.pick([1, 1, 1, 2])),
    clients_id: random.sample(clientIds, random.pick([0, 0, 1, 2])),
    projects_id: random.sample(projectIds, random.pick([0, 1, 1, 2])),
    firstname,
    lastname,
    employeeNumber: `E${30_000 + rank}`,
    email: `${account}@northline.example`,
    username: account,
    isDriver: random.chance(0.3),
    isRegulatedDriver: random.chance(0.05),
    role_id: isLeader ? random.pick(['1', '2']) : random.pick(roleIds.slice(2)),
    ...(isKnown(0.95) && {
      jobTitle_id: isLeader ? random.pick(['71', '72']) : random.pick(titleIds.slice(2)),
    }),
    ...(supervisor !== undefined && { supervisor_id: supervisor }),
    ...(manager !== undefined && { manager_id: manager }),
    ...(isKnown(0.9) && { hireDate }),
    // A supervisor or manager has not left.
    ...(!isLeader && random.chance(0.07) && { terminationDate: now - random.int(1, 400) * DAY_MS }),
    ...(random.chance(0.6) && { lastWebAccess: now - random.int(0, 90 * DAY_MS) }),
    ...(random.chance(0.7) && { lastMobileAccess: now - random.int(0, 30 * DAY_MS) }),
    ...(random.chance(0.4) && { cellPhone: `+44 7700 ${random.int(900_000, 900_999)}` }),
    ...(random.chance(0.2) && { emergencyContact: Object.values(personName(random)).join(' ') }),
    ...(random.chance(0.1) && { metavalues: { '9001': random.pick(['A', 'B', 'C']) } }),
    ...(rank > 0 && { creator_id: { id: peopleIds[0], firstname: 'Head', lastname: 'Office' } }),
    id,
  };
}
