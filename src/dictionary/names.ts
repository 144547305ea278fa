import {
  BOOKKEEPING,
  type Descriptions,
  groupMeaning,
  keyTo,
  labelMeaning,
  localDays,
  type Meanings,
  relation,
} from './description.ts';

const TYPE = {
  equipment_type_id: 'Type: equipment_types.id.',
  equipment_type_label: labelMeaning('the type'),
};

/** @param own The columns that the stream declares. */
export const describeNames = (own: Meanings): Descriptions => ({
  names: relation(
    'Names of ids, from the lists that the service may have (docs/design.md, "Names"). Views show them as …_label where labels has none. A name stays when the source drops it.',
    {
      _key: 'kind:id.',
      ...own,
      ...BOOKKEEPING,
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
    ...localDays('created'),
    renewal_months: 'Months after which it has to be repeated; null: by other rules, or never.',
    expiring_days: 'Days before its end from which a completion is expiring.',
    schedule_type: 'How its end is determined, as sent.',
    window_opens_on: 'First day of the yearly window for it, MM-DD; null: none.',
    window_closes_on: 'Last day of that window, MM-DD; null: none.',
    training_key: keyTo('The training', 'id'),
  }),
  equipment_types: relation('Equipment types that the service lists (source: equipmenttypes.list).', {
    id: 'Type: equipment.equipment_type_id.',
    title: 'Title.',
  }),
  equipment_type_schedules: relation('Inspection schedules of the types that the service lists.', {
    ...TYPE,
    schedule_id: 'Schedule: equipment_schedules.schedule_id.',
    name: 'Name.',
    schedule_label: labelMeaning('the schedule'),
    frequency_days: 'Days between two inspections; null: by other rules.',
    expiring_days: 'Days before its end from which an inspection is expiring.',
    form_id: 'Form of the inspection; null: none.',
    form_label: labelMeaning('the form'),
    form_group: groupMeaning('the form'),
    form_key: keyTo('The form', 'form_id'),
    schedule_key: keyTo('The schedule', 'schedule_id'),
  }),
  equipment_metafields: relation('Fields of the types that the service lists.', {
    ...TYPE,
    metafield_id: 'Field: equipment_metavalues.metafield_id.',
    name: 'Name.',
    metafield_label: labelMeaning('the field'),
    type: 'Type of its values, as sent.',
  }),
});
