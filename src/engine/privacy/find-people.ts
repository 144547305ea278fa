/** Replaces forgotten people wherever a record may name them. Pure. */
import type { WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import type { People } from './people.ts';

/** null: the field is removed. */
type FieldChange = (value: unknown, name: string) => readonly [name: string, value: unknown] | null;

/** Returns the record itself if no field changes. */
export function changeFields<Fields extends WireRecord>(record: Fields, change: FieldChange): Fields {
  const before = Object.entries(record);
  const after = before.map(([name, value]) => change(value, name));
  if (after.every((field, at) => field?.[0] === before[at]?.[0] && field?.[1] === before[at]?.[1]))
    return record;
  return Object.fromEntries(after.filter((field) => field !== null)) as Fields;
}

export function mapEach(list: readonly unknown[], change: (one: unknown) => unknown): readonly unknown[] {
  const changed = list.map((one) => (one === null ? null : change(one)));
  return changed.every((one, at) => one === list[at]) ? list : changed;
}

/** The service's names for fields with ids of people. */
const isUserField = (name: string): boolean => /^m_\w*ids?$/.test(name);

const SAME: People = { ofId: () => undefined, inText: (text) => text, amongWords: (text) => text };

/** Each function returns its argument if it names no forgotten person. `people` null: the account has none. */
export function createPeopleFinder(people: People | null) {
  const { ofId, inText, amongWords } = people ?? SAME;

  /** People in a value of any form. `isTyped`: its numbers, and texts of digits, are not ids of people. */
  function find(value: unknown, isTyped = false): unknown {
    if (people === null) return value;
    if (typeof value === 'string') return isTyped ? amongWords(value) : inText(value);
    if (typeof value === 'number') return isTyped ? value : (ofId(String(value)) ?? value);
    if (Array.isArray(value)) return mapEach(value, (one) => find(one, isTyped));
    return isWireRecord(value) ? changeFields(value, (inner, name) => inField(inner, name, isTyped)) : value;
  }

  /** People in a value that should be one id or a list. */
  function ofUsers(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, ofUsers);
    return typeof value === 'string' || typeof value === 'number'
      ? (ofId(String(value)) ?? find(value))
      : find(value);
  }

  /** People in a field that the specification does not name, and in its name. */
  const inField = (value: unknown, name: string, isTyped = false): readonly [string, unknown] => [
    amongWords(name),
    isUserField(name) ? ofUsers(value) : find(value, isTyped),
  ];

  return { find, ofUsers, inField };
}
