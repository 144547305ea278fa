import {
  ACCOUNT,
  BOOKKEEPING,
  columnsOf,
  type Descriptions,
  keyTo,
  labelOf,
  localDay,
  personKey,
  personName,
} from './description.ts';

const resource_key = keyTo('The document', 'resource_id');

const resources = {
  comment: 'Controlled documents and links (source: resources.list).',
  columns: {
    ...ACCOUNT,
    id: 'Identifier of the document. Source: id.',
    title: 'Title. Source: title; null when not sent.',
    created_at: 'When the document was created. Source: created (ms); null when not sent.',
    sequence: 'Ordinal number of the document. Source: sequence; null when not sent.',
    category_id: 'Category of the document. Source: category_id; null when not sent.',
    tags: 'Tags in the order of the source; one row each in resource_tags. Source: tags; null when not sent.',
    should_be_available_offline:
      'Whether devices keep the document for use offline. Source: shouldBeAvailableOffline; null when not sent.',
    ...BOOKKEEPING,
  },
};

const resource_versions = {
  comment: 'Versions of documents, replaced with their document (source: resources.list, versions).',
  columns: {
    ...ACCOUNT,
    resource_id: 'Document: resources.id.',
    ordinal: 'Place in the sequence of versions, 1 = oldest.',
    is_current: 'True on the newest version of the document.',
    created_at: 'When the version was created. Source: created (ms); null when not sent.',
    approved_at: 'When the version was approved. Source: approvedOn (ms); null when not sent.',
    creator_id: 'Who created the version: users.id. Source: creator_id; null when not sent.',
    version: 'Label of the version. Source: version; null when not sent.',
    description: 'What changed in the version. Source: description; null when not sent.',
    type: 'Kind: file or link, others are kept as they come. Source: type; null when not sent.',
    file: 'Storage key of the uploaded file. Source: file; null for links.',
    link: 'URL of a link; empty for files. Source: link; null when not sent.',
  },
};

/** What views of whole versions show. */
const shown = {
  ...resource_versions.columns,
  ...columnsOf(resources, 'title', 'category_id', 'sequence', 'should_be_available_offline'),
  creator_name: personName('who created the version'),
  category_label: labelOf('the category'),
  created_on: localDay('created_at'),
  approved_on: localDay('approved_at'),
  age_days: 'Days from created_on to today (reporting time zone).',
  resource_key,
  creator_key: personKey('Who created the version', 'creator_id'),
};

export const RESOURCES: Descriptions = {
  resources,
  resource_versions,
  resource_tags: {
    comment: 'One row for each tag of each live document.',
    columns: {
      ...ACCOUNT,
      resource_id: 'Document: resources.id.',
      tag: 'The tag. Source: element of tags.',
      resource_key,
    },
  },
  resource_version_overview: {
    comment: 'Every version of each live document, with the document.',
    columns: shown,
  },
  current_resource_versions: {
    comment: 'The newest version of each live document, with the document.',
    columns: Object.fromEntries(Object.entries(shown).filter(([name]) => name !== 'is_current')),
  },
};
