/** Replaces forgotten people wherever a record may name them. Pure. */
import { isPseudonym } from '../../shared/pseudonym.ts';
import type { WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { DEEPEST } from '../../shared/received.ts';
import type { People } from './people.ts';

/**
 * The possible values of a field in addition to texts. `any`: anything, including ids of people as numbers.
 * `measured`: measured numbers, of them only long ones count as ids. `not_people`: numbers and ids of other things.
 */
type ValueKind = 'any' | 'measured' | 'not_people';

/** Each function returns its argument if it names no forgotten person. */
interface PeopleFinder {
  /** Replaces people in a value of that kind, at any depth. */
  readonly in: (value: unknown, kind?: ValueKind) => unknown;
  /** Replaces ids of people in a value that should be one id or a list. */
  readonly ofUsers: (value: unknown) => unknown;
  /** Replaces people in a field that the specification does not name, and in its name. */
  readonly inField: FieldChange;
  /** Of the record of a forgotten person only the key, as the pseudonym; undefined: the person was not forgotten. */
  readonly ofOwn: (record: WireRecord, keyField: string) => WireRecord | undefined;
}

/** The service's names for fields with ids of people. */
const isUserField = (name: string): boolean => /^m_\w*ids?$/.test(name);

/** The only field of a measured value that is in the specification. */
const ITEM_IDS = 'item_ids';

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

const isId = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

export function mapEach(list: readonly unknown[], change: (one: unknown) => unknown): readonly unknown[] {
  const changed = list.map((one) => (one === null ? null : change(one)));
  return changed.every((one, at) => one === list[at]) ? list : changed;
}

/** `people` null: the account has no forgotten people. */
export function createPeopleFinder(people: People | null): PeopleFinder {
  if (people === null) {
    const same = <Value>(value: Value): Value => value;
    return { in: same, ofUsers: same, inField: (value, name) => [name, value], ofOwn: () => undefined };
  }
  const { ofId, ofLongNumber, inText, amongWords } = people;

  function ofUsers(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, ofUsers);
    return isId(value) ? (ofId(String(value)) ?? find(value)) : find(value);
  }

  function ofNumber(value: number, kind: ValueKind): unknown {
    const person = kind === 'any' ? ofId(String(value)) : ofLongNumber(String(value));
    return kind === 'not_people' ? value : (person ?? value);
  }

  function find(value: unknown, kind: ValueKind = 'any', depth = 0): unknown {
    if (depth > DEEPEST) return value;
    if (typeof value === 'string') return kind === 'not_people' ? amongWords(value) : inText(value);
    if (typeof value === 'number') return ofNumber(value, kind);
    if (Array.isArray(value)) return mapEach(value, (one) => find(one, kind, depth + 1));
    if (!isWireRecord(value)) return value;
    const insideOf = (name: string): ValueKind => (kind === 'measured' && name === ITEM_IDS ? kind : 'any');
    return changeFields(value, (inner, name) => inField(inner, name, insideOf(name), depth + 1));
  }

  const inField = (value: unknown, name: string, kind?: ValueKind, depth?: number) =>
    [amongWords(name), isUserField(name) ? ofUsers(value) : find(value, kind, depth)] as const;

  return {
    in: (value, kind) => find(value, kind),
    ofUsers,
    inField: (value, name) => inField(value, name),
    ofOwn(record, keyField) {
      const key = record[keyField];
      const person = isId(key) ? ofId(String(key)) : undefined;
      if (person === undefined) return undefined;
      return changeFields(record, (_, name) => (name === keyField ? [name, person] : null));
    },
  };
}

/** True if the id is that of a forgotten person, because it is then a pseudonym. */
export const isForgotten = (id: unknown): boolean => typeof id === 'string' && isPseudonym(id);
