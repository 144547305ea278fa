/** Follow-ups with their messages and attachments (specification: followups.list). */
import { sql } from 'drizzle-orm';
import { boolean, date, foreignKey, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { FOLLOWUPS } from '../dictionary/followups.ts';
import {
  accountId,
  bigintText,
  bookkeeping,
  instant,
  json,
  safetySchema,
  statePeriod,
  stateStart,
} from './columns.ts';
import { figuresOf, handsOn, oldestFirst } from './followup-messages.ts';
import { keyedItems } from './keyed-items.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import * as wire from './wire.ts';
import { as, itemsOf, readFields } from './read-fields.ts';

const followupColumns = () => ({
  account_id: accountId(),
  id: text().notNull(),
  form_id: bigintText(),
  response_id: bigintText(),
  is_open: boolean(),
  created_at: instant(),
  updated_at: instant(),
  observer_id: text(),
  assigner_id: text(),
  assignee_id: text(),
  due_on: date(),
  resolved_at: instant(),
  completer_id: text(),
});

/** How a state differs from the one before it. */
const differenceColumns = () => ({
  /** Whether the state before was open; null for the first. */
  _was_open: boolean(),
  /** The state before had another due day, and which. */
  _due_moved: boolean().notNull().default(false),
  _due_before: date(),
});

export const followups = safetySchema.table(
  'followups',
  {
    ...followupColumns(),
    ...stateStart(),
    ...bookkeeping(),
    /** Figures of its messages. */
    _message_count: integer().notNull().default(0),
    _reassignment_count: integer().notNull().default(0),
    _last_message_at: instant(),
    _first_response_at: instant(),
    ...differenceColumns(),
    /** Over all its states. */
    _due_changes: integer().notNull().default(0),
    _reopen_count: integer().notNull().default(0),
    /** Due day of its first state; null while that is the present one. */
    _first_due: date(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.id] }),
    index('followups_created_idx').on(t.created_at),
    index('followups_assignee_idx').on(t.assignee_id),
    index('followups_deleted_idx')
      .on(t.id, t.account_id)
      .where(sql`${t._deleted_at} is not null`),
    index('followups_reopened_idx')
      .on(t.id)
      .where(sql`${t.is_open} and not ${t._was_open}`),
    index('followups_closed_again_idx')
      .on(t.id, t.account_id, t.resolved_at, t.completer_id)
      .where(sql`not ${t.is_open} and not ${t._was_open}`),
    index('followups_due_moved_idx')
      .on(t.id)
      .where(sql`${t._due_moved}`),
  ],
);

/** Superseded states; with the present ones they are `followup_history`. */
export const followupStates = safetySchema.table(
  'followup_states',
  { ...followupColumns(), ...statePeriod(), ...differenceColumns() },
  (t) => [
    primaryKey({ columns: [t.account_id, t.id, t.valid_from] }),
    index('followup_states_ended_idx').on(t.valid_to),
  ],
);

export const followupMessages = safetySchema.table(
  'followup_messages',
  {
    account_id: accountId(),
    followup_id: text().notNull(),
    id: text().notNull(),
    position: integer().notNull(),
    sent_at: instant(),
    user_id: text(),
    note: text(),
    reassignee_id: text(),
    signature: json(),
    notify: boolean(),
    /** To whom the message before had handed the follow-up; null where this one does not, or is the first that does. */
    _handed_before: text(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.followup_id, t.id] }),
    foreignKey({
      name: 'followup_messages_followup_fk',
      columns: [t.account_id, t.followup_id],
      foreignColumns: [followups.account_id, followups.id],
    }).onDelete('cascade'),
  ],
);

export const followupAttachments = safetySchema.table(
  'followup_attachments',
  {
    account_id: accountId(),
    followup_id: text().notNull(),
    message_id: text().notNull(),
    position: integer().notNull(),
    key: text(),
    caption: text(),
  },
  (t) => [
    primaryKey({
      name: 'followup_attachments_pk',
      columns: [t.account_id, t.followup_id, t.message_id, t.position],
    }),
    foreignKey({
      name: 'followup_attachments_message_fk',
      columns: [t.account_id, t.followup_id, t.message_id],
      foreignColumns: [followupMessages.account_id, followupMessages.followup_id, followupMessages.id],
    }).onDelete('cascade'),
  ],
);

const attachmentFields = { key: wire.text, caption: wire.text };

const messageFields = {
  id: wire.key,
  date: as('sent_at', wire.instant),
  m_user_id: as('user_id', wire.identifier),
  note: wire.text,
  m_reassignee_id: as('reassignee_id', wire.identifier),
  signature: wire.anything,
  attachments: itemsOf(followupAttachments, attachmentFields),
  notify: wire.boolean,
};

const followupFields = {
  id: wire.key,
  form_id: wire.bigint,
  response_id: wire.bigint,
  open: as('is_open', wire.boolean),
  created_on: as('created_at', wire.instant),
  updated_on: as('updated_at', wire.instant),
  m_observer_id: as('observer_id', wire.identifier),
  m_assigner_id: as('assigner_id', wire.identifier),
  m_assignee_id: as('assignee_id', wire.identifier),
  due: as('due_on', wire.date),
  resolved_on: as('resolved_at', wire.instant),
  m_completer_id: as('completer_id', wire.identifier),
  messages: itemsOf(followupMessages, messageFields),
};

const hasOtherDue = (before: string, after: string): string =>
  `${before}.due_on is distinct from ${after}.due_on`;

export const followupsStream: StreamDefinition = {
  name: 'followups',
  contents: 'follow-ups',
  descriptions: FOLLOWUPS,
  method: 'followups.list',
  responseKey: 'followups',
  readMode: { kind: 'incremental', pageSize: 500 },
  keyField: 'id',
  keyColumn: 'id',
  countsDays: true,
  parent: followups,
  fields: followupFields,
  children: [followupMessages, followupAttachments],
  versionColumn: 'updated_at',
  contextColumns: ['_message_count', '_reassignment_count', '_last_message_at', '_first_response_at'],
  // Every message moves `updated_at`: were it part of the state, each would repeat the follow-up.
  histories: [
    {
      of: followups,
      states: followupStates,
      since: 'updated_at',
      untracked: ['updated_at'],
      differences: {
        _was_open: (before) => `${before}.is_open`,
        _due_moved: hasOtherDue,
        _due_before: (before) => `${before}.due_on`,
        _due_changes: (before, after) => `${before}._due_changes + (${hasOtherDue(before, after)})::int`,
        _reopen_count: (before, after) =>
          `${before}._reopen_count + (${before}.is_open is false and ${after}.is_open is true)::int`,
        _first_due: (before) =>
          `case when ${before}._due_changes = 0 then ${before}.due_on else ${before}._first_due end`,
      },
    },
  ],
  identityFields: ['created_on', 'form_id', 'response_id', 'm_observer_id'],
  userIdColumns: [
    { table: followups, column: 'observer_id' },
    { table: followups, column: 'assigner_id' },
    { table: followups, column: 'assignee_id' },
    { table: followups, column: 'completer_id' },
    { table: followupMessages, column: 'user_id' },
    { table: followupMessages, column: 'reassignee_id' },
  ],
  version: 1,
  toRows(record, _context, report) {
    const fields = readFields(followupFields, record, { report });
    const id = fields.id ?? '';
    const messages = keyedItems({
      items: fields.messages,
      list: 'messages',
      keyField: 'id',
      key: wire.key,
      report,
    }).map(({ key, item: { record: message, index: position } }) => ({
      id: key,
      index: position,
      fields: readFields(messageFields, message, { report, at: `messages[${position}]` }),
    }));
    const figures = figuresOf(messages, fields.observer_id);
    const parent: RowOf<typeof followups> = {
      id,
      form_id: fields.form_id,
      response_id: fields.response_id,
      is_open: fields.is_open,
      created_at: fields.created_at,
      updated_at: fields.updated_at,
      observer_id: fields.observer_id,
      assigner_id: fields.assigner_id,
      assignee_id: fields.assignee_id,
      due_on: fields.due_on,
      resolved_at: fields.resolved_at,
      completer_id: fields.completer_id,
      _message_count: figures.count,
      _reassignment_count: figures.reassignments,
      _last_message_at: figures.last,
      _first_response_at: figures.firstResponse,
    };
    let holder: string | null = null;
    const messageRows = oldestFirst(messages).map((message, position): RowOf<typeof followupMessages> => {
      const { sent_at, user_id, note, reassignee_id, signature, notify } = message.fields;
      const _handed_before = handsOn(message) ? holder : null;
      if (handsOn(message)) holder = reassignee_id;
      return {
        followup_id: id,
        id: message.id,
        position: position + 1,
        sent_at,
        user_id,
        note,
        reassignee_id,
        signature,
        notify,
        _handed_before,
      };
    });
    const attachmentRows: RowOf<typeof followupAttachments>[] = [];
    for (const { id: messageId, index: place, fields: message } of messages) {
      for (const { record: attachment, index: position } of message.attachments ?? []) {
        const at = `messages[${place}].attachments[${position}]`;
        const { key, caption } = readFields(attachmentFields, attachment, { report, at });
        attachmentRows.push({
          followup_id: id,
          message_id: messageId,
          position: position + 1,
          key,
          caption,
        });
      }
    }
    return { parent, children: [messageRows, attachmentRows] };
  },
};
