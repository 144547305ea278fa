/** Replaces forgotten people wherever a record may name them. Pure. */
import { ExactNumber } from '../../shared/exact-number.ts';
import { isPseudonym } from '../../shared/pseudonym.ts';
import type { WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';
import { DEEPEST } from '../../shared/received.ts';
import type { People } from './people.ts';

/**
 * The possible values of a place of a record in addition to texts. `any`: anything, including ids of people as numbers.
 * `measured`: measured numbers, of them only long ones count as ids. `not_people`: numbers and ids of other things.
 */
type PlaceKind = 'any' | 'measured' | 'not_people';

/** Each function returns its argument if it names no forgotten person. */
interface PeopleFinder {
  /** Replaces people in a value of a place of that kind, at any depth. */
  readonly in: (value: unknown, place?: PlaceKind) => unknown;
  /** Replaces ids of people in a value that should be one id or a list. */
  readonly ofUsers: (value: unknown) => unknown;
  /** Replaces people in the record's fields that are not in `known`. */
  readonly inUnknown: (record: WireRecord, known: ReadonlySet<string>) => WireRecord;
  /** Reduces a person's own record; undefined: the person was not forgotten. */
  readonly ofOwn: (record: WireRecord, keyField: string) => WireRecord | undefined;
}

/** The service's names for fields with ids of people. */
const isUserField = (name: string): boolean => /^m_\w*ids?$/.test(name);

/** The only field of a measured value that is in the specification. */
const ITEM_IDS = 'item_ids';

const isId = (value: unknown): value is string | number | ExactNumber =>
  typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;

export function mapEach(list: readonly unknown[], change: (one: unknown) => unknown): readonly unknown[] {
  const changed = list.map((one) => (one === null ? null : change(one)));
  return changed.every((one, at) => one === list[at]) ? list : changed;
}

/** `people` null: the account has no forgotten people. */
export function createPeopleFinder(people: People | null): PeopleFinder {
  if (people === null) {
    const same = <Value>(value: Value): Value => value;
    return { in: same, ofUsers: same, inUnknown: same, ofOwn: () => undefined };
  }
  const { ofId, ofLongNumber, inText, amongWords } = people;

  function ofUsers(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, ofUsers);
    return isId(value) ? (ofId(String(value)) ?? find(value)) : find(value);
  }

  function ofNumber(value: number | ExactNumber, place: PlaceKind): unknown {
    const person = place === 'any' ? ofId(String(value)) : ofLongNumber(String(value));
    return place === 'not_people' ? value : (person ?? value);
  }

  /** The fields with changed names or values; undefined: none changed. */
  function changedFields(
    record: WireRecord,
    change: (value: unknown, name: string) => readonly [name: string, value: unknown],
  ): WireRecord | undefined {
    const fields = Object.entries(record).map(([name, value]) => change(value, name));
    const isChanged = Object.entries(record).some(
      ([name, value], at) => fields[at]?.[0] !== name || fields[at][1] !== value,
    );
    if (!isChanged) return undefined;
    return Object.fromEntries(fields);
  }

  function find(value: unknown, place: PlaceKind = 'any', depth = 0): unknown {
    if (depth > DEEPEST) return value;
    if (typeof value === 'string') return place === 'not_people' ? amongWords(value) : inText(value);
    if (typeof value === 'number' || value instanceof ExactNumber) return ofNumber(value, place);
    if (Array.isArray(value)) return mapEach(value, (one) => find(one, place, depth + 1));
    if (!isWireRecord(value)) return value;
    const insideOf = (name: string): PlaceKind => (place === 'measured' && name === ITEM_IDS ? place : 'any');
    const changed = changedFields(value, (inner, name) => [
      amongWords(name),
      isUserField(name) ? ofUsers(inner) : find(inner, insideOf(name), depth + 1),
    ]);
    return changed ?? value;
  }

  return {
    in: (value, place) => find(value, place),
    ofUsers,
    inUnknown(record, known) {
      const changed = changedFields(record, (value, name) => {
        if (known.has(name)) return [name, value];
        return [amongWords(name), isUserField(name) ? ofUsers(value) : find(value)];
      });
      return changed ?? record;
    },
    ofOwn(record, keyField) {
      const key = record[keyField];
      const person = isId(key) ? ofId(String(key)) : undefined;
      return person === undefined ? undefined : withoutOwner(record, keyField, person);
    },
  };
}

/** Keeps only the existence of the record, because all of it is about the person. */
function withoutOwner(record: WireRecord, keyField: string, person: string): WireRecord {
  const fields = Object.entries(record);
  const left = fields.flatMap(([name, value]): [string, unknown][] => {
    if (name === keyField || typeof value === 'string') return [[name, person]];
    return value === null ? [[name, null]] : [];
  });
  const isSame = left.length === fields.length && left.every(([name, value]) => record[name] === value);
  return isSame ? record : Object.fromEntries(left);
}

/** True if the id is that of a forgotten person, because it is then a pseudonym. */
export const isForgotten = (id: unknown): boolean => typeof id === 'string' && isPseudonym(id);
