import { DAY_MS } from '../../shared/time.ts';
import { Random } from '../random.ts';
import type { SandboxSize } from './sandbox-size.ts';
import { fieldOffices, lineOfBusinesses } from './vocabulary.ts';

/** What every generator needs: one seed, one moment, one set of people and places. */
export interface World {
  seed: number;
  /** ms; the moment the data was made, which is the end of its history. */
  now: number;
  /** ms; nothing is older. */
  beginning: number;
  oddities: boolean;
  size: SandboxSize;
  /** Everyone that has an id, accounts first. */
  peopleIds: readonly string[];
  /** Those who observe, assign, complete and inspect. */
  accountIds: readonly string[];
  fieldOfficeIds: readonly string[];
  lineOfBusinessIds: readonly string[];
}

/** One number a generator, so that none of them disturbs another's randomness. */
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
} as const;

const YEARS_OF_HISTORY = 3;

export function buildWorld(options: {
  seed: number;
  now: number;
  size: SandboxSize;
  oddities: boolean;
}): World {
  const { seed, now, size, oddities } = options;
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
    fieldOfficeIds: fieldOffices.map(([id]) => id),
    lineOfBusinessIds: lineOfBusinesses.map(([id]) => id),
  };
}

/** Mostly decimal text; some came from a directory or an import and are not. */
function personId(seed: number, index: number, oddities: boolean): string {
  const random = Random.of(seed, STREAM.users, index, 1);
  const number = 10_001 + index * 7 + random.int(0, 6);
  if (!oddities || index % 13 !== 7) return String(number);
  return index % 2 === 0 ? `usr_${random.alphanumeric(5)}${index}` : `AD-${number}`;
}
