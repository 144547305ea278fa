/** Values that are derived from all messages of a follow-up: their order, and their summary. */
import { integer } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';
import { column } from './fields.ts';
import { isEarlier, oldestFirst } from './time-text.ts';

interface MessageFacts {
  /** The position in the received list. */
  readonly index: number;
  readonly fields: {
    readonly sent_at: string | null;
    readonly user_id: string | null;
    readonly reassignee_id: string | null;
  };
}

/** True if the message reassigns the follow-up to another person. */
export const handsOn = ({ fields: { reassignee_id: to } }: MessageFacts): boolean => to !== null && to !== '';

/** The sample shows the oldest message first, but the specification does not promise it. */
export const sortMessages = <One extends MessageFacts>(messages: readonly One[]): One[] =>
  oldestFirst(
    messages,
    ({ fields }) => fields.sent_at,
    ({ index }) => index,
  );

const count = () => integer().notNull().default(0);

/** Summary of the messages; followup_overview shows it. */
export const messageSummaryColumns = {
  _message_count: column(count, 'Number of its messages; 0 for none.'),
  _reassignment_count: column(count, 'Number of its messages that handed it to another person; 0 for none.'),
  _last_message_at: column(instant, 'Time of its latest message; null without messages.'),
  _first_response_at: column(
    instant,
    'Time of the first message from a person other than the observer; null without such a message.',
  ),
};

/** If only one of observer and sender is known, they count as different people. */
export function messageCounts(messages: readonly MessageFacts[], observerId: string | null) {
  let reassignments = 0;
  let last: string | null = null;
  let firstResponse: string | null = null;
  for (const message of messages) {
    const { sent_at: sentAt, user_id: userId } = message.fields;
    if (handsOn(message)) reassignments += 1;
    if (sentAt === null) continue;
    if (last === null || isEarlier(last, sentAt)) last = sentAt;
    const isResponse = userId !== observerId;
    if (isResponse && (firstResponse === null || isEarlier(sentAt, firstResponse))) firstResponse = sentAt;
  }
  return {
    _message_count: messages.length,
    _reassignment_count: reassignments,
    _last_message_at: last,
    _first_response_at: firstResponse,
  };
}
