/** Changes of the source: regular ones of the service, and some irregular ones. */
import type { RecordTable, Sandbox } from '../../src/sandbox/index.ts';
import { HOUR_MS } from '../../src/shared/time.ts';
import { SPECIMENS } from '../support/specimens.ts';
import type { Change } from './step.ts';

export interface Source {
  readonly sandbox: Sandbox;
  /** By the service's clock. */
  now(): number;
  /** `stream/key` of deleted records, which can come back. */
  readonly deleted: Map<string, object>;
  /** `stream/key` of all records ever deleted. */
  readonly everDeleted: Set<string>;
  /** The number of type changes of equipment since the run began. */
  readonly movesInRun: Map<string, number>;
  made: number;
}

function pick(table: RecordTable<object>, at: number): string | undefined {
  return [...table.keys()][at % Math.max(1, table.size)];
}

export function makeChange(source: Source, change: Change): void {
  source.made += 1;
  const { store, equipmentTypes, live } = source.sandbox;
  switch (change.kind) {
    case 'live':
      live.step(change.changes);
      return;
    case 'move-equipment': {
      const key = pick(store.equipment, change.at);
      if (key === undefined) return;
      store.equipment.update(key, { equipmentType_id: equipmentTypes[change.at % equipmentTypes.length] });
      source.movesInRun.set(key, (source.movesInRun.get(key) ?? 0) + 1);
      return;
    }
    case 'followup':
      changeFollowup(source, change.action, change.at);
      return;
    case 'change':
      changeRecord(source, change);
  }
}

function changeFollowup(source: Source, action: string, at: number): void {
  const { followups } = source.sandbox.store;
  const key = pick(followups, at) ?? '';
  const record = followups.get(key);
  if (record === undefined) return;
  const now = source.now();
  const made = { ...SPECIMENS.followups.build(`made-${source.made}`), updated_on: now };
  switch (action) {
    case 'late':
      followups.put({ ...made, created_on: now - (at + 1) * HOUR_MS });
      return;
    case 'tie-created':
      followups.put({ ...made, created_on: record.created_on });
      return;
    case 'tie-updated': {
      const times = [...followups.values()].map((one) => one.updated_on).filter((ms) => ms <= now);
      followups.update(key, { updated_on: Math.max(...times), m_assignee_id: `tie-${source.made}` });
      return;
    }
    case 'future':
      followups.update(key, { updated_on: now + (at % 2 === 0 ? HOUR_MS : 70 * 365 * 24 * HOUR_MS) });
      return;
    case 'reassign':
      followups.update(key, { updated_on: now, m_assignee_id: `user-${at % 9}` });
  }
}

function changeRecord(source: Source, { of, action, at }: Extract<Change, { kind: 'change' }>): void {
  const specimen = SPECIMENS[of];
  const records = specimen.records(source);
  const now = source.now();
  const key = pick(records, at);
  /** The service updates a field of follow-ups with every change. */
  const put = (record: object, as?: string): void =>
    void records.put(of === 'followups' ? { ...record, updated_on: now } : record, as);
  const patch = (fields: object): void => {
    if (key !== undefined) put({ ...records.get(key), ...fields }, key);
  };
  switch (action) {
    case 'add': {
      const built = specimen.build(`${of}-${source.made}`);
      put(of === 'followups' ? { ...built, created_on: now } : built);
      return;
    }
    case 'readd': {
      const gone = [...source.deleted.keys()].filter((name) => name.startsWith(`${of}/`));
      const name = gone[at % Math.max(1, gone.length)];
      if (name === undefined) return;
      put(source.deleted.get(name) ?? {}, name.slice(of.length + 1));
      source.deleted.delete(name);
      return;
    }
    case 'update':
      patch({ [specimen.text.field]: `changed ${source.made}` });
      return;
    case 'delete':
      if (key === undefined) return;
      source.deleted.set(`${of}/${key}`, records.get(key) ?? {});
      source.everDeleted.add(`${of}/${key}`);
      records.delete(key);
      return;
    case 'spoil':
      if (at % 2 === 0) patch({ [specimen.text.field]: `a\0b\ud800${source.made}` });
      else patch({ [specimen.bad.field]: specimen.bad.value });
      return;
    case 'repair':
      patch({ [specimen.bad.field]: specimen.bad.right });
  }
}
