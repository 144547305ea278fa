/** Every completion of a training, also repeated and old ones, where the service lists them (observed: completedtrainings.v2.list). */

import { bookkeeping, safetyTable } from './columns.ts';
import { as, dropped, field, meaningsOf, tableColumns } from './fields.ts';
import { OPTIONAL_LISTS } from './optional-methods.ts';
import { fieldReader } from './read-fields.ts';
import type { RowOf, StreamDefinition } from './stream.ts';

const METHOD = 'completedtrainings.v2.list';

const recordColumns = {
  id: field('id', as.key, 'Identifier of the completion.'),
  user_id: field('m_user_id', as.userId, 'The trained person: users.id.'),
  training_id: field('training_id', as.bigint, 'Training: trainings.id.'),
  completed_on: field('date_number', as.date, 'Day of the completion.'),
  created_at: field('created', as.instant, 'When the completion was entered.'),
  expires_on: field('special_expiration_date_number', as.date, 'Day of expiry that was set by hand.'),
  instructor_id: field('m_instructor_id', as.userId, 'The instructor: users.id.'),
  group_training_id: field('group_training_id', as.bigint, 'Event at which several people were trained.'),
  notes: field('notes', as.text, 'Notes.'),
};

export const trainingRecords = safetyTable('training_records', ['id'], {
  ...tableColumns(recordColumns),
  ...bookkeeping(),
});

const fields = { ...recordColumns, signature: dropped('signature'), files: dropped('files') };

const readRecord = fieldReader(fields);

export const completedTrainingsStream: StreamDefinition = {
  name: 'completed-trainings',
  contents: 'completed trainings',
  descriptions: {
    training_records: {
      comment:
        'Every completion of a training, one row each: also those that were repeated since, and of trainings that are not required (source: completedtrainings.v2.list, where the service has it). Signatures and files are not stored.',
      columns: meaningsOf(recordColumns),
    },
  },
  method: METHOD,
  responseKey: OPTIONAL_LISTS[METHOD].listKey,
  readMode: { kind: 'newest_first', pageSize: OPTIONAL_LISTS[METHOD].pageSize },
  optionalMethods: [METHOD],
  keyField: 'id',
  parent: trainingRecords,
  fields,
  children: [],
  histories: [],
  normalizerVersion: 1,
  toRows(record, _context, addIssue) {
    const parent: RowOf<typeof trainingRecords> = readRecord(record, addIssue);
    return { parent, children: [] };
  },
};
