/** Names of the ids that other records carry, from the lists that the service may have. */

import { describeNames } from '../../dictionary/names.ts';
import { DAY_MS } from '../../shared/time.ts';
import { Received } from '../../shared/received.ts';
import { bookkeeping, safetyTable, idText } from './columns.ts';
import { as, field, meaningsOf, tableColumns } from './fields.ts';
import { listOf, NAMING_LISTS, type Naming, type OptionalListName } from './optional-methods.ts';
import { addColumns, fieldReader } from './read-fields.ts';
import type { RowOf, StreamDefinition, WireRecord } from './stream.ts';
import { identifier, isWireRecord } from './wire.ts';

const nameFields = {
  kind: field('kind', as.key, 'Kind of object: those of labels, and job_title, role, project.'),
  id: field('id', as.key, 'The id as text, also for numeric ids.'),
  name: field('name', as.text, 'Name; in some lists the source calls it title.', 'null where it is blank.'),
  code: field('code', as.text, 'Short name of a field office or line of business, number of a project.'),
  parent_id: field('parent_id', as.identifier, 'Type, data list or folder that it belongs to.'),
  is_active: field('is_active', as.boolean, 'Whether it is in use.', 'null where the list says nothing.'),
};

export const names = safetyTable('names', ['_key'], {
  _key: idText().notNull(),
  ...tableColumns(nameFields),
  ...bookkeeping(),
});

const nameKey = (kind: string, id: string): string => `${kind}:${id}`;

const readName = fieldReader(nameFields, { ignoresOthers: true });
const toId = (value: unknown): string | null => identifier.read(value, () => undefined) || null;

/** A record of a list in the form that is stored: what names it in fields of one name for all lists, beside the others. */
function toNameRecord(kind: string, naming: Naming, item: WireRecord, parentId?: unknown): WireRecord {
  const { name: nameField, code: codeField = 'code', parent: parentField = '' } = naming;
  const [activeField, isActive] = naming.active ?? ['', true];
  const {
    id,
    [nameField]: name,
    [codeField]: code,
    [parentField]: parent,
    [activeField]: active,
    ...others
  } = item;
  const key = toId(id);
  return {
    ...others,
    ...(key !== null && { _key: nameKey(kind, key) }),
    ...{ kind, id, name, code, parent_id: parentId ?? parent },
    // A list may show what is deleted, as that of projects does.
    is_active: typeof active === 'boolean' ? active === isActive && others['deleted'] !== true : undefined,
  };
}

/** Makes of the records of a list the records of this stream. Those inside of a record come after it, and leave it their ids. */
export function toNameRecords(
  method: OptionalListName,
  list: readonly Received[],
  parentId?: unknown,
): Received[] {
  const { names: namings = {}, inner = {} } = listOf(method);
  const [[kind, naming] = ['', { name: 'name' } as Naming]] = Object.entries(namings);
  return list.flatMap((received) => {
    const item = received.parse();
    if (!isWireRecord(item)) return [received];
    const found: WireRecord[] = [];
    const outer = { ...toNameRecord(kind, naming, item, parentId) };
    for (const [fieldName, innerKind] of Object.entries(inner)) {
      const items = item[fieldName];
      if (!Array.isArray(items)) continue;
      const own = namings[innerKind] ?? naming;
      const records = items.filter(isWireRecord);
      found.push(...records.map((one) => toNameRecord(innerKind, own, one, item['id'])));
      outer[fieldName] = records.map((one) => ({ ...one, [own.name]: undefined }));
    }
    return [outer, ...found].map((record) => Received.of(record));
  });
}

export const namesStream: StreamDefinition = {
  name: 'names',
  contents: 'names of ids',
  descriptions: describeNames(meaningsOf(nameFields)),
  method: 'forms.list',
  responseKey: 'forms',
  readMode: { kind: 'names', lists: NAMING_LISTS },
  optionalMethods: NAMING_LISTS,
  staleAfterMs: 2 * DAY_MS,
  keyField: '_key',
  parent: names,
  fields: nameFields,
  children: [],
  histories: [],
  normalizerVersion: 2,
  toRows(record, _context, addIssue) {
    const fields = readName(record, addIssue);
    const parent: RowOf<typeof names> = addColumns(fields, {
      _key: nameKey(fields.kind, fields.id),
      // A blank one names nothing: views show the id then.
      name: fields.name?.trim() ? fields.name : null,
    });
    return { parent, children: [] };
  },
};
