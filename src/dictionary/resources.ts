import {
  BOOKKEEPING,
  columnsOf,
  type Descriptions,
  keyTo,
  labelMeaning,
  linkTo,
  localDays,
  type Meanings,
  person,
  relation,
} from './description.ts';

const resource_key = keyTo('The document', 'resource_id');

/** @param own The columns that the stream declares. */
export function describeResources(
  own: Readonly<Record<'resources' | 'resource_versions', Meanings>>,
): Descriptions {
  const resources = relation('Controlled documents and links (source: resources.list).', {
    ...own.resources,
    ...BOOKKEEPING,
  });
  const resource_versions = relation(
    'Versions of documents, replaced with their document (source: resources.list, versions).',
    { ...own.resource_versions },
  );
  /** The columns that views of complete versions show. */
  const shown = {
    ...resource_versions.columns,
    ...columnsOf(resources, 'title', 'category_id', 'sequence', 'should_be_available_offline'),
    ...person('creator', 'the creator', 'Creator'),
    category_label: labelMeaning('the category'),
    ...localDays('created', 'approved'),
    age_days: 'Days from created_on to today (reporting time zone).',
    resource_key,
    record_url: linkTo('the document', 'RESOURCE'),
  };

  return {
    resources,
    resource_versions,
    resource_tags: relation('One row for each tag of each live document.', {
      resource_id: 'Document: resources.id.',
      tag: 'The tag. Source: element of tags.',
      resource_key,
    }),
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
