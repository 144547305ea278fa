import { hashText } from '../random.ts';
import { RawNumber } from '../raw-number.ts';
import { defaultReadings, type Readings } from './readings.ts';

type Fields = Record<string, unknown>;

/** Text in other fields is no identifier. */
const isIdentifierField = (field: string): boolean => /^id$|_id$/.test(field);

const nullableWhenAbsent: Record<string, readonly string[]> = {
  followup: ['due', 'resolved_on', 'm_completer_id'],
  'followup.messages': ['m_reassignee_id', 'signature', 'attachments', 'notify'],
  equipment: ['clients_id', 'title'],
  'completed-training': ['special_expiration_date_number', 'm_instructor_id', 'group_training_id', 'notes'],
};

const unknownValueOf: Record<string, Fields> = {
  'resource.versions': { type: 'video' },
  employee: { status: 'suspended' },
  equipment: { status: 'quarantined' },
  'equipment.schedules': { status: 'paused' },
};

const DEFAULTS = Object.entries(defaultReadings) as [keyof Readings, unknown][];

/** True when records are sent exactly as stored. Readings of other things than records count too, which only costs time. */
const isPlain = (readings: Readings): boolean => DEFAULTS.every(([name, value]) => readings[name] === value);

/** Converts a record to this reading of the specification. */
export function shapeRecord(kind: string, record: object, readings: Readings): object {
  if (isPlain(readings)) return record;
  const identity = (record as Fields)['id'] ?? (record as Fields)['m_user_id'];
  const isUnknown = readings.unknownValues && hashText(String(identity)) % 5 === 0;
  const isSubType = readings.equipmentOwnType === 'sub-type' && hashText(String(identity)) % 3 === 0;
  return shapeObject(kind, record as Fields, { readings, isUnknown, isSubType });
}

interface Shaping {
  readings: Readings;
  isUnknown: boolean;
  isSubType: boolean;
}

export function extraFieldName(readings: Readings): string {
  return readings.extraFields === 'dotted' ? 'x.extra.field' : 'x_extra';
}

function shapeObject(path: string, fields: Fields, shaping: Shaping): Fields {
  const { readings, isUnknown, isSubType } = shaping;
  const shaped: Fields = {};
  for (const [field, value] of Object.entries(fields)) {
    const isLeftOut = readings.leftOut.includes(field) || readings.leftOut.includes(`${path}.${field}`);
    if (!isLeftOut) shaped[field] = shapeField(path, field, value, shaping);
  }
  if (readings.absent === 'null') {
    for (const field of nullableWhenAbsent[path] ?? []) shaped[field] ??= null;
  }
  if (isUnknown) Object.assign(shaped, unknownValueOf[path]);
  if (isSubType && typeof shaped['equipmentType_id'] === 'string') shaped['equipmentType_id'] += '.1';
  if (readings.extraFields !== false && !/metavalues|signature/.test(path)) {
    shaped[extraFieldName(readings)] = { since: 'later', list: [1, null, 'x'] };
  }
  return shaped;
}

function shapeField(path: string, field: string, value: unknown, shaping: Shaping): unknown {
  const { readings } = shaping;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item: unknown) => shapeField(path, field, item, shaping));
    const isReversed =
      (field === 'versions' && readings.versionOrder === 'oldest-first') ||
      (field === 'messages' && readings.messageOrder === 'newest-first');
    return isReversed ? items.reverse() : items;
  }
  if (value instanceof RawNumber) return value;
  if (typeof value === 'object' && value !== null) {
    return shapeObject(`${path}.${field}`, value as Fields, shaping);
  }
  if (typeof value === 'string' && readings.identifiers === 'numbers' && isIdentifierField(field)) {
    return /^(0|[1-9]\d{0,14})$/.test(value) ? Number(value) : value;
  }
  if (typeof value !== 'number') return value;
  return readings.numbers === 'text' ? String(value) : value;
}
