import { buildOneEquipment, inspectedAt } from '../generate/equipment.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { buildResource, buildVersion } from '../generate/resources.ts';
import type { Equipment, Schedule } from '../records.ts';
import { isListOfObjects } from '../store/status-rules.ts';
import { freshId, type LiveContext } from './live-context.ts';

export function changeEquipment(context: LiveContext): void {
  const { store, random, now } = context;
  const roll = random.next();
  if (roll < 0.06) {
    buyEquipment(context);
    return;
  }
  const found = store.equipment.any(random);
  // Planted records may lack their lists; they are skipped.
  if (found === undefined || !isListOfObjects(found[1].schedules)) return;
  const [key, equipment] = found;
  if (roll < 0.18) {
    store.equipment.update(key, { isInService: !equipment.isInService });
  } else if (roll < 0.6) {
    replaceSchedule(context, key, equipment, (schedule) => {
      const known = equipmentTypes
        .flatMap((type) => type.schedules)
        .find((candidate) => candidate.id === schedule.schedule_id);
      return inspectedAt(known ?? { id: schedule.schedule_id, everyDays: 90, noticeDays: 7 }, now);
    });
  } else if (roll < 0.85) {
    replaceSchedule(context, key, equipment, (schedule) => ({
      ...schedule,
      expiringOn: now - 1,
      expiresOn: random.chance(0.5) ? now : now + 1_000 * random.int(1, 3600),
    }));
  } else {
    store.equipment.update(key, {
      assignedUsers_id: random.sample(context.world.accountIds, random.int(0, 2)),
    });
  }
}

function replaceSchedule(
  { store, random }: LiveContext,
  key: string,
  equipment: Equipment,
  change: (schedule: Schedule) => Schedule,
): void {
  const { schedules = [] } = equipment;
  if (schedules.length === 0) return;
  const chosen = random.pick(schedules);
  store.equipment.update(key, {
    schedules: schedules.map((schedule) => (schedule === chosen ? change(schedule) : schedule)),
  });
}

function buyEquipment({ world, store, random, now }: LiveContext): void {
  const id = freshId(700_000 + random.int(0, 99_999), store.equipment);
  const type = random.pick(equipmentTypes);
  store.equipment.putLiving({
    ...buildOneEquipment({ id, type, random, world, parent: undefined }),
    created: now,
    schedules: type.schedules.map((schedule) => inspectedAt(schedule, now)),
  });
}

export function changeResource({ world, store, random, now }: LiveContext): void {
  const found = store.resources.any(random);
  if (found === undefined || random.chance(0.15)) {
    let index = store.resources.size;
    while (store.resources.has(String(2_000 + index))) index += 1;
    const added = buildResource(index, world);
    const version = buildVersion({ resourceId: added.id, number: 1, isLink: false, at: now, random, world });
    store.resources.putLiving({ ...added, created: now, versions: [{ ...version, approvedOn: now }] });
    return;
  }
  const [key, resource] = found;
  // Planted records may have no list of versions.
  const versions = Array.isArray(resource.versions) ? resource.versions : [];
  const number = versions.length + 1;
  const isLink = random.chance(0.2);
  const version = buildVersion({ resourceId: key, number, isLink, at: now, random, world });
  store.resources.update(key, { versions: [{ ...version, approvedOn: now }, ...versions] });
}
