import { DAY_MS } from '../../shared/time.ts';
import { Random } from '../random.ts';

/** Numbers of records of each kind. */
export interface SandboxSize {
  followups: number;
  employees: number;
  equipment: number;
  resources: number;
  /** Accounts that observe, assign and complete. `users.info` also returns the other employees. */
  users: number;
}

export const defaultSize: SandboxSize = {
  followups: 2000,
  employees: 300,
  equipment: 400,
  resources: 150,
  users: 120,
};

/** Shared data of the generators: one seed, one moment, one set of people and sites. */
export interface World {
  seed: number;
  /** Time of generation in ms: the end of the history. */
  now: number;
  /** Start of the history in ms. */
  beginning: number;
  oddities: boolean;
  size: SandboxSize;
  /** All people with an id, accounts first. */
  peopleIds: readonly string[];
  /** Observers, assigners, assignees and inspectors. */
  accountIds: readonly string[];
}

/** One number per generator, so that the generators' random values are independent. */
export const STREAM = {
  users: 1,
  resources: 2,
  followups: 3,
  responses: 4,
  employees: 5,
  equipment: 6,
  live: 7,
  faults: 8,
  requestIds: 9,
  account: 10,
} as const;

const YEARS_OF_HISTORY = 3;

export function buildWorld({
  seed,
  now,
  size,
  oddities,
}: Pick<World, 'seed' | 'now' | 'size' | 'oddities'>): World {
  const people = Math.max(size.users, size.employees);
  const peopleIds = Array.from({ length: people }, (_, index) => personId(seed, index, oddities));
  return {
    seed,
    now,
    beginning: now - YEARS_OF_HISTORY * 365 * DAY_MS,
    oddities,
    size,
    peopleIds,
    accountIds: size.users > 0 ? peopleIds.slice(0, size.users) : ['10001'],
  };
}

/** Ids are decimal text; with oddities, one in 13 has the form of an id from a directory or an import. */
function personId(seed: number, index: number, oddities: boolean): string {
  const random = Random.of(seed, STREAM.users, index, 1);
  const number = 10_001 + index * 7 + random.int(0, 6);
  if (!oddities || index % 13 !== 7) return String(number);
  return index % 2 === 0 ? `usr_${random.alphanumeric(5)}${index}` : `AD-${number}`;
}
