import { Random } from '../random.ts';
import type { User } from '../records.ts';
import { personName } from './person-names.ts';
import { STREAM } from './world.ts';
import type { World } from './world.ts';

export function* buildUsers(world: World): Generator<User> {
  for (const [index, id] of world.peopleIds.entries()) {
    yield { id, name: personName(Random.of(world.seed, STREAM.users, index, 2)) };
  }
}
