/** Changes of the source: regular ones of the service, and some irregular ones. */
import type { RecordTable, Sandbox } from '../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { SPECIMENS } from '../support/specimens.ts';
import type { Change } from './step.ts';

export interface Source {
  readonly sandbox: Sandbox;
  /** By the service's clock. */
  now(): number;
  /** Deleted records, which can come back. */
  readonly deleted: Map<string, object>;
  /** The newest `updated_on` that was ever correct: no watermark is later. */
  newestUpdate: number;
  made: number;
  /** `stream/key` of all records ever deleted: a cached list may still lack them. */
  readonly everDeleted: Set<string>;
  /** `stream/key` of records deleted since the run began, and the number of type changes of equipment. */
  readonly deletedInRun: Set<string>;
  readonly movesInRun: Map<string, number>;
}

export function recordNewestUpdate(source: Source): void {
  for (const { updated_on } of source.sandbox.store.followups.values()) {
    if (typeof updated_on === 'number' && updated_on <= source.now() && updated_on > source.newestUpdate) {
      source.newestUpdate = updated_on;
    }
  }
}

export function makeChange(source: Source, change: Change): void {
  recordNewestUpdate(source);
  source.made += 1;
  const { store } = source.sandbox;
  switch (change.kind) {
    case 'live':
      source.sandbox.live.step(change.changes);
      return;
    case 'recalculate':
      store.recalculateTraining(source.now() - change.backMinutes * MINUTE_MS);
      return;
    case 'move-equipment': {
      const key = pick(store.equipment, change.at);
      const type = source.sandbox.equipmentTypes[change.at % source.sandbox.equipmentTypes.length];
      if (key === undefined) return;
      store.equipment.update(key, { equipmentType_id: type });
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

function pick(table: RecordTable<object>, at: number): string | undefined {
  return [...table.keys()][at % Math.max(1, table.size)];
}

function changeFollowup(source: Source, action: string, at: number): void {
  const { followups } = source.sandbox.store;
  const key = pick(followups, at);
  const record = key === undefined ? undefined : followups.get(key);
  if (key === undefined || record === undefined) return;
  const now = source.now();
  const made = { ...SPECIMENS.followups.build(`made-${source.made}`), updated_on: now };
  switch (action) {
    case 'late':
      followups.put({ ...made, created_on: now - (at + 1) * HOUR_MS });
      return;
    case 'tie-created':
      followups.put({ ...made, created_on: record.created_on });
      return;
    case 'tie-updated':
      followups.update(key, {
        updated_on: Math.min(source.newestUpdate, now),
        m_assignee_id: `tie-${source.made}`,
      });
      return;
    case 'future':
      followups.update(key, { updated_on: now + (at % 2 === 0 ? HOUR_MS : 70 * 365 * 24 * HOUR_MS) });
      return;
    case 'reassign':
      followups.update(key, { updated_on: now, m_assignee_id: `user-${at % 9}` });
  }
}

/** The field that the service updates with every change. */
const stamp = (of: string, now: number): object => (of === 'followups' ? { updated_on: now } : {});

function changeRecord(source: Source, { of, action, at }: Extract<Change, { kind: 'change' }>): void {
  const specimen = SPECIMENS[of];
  const records = specimen.records(source);
  const now = source.now();
  const key = pick(records, at);
  const patch = (fields: object): void => {
    if (key !== undefined) records.put({ ...records.get(key), ...fields, ...stamp(of, now) }, key);
  };
  switch (action) {
    case 'add': {
      const fresh = { ...specimen.build(`${of}-${source.made}`), ...stamp(of, now) };
      records.put(of === 'followups' ? { ...fresh, created_on: now } : fresh);
      return;
    }
    case 'update':
      patch({ [specimen.text.field]: `changed ${source.made}` });
      return;
    case 'delete':
      if (key === undefined) return;
      source.deleted.set(`${of}/${key}`, records.get(key) ?? {});
      records.delete(key);
      source.everDeleted.add(`${of}/${key}`);
      source.deletedInRun.add(`${of}/${key}`);
      return;
    case 'readd': {
      const gone = [...source.deleted.keys()].filter((name) => name.startsWith(`${of}/`));
      const name = gone[at % Math.max(1, gone.length)];
      if (name === undefined) return;
      records.put({ ...source.deleted.get(name), ...stamp(of, now) }, name.slice(of.length + 1));
      source.deleted.delete(name);
      return;
    }
    case 'spoil':
      if (at % 2 === 0) patch({ [specimen.text.field]: `a\0b\ud800${source.made}` });
      else patch({ [specimen.bad.field]: specimen.bad.value });
      return;
    case 'repair':
      patch({ [specimen.bad.field]: specimen.bad.right });
  }
}
