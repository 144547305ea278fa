import { DAY_MS } from '../../shared/time.ts';
import { hashText, Random } from '../random.ts';
import type { Equipment, Metavalue, Schedule } from '../records.ts';
import { type EquipmentType, equipmentTypes, type Metafield } from './equipment-types.ts';
import { clients, dataLists, fieldOffices, lineOfBusinesses, oddTexts, projects } from './vocabulary.ts';
import { STREAM, type World } from './world.ts';

const itemIds = new Map(dataLists.map(([list, , items]) => [list, items.map(([id]) => id)]));
const clientIds = clients.map(([id]) => id);
const fieldOfficeIds = fieldOffices.map(([id]) => id);
const lineOfBusinessIds = lineOfBusinesses.map(([id]) => id);

export function* buildEquipment(world: World): Generator<Equipment> {
  const lastOfType = new Map<string, string>();
  for (let index = 0; index < world.size.equipment; index += 1) {
    const random = Random.of(world.seed, STREAM.equipment, index);
    const type = equipmentTypes[index % equipmentTypes.length];
    if (type === undefined) return;
    const parent = random.chance(0.15) ? lastOfType.get(type.id) : undefined;
    const equipment = buildOneEquipment({ id: String(55_000 + index * 3), type, random, world, parent });
    if (parent === undefined) lastOfType.set(type.id, equipment.id);
    yield equipment;
  }
}

export function buildOneEquipment(about: {
  id: string;
  type: EquipmentType;
  random: Random;
  world: World;
  parent: string | undefined;
}): Equipment {
  const { id, type, random, world } = about;
  const created = Math.floor(world.beginning + random.next() * (world.now - world.beginning) * 0.98);
  const isOdd = (probability: number): boolean => world.oddities && random.chance(probability);
  const equipment: Equipment = {
    id,
    serialNumber: isOdd(0.03) ? `SN "${id}"/ß` : `${type.serialPrefix}-${id}-${random.int(100, 999)}`,
    equipmentType_id: type.id,
    created,
    ...(about.parent !== undefined && { parent_id: about.parent }),
    fieldOffice_id: isOdd(0.04) ? [] : random.sample(fieldOfficeIds, random.chance(0.85) ? 1 : 2),
    lineOfBusiness_id: random.pick(lineOfBusinessIds),
    assignedUsers_id: random.chance(0.5) ? [] : random.sample(world.accountIds, random.int(1, 2)),
    notes: isOdd(0.05) ? random.pick(oddTexts) : random.chance(0.6) ? '' : random.pick(type.notes),
    isInService: !random.chance(0.12),
    projects: projects
      .filter(([number]) => hashText(`${id} ${number}`) % 20 === 0)
      .map(([number, name]) => ({ id: number, name })),
    metavalues: buildMetavalues(type.metafields, random, world),
  };
  const [assigned] = equipment.assignedUsers_id;
  if (assigned !== undefined) equipment.assignedUser_id = assigned;
  if (random.chance(0.7)) {
    equipment.clients_id = random.sample(clientIds, random.int(world.oddities ? 0 : 1, 2));
  }
  if (random.chance(0.8)) equipment.title = `${type.name} ${random.int(1, 99)}`;
  if (!isOdd(0.03)) {
    equipment.status = 'uptodate';
    equipment.schedules = type.schedules.map((schedule) => {
      const from = Math.max(created, world.now - schedule.everyDays * DAY_MS * 1.05);
      return buildSchedule(schedule, random, from, world.now);
    });
  }
  return equipment;
}

type Inspection = Pick<EquipmentType['schedules'][number], 'id' | 'everyDays' | 'noticeDays'>;

function buildSchedule(schedule: Inspection, random: Random, from: number, now: number): Schedule {
  if (random.chance(0.06)) {
    return { ...inspectedAt(schedule, 0), expiresOn: null, expiringOn: null, lastCompletedOn: null };
  }
  return inspectedAt(schedule, Math.floor(from + random.next() * (now - from)));
}

export function inspectedAt(schedule: Inspection, at: number): Schedule {
  const expiresOn = at + schedule.everyDays * DAY_MS;
  return {
    schedule_id: schedule.id,
    status: 'uptodate',
    expiresOn,
    expiringOn: expiresOn - schedule.noticeDays * DAY_MS,
    lastCompletedOn: at,
  };
}

function buildMetavalues(
  metafields: readonly Metafield[],
  random: Random,
  world: World,
): Record<string, Metavalue> {
  const metavalues: Record<string, Metavalue> = {};
  if (world.oddities && random.chance(0.05)) return metavalues;
  for (const field of metafields) {
    if (random.chance(0.2)) continue;
    if (field.kind === 'number') {
      const steps = Math.floor((field.max - field.min) / field.step);
      metavalues[field.id] = field.min + random.int(0, steps) * field.step;
    } else if (field.kind === 'text') {
      metavalues[field.id] = random.pick(world.oddities && random.chance(0.06) ? oddTexts : field.texts);
    } else {
      metavalues[field.id] = { item_ids: random.sample(itemIds.get(field.list) ?? [], random.int(0, 3)) };
    }
  }
  return metavalues;
}
