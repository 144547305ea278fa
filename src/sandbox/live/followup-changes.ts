import { dateNumberAfter } from '../date-number.ts';
import { closings, forms, oddTexts, places, replies } from '../generate/vocabulary.ts';
import type { Followup, FollowupMessage } from '../records.ts';
import { freshId, type LiveContext } from './live-context.ts';

export function raiseFollowup({ world, store, random, now }: LiveContext): void {
  const form = random.pick(forms);
  const observer = random.pick(world.accountIds);
  const response = 900_000 + random.int(0, 99_999);
  // Several follow-ups of one response are common, and share its millisecond.
  const count = random.pick([1, 1, 1, 2, 3]);
  for (let made = 0; made < count; made += 1) {
    const id = freshId(600_000_000 + random.int(1, 9_000_000), store.followups);
    const note =
      world.oddities && random.chance(0.05)
        ? random.pick(oddTexts)
        : random.pick(form.notes).replace('{place}', random.pick(places));
    const followup: Followup = {
      id,
      form_id: form.id,
      response_id: response,
      open: true,
      created_on: now,
      updated_on: now,
      m_observer_id: observer,
      m_assigner_id: observer,
      m_assignee_id: random.pick(world.accountIds),
      messages: [{ id: `${id}01`, date: now, m_user_id: observer, note }],
      ...{ deleted: false, in_progress: false, field_id: `f${made}` },
    };
    if (random.chance(0.8)) followup.due = dateNumberAfter(now, random.int(0, 30));
    store.followups.put(followup);
  }
}

export function changeFollowup(context: LiveContext): void {
  const { store, random, now } = context;
  const found = store.followups.any(random);
  if (found === undefined) return;
  const [key, followup] = found;
  const roll = random.next();
  if (!followup.open) {
    // Sometimes a completed follow-up is opened again.
    if (roll >= 0.1) return;
    const message = writeMessage(context, followup, 'Opened again: not fixed.');
    const changes = { open: true, resolved_on: undefined, m_completer_id: undefined };
    addMessage(context, { key, followup, message, changes });
  } else if (roll < 0.35) {
    closeFollowup(context, followup, key);
  } else if (roll < 0.55) {
    const to = random.pick(context.world.accountIds);
    const reply = writeMessage(context, followup, random.pick(replies));
    const message = { ...reply, m_reassignee_id: to, notify: true };
    addMessage(context, { key, followup, message, changes: { m_assignee_id: to } });
  } else if (roll < 0.7) {
    const due = random.chance(0.2) ? undefined : dateNumberAfter(now, random.int(-5, 30));
    store.followups.update(key, { due, updated_on: now });
  } else {
    replyToFollowup(context, followup, key);
  }
}

export function closeFollowup(context: LiveContext, followup: Followup, key = followup.id): void {
  const message = writeMessage(context, followup, context.random.pick(closings));
  const changes = {
    open: false,
    in_progress: false,
    resolved_on: context.now,
    m_completer_id: message.m_user_id,
  };
  addMessage(context, { key, followup, message, changes });
}

export function replyToFollowup(context: LiveContext, followup: Followup, key = followup.id): void {
  const message = writeMessage(context, followup, context.random.pick(replies));
  addMessage(context, { key, followup, message });
}

/** Planted records may have no list of messages. */
const messagesOf = ({ messages }: Followup): FollowupMessage[] => (Array.isArray(messages) ? messages : []);

function writeMessage(
  { world, random, now }: LiveContext,
  followup: Followup,
  note: string,
): FollowupMessage {
  return {
    id: `${now}${messagesOf(followup).length}${random.int(100, 999)}`,
    date: now,
    m_user_id: random.pick(world.accountIds),
    note,
  };
}

interface Addition {
  key: string;
  followup: Followup;
  message: FollowupMessage;
  /** What changes with the message. */
  changes?: Partial<Record<keyof Followup, unknown>>;
}

function addMessage({ store, now }: LiveContext, { key, followup, message, changes }: Addition): void {
  const messages = [...messagesOf(followup), message];
  store.followups.update(key, { ...changes, updated_on: now, messages });
}
