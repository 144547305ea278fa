import {
  ACCOUNT,
  BOOKKEEPING,
  columnsOf,
  type Descriptions,
  keyTo,
  labelOf,
  linkTo,
  localDay,
  type Meanings,
  personKey,
  personName,
} from './description.ts';

const resource_key = keyTo('The document', 'resource_id');

/** @param own The columns that the stream declares. */
export function describeResources(
  own: Readonly<Record<'resources' | 'resource_versions', Meanings>>,
): Descriptions {
  const resources = {
    comment: 'Controlled documents and links (source: resources.list).',
    columns: { ...ACCOUNT, ...own.resources, ...BOOKKEEPING },
  };
  const resource_versions = {
    comment: 'Versions of documents, replaced with their document (source: resources.list, versions).',
    columns: { ...ACCOUNT, ...own.resource_versions },
  };
  /** The columns that views of complete versions show. */
  const shown = {
    ...resource_versions.columns,
    ...columnsOf(resources, 'title', 'category_id', 'sequence', 'should_be_available_offline'),
    creator_name: personName('the creator'),
    category_label: labelOf('the category'),
    created_on: localDay('created_at'),
    approved_on: localDay('approved_at'),
    age_days: 'Days from created_on to today (reporting time zone).',
    resource_key,
    creator_key: personKey('Creator', 'creator_id'),
    record_url: linkTo('the document', 'RESOURCE'),
  };

  return {
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
}
