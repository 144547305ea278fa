/** Controlled documents and their versions (specification: resources.list). */
import { boolean, foreignKey, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { RESOURCES } from '../dictionary/resources.ts';
import { accountId, bigintText, bookkeeping, instant, safetySchema } from './columns.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import { msOfInstant } from './time-text.ts';
import * as wire from './wire.ts';
import { as, itemsOf, readFields } from './read-fields.ts';

export const resources = safetySchema.table(
  'resources',
  {
    account_id: accountId(),
    id: text().notNull(),
    title: text(),
    created_at: instant(),
    sequence: bigintText(),
    category_id: text(),
    tags: text().array(),
    should_be_available_offline: boolean(),
    ...bookkeeping(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.id] })],
);

export const resourceVersions = safetySchema.table(
  'resource_versions',
  {
    account_id: accountId(),
    resource_id: text().notNull(),
    ordinal: integer().notNull(),
    is_current: boolean().notNull(),
    created_at: instant(),
    approved_at: instant(),
    creator_id: text(),
    version: text(),
    description: text(),
    type: text(),
    file: text(),
    link: text(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.resource_id, t.ordinal] }),
    foreignKey({
      name: 'resource_versions_resource_fk',
      columns: [t.account_id, t.resource_id],
      foreignColumns: [resources.account_id, resources.id],
    }).onDelete('cascade'),
    index('resource_versions_creator_idx').on(t.creator_id),
  ],
);

const versionFields = {
  creator_id: wire.identifier,
  created: as('created_at', wire.instant),
  approvedOn: as('approved_at', wire.instant),
  version: wire.text,
  description: wire.text,
  type: wire.oneOf(['file', 'link']),
  file: wire.text,
  link: wire.text,
};

const resourceFields = {
  id: wire.key,
  title: wire.text,
  created: as('created_at', wire.instant),
  sequence: wire.bigint,
  category_id: wire.identifier,
  tags: wire.list(wire.text),
  shouldBeAvailableOffline: as('should_be_available_offline', wire.boolean),
  versions: itemsOf(resourceVersions, versionFields),
};

/**
 * Oldest first. The sample shows newest first, which nothing promises: the time of creation decides where every version
 * tells one, the position in the list otherwise and in ties.
 */
function oldestFirst<T extends { readonly created_at: string | null; readonly index: number }>(
  versions: T[],
): T[] {
  const dated = versions.every((version) => version.created_at !== null);
  return versions.toSorted((a, b) => {
    const byTime = dated ? msOfInstant(a.created_at ?? '') - msOfInstant(b.created_at ?? '') : 0;
    return byTime === 0 ? b.index - a.index : byTime;
  });
}

export const resourcesStream: StreamDefinition = {
  name: 'resources',
  contents: 'documents',
  descriptions: RESOURCES,
  method: 'resources.list',
  responseKey: 'resources',
  readMode: { kind: 'snapshot', per: 'account' },
  keyField: 'id',
  keyColumn: 'id',
  parent: resources,
  fields: resourceFields,
  children: [resourceVersions],
  versionColumn: null,
  contextColumns: [],
  histories: [],
  identityFields: ['created', 'sequence'],
  userIdColumns: [{ table: resourceVersions, column: 'creator_id' }],
  version: 1,
  toRows(record, _context, report) {
    const fields = readFields(resourceFields, record, { report });
    const id = fields.id ?? '';
    const versions = (fields.versions ?? []).map(({ record: version, index: position }) => ({
      ...readFields(versionFields, version, { report, at: `versions[${position}]` }),
      index: position,
    }));
    const parent: RowOf<typeof resources> = {
      id,
      title: fields.title,
      created_at: fields.created_at,
      sequence: fields.sequence,
      category_id: fields.category_id,
      tags: fields.tags,
      should_be_available_offline: fields.should_be_available_offline,
    };
    const rows = oldestFirst(versions).map((version, position, all): RowOf<typeof resourceVersions> => ({
      resource_id: id,
      ordinal: position + 1,
      is_current: position === all.length - 1,
      created_at: version.created_at,
      approved_at: version.approved_at,
      creator_id: version.creator_id,
      version: version.version,
      description: version.description,
      type: version.type,
      file: version.file,
      link: version.link,
    }));
    return { parent, children: [rows] };
  },
};
