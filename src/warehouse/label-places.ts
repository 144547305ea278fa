/** Columns with ids of each kind. Coverage and template are derived from this list. */
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { LabelKind } from './labels.ts';
import { equipment, equipmentMetavalues, equipmentSchedules } from '../engine/streams/equipments.ts';
import { followups } from '../engine/streams/followups.ts';
import { resources } from '../engine/streams/resources.ts';
import { trainingCompletions, trainingEmployeeStatus } from '../engine/streams/training-employee-status.ts';

export interface IdColumn {
  /** A column with an id of the kind, or with a list of ids. */
  readonly column: PgColumn;
  /** A column of that table: identifies the record, so that several ids in one record count once. */
  readonly record: PgColumn;
  /** For child tables: the foreign key of the parent row, which shows whether the record is live. */
  readonly parent?: PgColumn;
}

const { complete_training_ids: complete, incomplete_training_ids: incomplete } = trainingEmployeeStatus;
const employee = trainingEmployeeStatus.user_id;

export const ID_COLUMNS: Readonly<Record<LabelKind, readonly IdColumn[]>> = {
  form: [{ column: followups.form_id, record: followups.id }],
  training: [
    { column: complete, record: employee },
    { column: incomplete, record: employee },
    { column: trainingCompletions.training_id, record: trainingCompletions.user_id, parent: employee },
  ],
  equipment_type: [{ column: equipment.equipment_type_id, record: equipment.id }],
  schedule: [
    {
      column: equipmentSchedules.schedule_id,
      record: equipmentSchedules.equipment_id,
      parent: equipment.id,
    },
  ],
  category: [{ column: resources.category_id, record: resources.id }],
  field_office: [{ column: equipment.field_office_ids, record: equipment.id }],
  client: [{ column: equipment.client_ids, record: equipment.id }],
  line_of_business: [{ column: equipment.line_of_business_id, record: equipment.id }],
  metafield: [
    {
      column: equipmentMetavalues.metafield_id,
      record: equipmentMetavalues.equipment_id,
      parent: equipment.id,
    },
  ],
  metafield_item: [
    { column: equipmentMetavalues.item_ids, record: equipmentMetavalues.equipment_id, parent: equipment.id },
  ],
};
