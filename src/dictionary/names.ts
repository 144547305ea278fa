import { type Descriptions, type Meanings, relation } from './description.ts';

const TYPE = { equipment_type_id: 'Type: equipment_types.id.', name: 'Name.' };

/** @param own The columns that the stream declares. */
export const describeNames = (own: Meanings): Descriptions => ({
  names: relation(
    'Names of ids, from the lists that the service may have (docs/design.md, "Names"). Views show them as …_label where labels has none. A name stays when the source drops it.',
    {
      ...own,
      _key: 'kind:id.',
      _raw: 'The record as received from the service, with the columns above as its fields.',
    },
  ),
  id_labels: relation(
    'What views show as …_label and …_group: every id that has a label, a name or a parent.',
    {
      kind: 'Kind of object that the id identifies.',
      id: 'The id as text.',
      label: 'The label in labels, else the name in names.',
      group_label: 'The label of the parent, or its id; null without a parent.',
    },
  ),
  trainings: relation('Trainings that the service lists (source: trainings.v2.list).', {
    id: 'Training: training_id of other tables.',
    title: 'Title.',
    created_at: 'When it was created.',
    renewal_months: 'Months after which it has to be repeated; null: by other rules, or never.',
    expiring_days: 'Days before its end from which a completion is expiring.',
    schedule_type: 'How its end is determined, as sent.',
    window_opens_on: 'First day of the yearly window for it, MM-DD; null: none.',
    window_closes_on: 'Last day of that window, MM-DD; null: none.',
  }),
  equipment_types: relation('Equipment types that the service lists (source: equipmenttypes.list).', {
    id: 'Type: equipment.equipment_type_id.',
    title: 'Title.',
  }),
  equipment_type_schedules: relation('Inspection schedules of the types that the service lists.', {
    ...TYPE,
    schedule_id: 'Schedule: equipment_schedules.schedule_id.',
    frequency_days: 'Days between two inspections; null: by other rules.',
    expiring_days: 'Days before its end from which an inspection is expiring.',
    form_id: 'Form of the inspection; null: none.',
  }),
  equipment_metafields: relation('Fields of the types that the service lists.', {
    ...TYPE,
    metafield_id: 'Field: equipment_metavalues.metafield_id.',
    type: 'Type of its values, as sent.',
  }),
});
