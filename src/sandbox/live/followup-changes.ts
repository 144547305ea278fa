import { DAY_MS } from '../../shared/time.ts';
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
    const number = random.int(1, 9_000_000);
    const id = freshId(600_000_000 + number, store.followups);
    const note =
      world.oddities && random.chance(0.05)
        ? random.pick(oddTexts)
        : random.pick(form.notes).replace('{place}', random.pick(places));
    store.followups.put({
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
      ...(random.chance(0.8) && { due: dateNumberAfter(now, random.int(0, 30)) }),
      ...{ deleted: false, in_progress: false, field_id: `f${made}`, followup_display_id: String(number) },
    });
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
    const changes = { open: true, resolved_on: undefined, m_completer_id: undefined };
    addMessage(context, key, followup, { note: 'Opened again: not fixed.' }, changes);
  } else if (roll < 0.35) {
    closeFollowup(context, key, followup);
  } else if (roll < 0.55) {
    const to = random.pick(context.world.accountIds);
    const message = { note: random.pick(replies), m_reassignee_id: to, notify: true };
    addMessage(context, key, followup, message, { m_assignee_id: to });
  } else if (roll < 0.7) {
    const due = random.chance(0.2) ? undefined : dateNumberAfter(now, random.int(-5, 30));
    store.followups.update(key, { due, updated_on: now });
  } else {
    addMessage(context, key, followup, { note: random.pick(replies) });
  }
}

function closeFollowup(context: LiveContext, key: string, followup: Followup): void {
  const m_completer_id = context.random.pick(context.world.accountIds);
  const changes = { open: false, in_progress: false, resolved_on: context.now, m_completer_id };
  const message = { note: context.random.pick(closings), m_user_id: m_completer_id };
  addMessage(context, key, followup, message, changes);
}

/** `changes`: what changes with the message. */
function addMessage(
  { world, store, random, now }: LiveContext,
  key: string,
  followup: Followup,
  message: Partial<FollowupMessage> & { note: string },
  changes: Partial<Record<keyof Followup, unknown>> = {},
): void {
  // Planted records may have no list of messages.
  const messages = Array.isArray(followup.messages) ? followup.messages : [];
  const id = `${now}${messages.length}${random.int(100, 999)}`;
  const added = { id, date: now, m_user_id: random.pick(world.accountIds), ...message };
  store.followups.update(key, { ...changes, updated_on: now, messages: [...messages, added] });
}

const FRESH_MS = 21 * DAY_MS;

/** A working day: closes about as many follow-ups as are raised, mostly recent ones; old ones tend to stay open. */
export function workOnFollowups(context: LiveContext): void {
  const { store, random, now } = context;
  for (let raised = random.int(0, 2); raised > 0; raised -= 1) raiseFollowup(context);
  const open = [...store.followups.values()].filter((one) => one.open);
  const fresh = open.filter((one) => one.created_on > now - FRESH_MS);
  const chosen = new Set(
    Array.from({ length: open.length === 0 ? 0 : random.int(3, 7) }, () =>
      random.pick(fresh.length > 0 && random.chance(0.8) ? fresh : open),
    ),
  );
  const closed = random.int(1, 3);
  for (const [at, followup] of [...chosen].entries()) {
    if (at < closed) closeFollowup(context, followup.id, followup);
    else addMessage(context, followup.id, followup, { note: random.pick(replies) });
  }
}
