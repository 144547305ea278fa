import type { LiveContext } from './live-context.ts';

export function deleteSomething({ store, random }: LiveContext): void {
  const table = random.pick([
    store.followups,
    store.followups,
    store.resources,
    store.employees,
    store.equipment,
  ]);
  const key = table.anyKey(random);
  if (key !== undefined) table.delete(key);
}
