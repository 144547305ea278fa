import { type Descriptions, type Meanings, relation } from './description.ts';

/** @param own The columns that the stream declares. */
export function describeResources(
  own: Readonly<Record<'resources' | 'resource_versions', Meanings>>,
): Descriptions {
  const resources = relation('Controlled documents and links (source: resources.list).', own.resources);
  const resource_versions = relation(
    'Versions of documents, replaced with their document (source: resources.list, versions).',
    own.resource_versions,
  );
  const shown = { age_days: 'Days from created_on to today (reporting time zone).' };
  return {
    resources,
    resource_versions,
    resource_tags: relation('One row for each tag of each live document.', {
      resource_id: 'Document: resources.id.',
      tag: 'The tag. Source: element of tags.',
    }),
    resource_version_overview: relation(
      'Every version of each live document, with the document.',
      shown,
      resource_versions,
      resources,
    ),
    current_resource_versions: relation(
      'The newest version of each live document, with the document.',
      shown,
      resource_versions,
      resources,
    ),
  };
}
