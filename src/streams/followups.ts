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
import { keyedItems } from './keyed-items.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import * as wire from './wire.ts';
import { as, itemsOf, readFields, type Values } from './read-fields.ts';

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

export const followups = safetySchema.table(
  'followups',
  {
    ...followupColumns(),
    ...stateStart(),
    ...bookkeeping(),
    /** What its messages amount to; null where it was stored before this was counted (followup-figures.ts). */
    _message_count: integer(),
    _reassignment_count: integer(),
    _last_message_at: instant(),
    _first_response_at: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.id] }),
    index('followups_created_idx').on(t.created_at),
    index('followups_assignee_idx').on(t.assignee_id),
    index('followups_uncounted_idx')
      .on(t.id)
      .where(sql`${t._message_count} is null`),
  ],
);

/** Superseded states; with the present ones they are `followup_history`. */
export const followupStates = safetySchema.table(
  'followup_states',
  { ...followupColumns(), ...statePeriod() },
  (t) => [primaryKey({ columns: [t.account_id, t.id, t.valid_from] })],
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

interface Message {
  readonly id: string;
  /** In the list as it came. */
  readonly index: number;
  readonly fields: Values<typeof messageFields>;
}

/** The sample shows the oldest message first, which nothing promises: the time decides where every message tells one. */
function oldestFirst(messages: Message[]): Message[] {
  if (isOldestFirst(messages)) return messages;
  const times = new Map(messages.map((message) => [message, Date.parse(message.fields.sent_at ?? '')]));
  const dated = messages.every((message) => message.fields.sent_at !== null);
  return messages.toSorted((a, b) => {
    const byTime = dated ? (times.get(a) ?? 0) - (times.get(b) ?? 0) : 0;
    return byTime === 0 ? a.index - b.index : byTime;
  });
}

/** As the sample shows them. Texts of one length compare like the times they tell. */
function isOldestFirst(messages: readonly Message[]): boolean {
  for (let at = 1; at < messages.length; at += 1) {
    const [before, after] = [messages[at - 1], messages[at]];
    if (before === undefined || after === undefined || before.index > after.index) return false;
    const [earlier, later] = [before.fields.sent_at, after.fields.sent_at];
    if (earlier === null || later?.length !== earlier.length || later < earlier) return false;
  }
  return true;
}

/** Somebody who is not known is somebody else than who raised it, and the other way round. */
function figuresOf(messages: readonly Message[], observerId: string | null) {
  let reassignments = 0;
  let last: string | null = null;
  let firstResponse: string | null = null;
  for (const { fields } of messages) {
    const { sent_at: sentAt, user_id: userId, reassignee_id: reassigneeId } = fields;
    if (reassigneeId !== null && reassigneeId !== '') reassignments += 1;
    if (sentAt === null) continue;
    if (last === null || isBefore(last, sentAt)) last = sentAt;
    const isResponse = userId !== observerId;
    if (isResponse && (firstResponse === null || isBefore(sentAt, firstResponse))) firstResponse = sentAt;
  }
  return { count: messages.length, reassignments, last, firstResponse };
}

/** Texts of one length compare like the times they tell. */
const isBefore = (one: string, other: string): boolean =>
  one.length === other.length ? one < other : Date.parse(one) < Date.parse(other);

export const followupsStream: StreamDefinition = {
  name: 'followups',
  contents: 'follow-ups',
  descriptions: FOLLOWUPS,
  method: 'followups.list',
  responseKey: 'followups',
  readMode: { kind: 'incremental', pageSize: 500 },
  keyField: 'id',
  keyColumn: 'id',
  countsFrom: ['created_at', 'updated_at'],
  parent: followups,
  fields: followupFields,
  children: [followupMessages, followupAttachments],
  versionColumn: 'updated_at',
  contextColumns: ['_message_count', '_reassignment_count', '_last_message_at', '_first_response_at'],
  // Every message moves `updated_at`: were it part of the state, each would repeat the follow-up.
  histories: [{ of: followups, states: followupStates, since: 'updated_at', untracked: ['updated_at'] }],
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
    }).map(({ key, item: { record: message, index: position } }): Message => ({
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
    const messageRows = oldestFirst(messages).map(
      ({ id: messageId, fields: message }, position): RowOf<typeof followupMessages> => ({
        followup_id: id,
        id: messageId,
        position: position + 1,
        sent_at: message.sent_at,
        user_id: message.user_id,
        note: message.note,
        reassignee_id: message.reassignee_id,
        signature: message.signature,
        notify: message.notify,
      }),
    );
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
