/** Controlled documents and their versions (specification: resources.list). */
import { boolean, index, integer } from 'drizzle-orm/pg-core';
import { describeResources } from '../../dictionary/resources.ts';
import { bookkeeping, safetyTable, idText } from './columns.ts';
import { as, column, field, itemsOf, meaningsOf, childOf, tableColumns } from './fields.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import { addColumns, fieldReader, oldestFirst } from './read-fields.ts';

const resourceFields = {
  id: field('id', as.key, 'Identifier of the document.'),
  title: field('title', as.text, 'Title.'),
  created_at: field('created', as.instant, 'When the document was created.'),
  sequence: field('sequence', as.bigint, 'Ordinal number of the document.'),
  category_id: field('category_id', as.identifier, 'Category of the document.'),
  tags: field('tags', as.texts, 'Tags in the order of the source; one row each in resource_tags.'),
  should_be_available_offline: field('shouldBeAvailableOffline', as.boolean, 'Kept by devices.'),
};

export const resources = safetyTable('resources', ['id'], {
  ...tableColumns(resourceFields),
  ...bookkeeping(),
});

const versionFields = {
  created_at: field('created', as.instant, 'When the version was created.'),
  approved_at: field('approvedOn', as.instant, 'When the version was approved.'),
  creator_id: field('creator_id', as.userId, 'Creator of the version: users.id.'),
  version: field('version', as.text, 'Label of the version.'),
  description: field('description', as.text, 'Description of the changes in the version.'),
  type: field('type', as.oneOf('file', 'link'), 'Kind: file or link, others are kept as they come.'),
  file: field('file', as.text, 'Storage key of the uploaded file.', 'null for links.'),
  size: field('size', as.bigint, 'Size of the file in bytes.', 'null for links.'),
  link: field('link', as.text, 'URL of a link; empty for files.'),
};

const versionColumns = {
  resource_id: column(() => idText().notNull(), 'Document: resources.id.'),
  ordinal: column(() => integer().notNull(), 'Place in the sequence of versions, 1 = oldest.'),
  is_current: column(() => boolean().notNull(), 'True on the newest version of the document.'),
  ...versionFields,
};

export const resourceVersions = safetyTable(
  'resource_versions',
  ['resource_id', 'ordinal'],
  tableColumns(versionColumns),
  (t) => [
    childOf(resources, [t.account_id, t.resource_id], 'resource_versions_resource_fk'),
    index('resource_versions_creator_idx').on(t.creator_id),
  ],
);

const recordFields = { ...resourceFields, versions: itemsOf(resourceVersions, versionFields) };

const readRecord = fieldReader(recordFields);
const readVersion = fieldReader(versionFields);

export const resourcesStream: StreamDefinition = {
  name: 'resources',
  contents: 'documents',
  descriptions: describeResources({
    resources: meaningsOf(resourceFields),
    resource_versions: meaningsOf(versionColumns),
  }),
  method: 'resources.list',
  responseKey: 'resources',
  readMode: { kind: 'snapshot' },
  keyField: 'id',
  parent: resources,
  fields: recordFields,
  children: [resourceVersions],
  histories: [],
  normalizerVersion: 1,
  toRows(record, _context, addIssue) {
    const parent = readRecord(record, addIssue);
    const versions = (parent.versions ?? []).map(({ record: version, index }) =>
      readVersion(version, addIssue, `versions[${index}].`),
    );
    // The sample shows newest first, but the specification does not promise it.
    const sorted = oldestFirst(versions.toReversed(), (version) => version.created_at);
    const rows = sorted.map((version, position, all): RowOf<typeof resourceVersions> =>
      addColumns(version, {
        resource_id: parent.id,
        ordinal: position + 1,
        is_current: position === all.length - 1,
      }),
    );
    return { parent, children: [rows] };
  },
};
