import { dateNumberAfter } from '../date-number.ts';
import { closings, forms, oddTexts, places, replies } from '../generate/vocabulary.ts';
import type { Followup, FollowupMessage } from '../records.ts';
import type { LiveContext } from './live-context.ts';

export function raiseFollowup({ world, store, random, now }: LiveContext): void {
  const form = random.pick(forms);
  const observer = random.pick(world.accountIds);
  const response = 900_000 + random.int(0, 99_999);
  // Several follow-ups of one response are common, and share its millisecond.
  const count = random.pick([1, 1, 1, 2, 3]);
  for (let made = 0; made < count; made += 1) {
    const id = freshId(random.int(1, 9_000_000), store.followups);
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
  const messages = messagesOf(followup);
  const roll = random.next();
  if (!followup.open) {
    // Sometimes a completed follow-up is opened again.
    if (roll < 0.1) {
      store.followups.update(key, {
        open: true,
        resolved_on: undefined,
        m_completer_id: undefined,
        updated_on: now,
        messages: [...messages, message(context, messages, 'Opened again: not fixed.')],
      });
    }
    return;
  }
  if (roll < 0.35) {
    closeFollowup(context, followup, key);
  } else if (roll < 0.55) {
    const to = random.pick(context.world.accountIds);
    store.followups.update(key, {
      m_assignee_id: to,
      updated_on: now,
      messages: [
        ...messages,
        { ...message(context, messages, random.pick(replies)), m_reassignee_id: to, notify: true },
      ],
    });
  } else if (roll < 0.7) {
    const due = random.chance(0.2) ? undefined : dateNumberAfter(now, random.int(-5, 30));
    store.followups.update(key, { due, updated_on: now });
  } else {
    replyToFollowup(context, followup, key);
  }
}

/** Planted records may have no list of messages; they are skipped. */
const messagesOf = ({ messages }: Followup): FollowupMessage[] => (Array.isArray(messages) ? messages : []);

export function closeFollowup(context: LiveContext, followup: Followup, key = followup.id): void {
  const { store, random, now } = context;
  const messages = messagesOf(followup);
  const done = message(context, messages, random.pick(closings));
  store.followups.update(key, {
    open: false,
    resolved_on: now,
    m_completer_id: done.m_user_id,
    updated_on: now,
    messages: [...messages, done],
  });
}

export function replyToFollowup(context: LiveContext, followup: Followup, key = followup.id): void {
  const { store, random, now } = context;
  const messages = messagesOf(followup);
  store.followups.update(key, {
    updated_on: now,
    messages: [...messages, message(context, messages, random.pick(replies))],
  });
}

function message(
  { world, random, now }: LiveContext,
  before: readonly FollowupMessage[],
  note: string,
): FollowupMessage {
  return {
    id: `${now}${before.length}${random.int(100, 999)}`,
    date: now,
    m_user_id: random.pick(world.accountIds),
    note,
  };
}

function freshId(from: number, taken: { has(key: string): boolean }): string {
  let number = 600_000_000 + from;
  while (taken.has(String(number))) number += 1;
  return String(number);
}
