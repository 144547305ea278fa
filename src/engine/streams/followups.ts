/** Follow-ups with their messages and attachments (specification: followups.list). */
import { index, integer } from 'drizzle-orm/pg-core';
import { describeFollowups } from '../../dictionary/followups.ts';
import { bookkeeping, instant, safetyTable, statePeriod, stateStart, idText } from './columns.ts';
import { as, column, field, itemsOf, meaningsOf, childOf, tableColumns } from './fields.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import { addColumns, fieldReader, itemsReader, oldestFirst } from './read-fields.ts';

const MAY_STAY = 'null when not sent. The service may leave it on one that was opened again.';

const followupFields = {
  id: field('id', as.key, 'Identifier of the follow-up.'),
  form_id: field('form_id', as.bigint, 'Form of the response that raised it.'),
  response_id: field('response_id', as.bigint, 'Form response that raised it.'),
  is_open: field('open', as.boolean, 'True while pending, false when completed.'),
  created_at: field('created_on', as.instant, 'Time at which it was raised.'),
  updated_at: field('updated_on', as.instant, 'Last change at the source; every message changes it.'),
  observer_id: field('m_observer_id', as.userId, 'Observer, the user that raised it: users.id.'),
  assigner_id: field('m_assigner_id', as.userId, 'Assigner, the user that assigned it: users.id.'),
  assignee_id: field('m_assignee_id', as.userId, 'Assignee, the user responsible now: users.id.'),
  due_on: field('due', as.date, 'Day on which it is due.', 'null when it has no due date.'),
  resolved_at: field('resolved_on', as.instant, 'Time of the completion.', MAY_STAY),
  completer_id: field('m_completer_id', as.userId, 'User that completed it: users.id.', MAY_STAY),
  is_in_progress: field('in_progress', as.boolean, 'Whether work on it has begun.'),
  field_id: field('field_id', as.identifier, 'Field of the form that it was raised on.'),
};

/** Columns without a history: a number that stays, and a mark that ends the last state. */
const statelessFields = {
  display_id: field('followup_display_id', as.identifier, 'The number that people see in the service.'),
  is_deleted_at_source: field(
    'deleted',
    as.boolean,
    'True while the service sends the row as deleted; false or null while it is live, and when the service does not list it any more.',
    '',
  ),
};

const count = () => integer().notNull().default(0);
/** Summary of the messages; followup_overview shows it. */
const messageSummaryColumns = {
  _message_count: column(count, 'Number of its messages; 0 for none.'),
  _reassignment_count: column(count, 'Number of its messages that handed it to another person; 0 for none.'),
  _last_message_at: column(instant, 'Time of its latest message; null without messages.'),
  _first_response_at: column(instant, 'Time of the first message not from the observer; null without one.'),
};

export const followups = safetyTable(
  'followups',
  ['id'],
  {
    ...tableColumns({ ...followupFields, ...statelessFields }),
    ...stateStart(),
    ...bookkeeping(),
    ...tableColumns(messageSummaryColumns),
  },
  (t) => [index('followups_created_idx').using('brin', t.created_at).with({ pages_per_range: 32 })],
);

/** Superseded states; with the present ones they are `followup_history`. */
export const followupStates = safetyTable(
  'followup_states',
  ['id', 'valid_from'],
  { ...tableColumns(followupFields), ...statePeriod() },
  (t) => [index('followup_states_ended_idx').on(t.valid_to)],
);

const followup_id = column(() => idText().notNull(), 'Follow-up: followups.id.');
const messageKey = { id: field('id', as.key, 'Identifier of the message within its follow-up.') };
const saidFields = {
  sent_at: field('date', as.instant, 'Time at which it was sent.'),
  user_id: field('m_user_id', as.userId, 'Author: users.id.'),
  note: field('note', as.text, 'The text.'),
  reassignee_id: field('m_reassignee_id', as.userId, 'Person that it hands the follow-up to: users.id.'),
  signature: field('signature', as.anything, 'As sent (nothing else is specified).'),
  notify: field('notify', as.boolean, 'Whether the message notified.'),
};

const messageColumns = {
  followup_id,
  ...messageKey,
  position: column(() => integer().notNull(), 'Place in the conversation, 1 = oldest.'),
  ...saidFields,
};

export const followupMessages = safetyTable(
  'followup_messages',
  ['followup_id', 'id'],
  tableColumns(messageColumns),
  (t) => [childOf(followups, [t.account_id, t.followup_id], 'followup_messages_followup_fk')],
);

const attachmentFields = {
  key: field('key', as.text, 'Storage key of the file.'),
  caption: field('caption', as.text, 'Caption.'),
};

const attachmentColumns = {
  followup_id,
  message_id: column(() => idText().notNull(), 'Message: followup_messages.id.'),
  position: column(() => integer().notNull(), 'Place among the files of the message, 1 = first.'),
  ...attachmentFields,
};

export const followupAttachments = safetyTable(
  'followup_attachments',
  ['followup_id', 'message_id', 'position'],
  tableColumns(attachmentColumns),
  (t) => [
    childOf(followupMessages, [t.account_id, t.followup_id, t.message_id], 'followup_attachments_message_fk'),
  ],
);

const messageFields = {
  ...messageKey,
  ...saidFields,
  attachments: itemsOf(followupAttachments, attachmentFields),
};

const recordFields = {
  ...followupFields,
  ...statelessFields,
  messages: itemsOf(followupMessages, messageFields),
};

const readRecord = fieldReader(recordFields);
const readMessages = itemsReader('messages', messageKey.id, messageFields);
const readAttachment = fieldReader(attachmentFields);

/** A loop, because it runs for every follow-up. If only one of observer and sender is known, they count as different people. */
function summarize(messages: ReturnType<typeof readMessages>, observerId: string | null) {
  let reassignments = 0;
  let last: string | null = null;
  let firstResponse: string | null = null;
  for (const { fields } of messages) {
    const { sent_at: sentAt, user_id: userId } = fields;
    // The message reassigns the follow-up to another person.
    if ((fields.reassignee_id ?? '') !== '') reassignments += 1;
    if (sentAt === null) continue;
    if (last === null || last < sentAt) last = sentAt;
    const isResponse = userId !== observerId;
    if (isResponse && (firstResponse === null || sentAt < firstResponse)) firstResponse = sentAt;
  }
  return {
    _message_count: messages.length,
    _reassignment_count: reassignments,
    _last_message_at: last,
    _first_response_at: firstResponse,
  };
}

export const followupsStream: StreamDefinition = {
  name: 'followups',
  contents: 'follow-ups',
  descriptions: describeFollowups({
    followups: meaningsOf(followupFields),
    stateless: meaningsOf(statelessFields),
    messageSummary: meaningsOf(messageSummaryColumns),
    followup_messages: meaningsOf(messageColumns),
    followup_attachments: meaningsOf(attachmentColumns),
  }),
  method: 'followups.list',
  responseKey: 'followups',
  readMode: { kind: 'incremental', pageSize: 500 },
  keyField: 'id',
  peekFields: ['created_on', 'updated_on'],
  parent: followups,
  fields: recordFields,
  children: [followupMessages, followupAttachments],
  changeTimeColumn: 'updated_at',
  deletedColumn: 'is_deleted_at_source',
  // Every message changes `updated_at`: if it were part of the state, each message would repeat the follow-up.
  histories: [{ of: followups, states: followupStates, since: 'updated_at' }],
  normalizerVersion: 1,
  toRows(record, _context, addIssue) {
    const fields = readRecord(record, addIssue);
    const { id } = fields;
    const messages = readMessages(fields.messages, addIssue);
    const parent: RowOf<typeof followups> = addColumns(fields, summarize(messages, fields.observer_id));
    // The sample shows the oldest message first, but the specification does not promise it.
    const sorted = oldestFirst(messages, (message) => message.fields.sent_at);
    const messageRows = sorted.map(({ fields: message }, position): RowOf<typeof followupMessages> =>
      addColumns(message, { followup_id: id, position: position + 1 }),
    );
    const attachmentRows: RowOf<typeof followupAttachments>[] = [];
    for (const { index: place, fields: message } of messages) {
      for (const { record: attachment, index: position } of message.attachments ?? []) {
        const at = `messages[${place}].attachments[${position}].`;
        const file = readAttachment(attachment, addIssue, at);
        attachmentRows.push(
          addColumns(file, { followup_id: id, message_id: message.id, position: position + 1 }),
        );
      }
    }
    return { parent, children: [messageRows, attachmentRows] };
  },
};
