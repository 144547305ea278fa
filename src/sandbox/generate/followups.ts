import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import { dateNumberAfter } from '../date-number.ts';
import { Random } from '../random.ts';
import type { Followup, FollowupMessage } from '../records.ts';
import { attachmentNames, closings, forms, oddTexts, places, replies } from './vocabulary.ts';
import { STREAM, type World } from './world.ts';

/** A form response creates one, two or three follow-ups; eight follow-ups come from five responses. */
const RESPONSE_OF = [0, 1, 2, 2, 3, 4, 4, 4] as const;
const RESPONSES_PER_ROUND = 5;

/** Age in days of a bulk reassignment, which gave many records one `updated_on`. */
const BULK_CHANGES_DAYS_AGO = [40, 3] as const;

/**
 * Generates the follow-up of an ordinal; one ordinal always gives one record. Ordinals are in order of creation, and follow-ups of one
 * response share its millisecond.
 */
export function createFollowupBuilder(world: World): (ordinal: number) => Followup {
  const responses = Math.ceil((world.size.followups / RESPONSE_OF.length) * RESPONSES_PER_ROUND) + 1;
  const stride = (world.now - MINUTE_MS - world.beginning) / responses;

  return (ordinal) => {
    const response =
      Math.floor(ordinal / RESPONSE_OF.length) * RESPONSES_PER_ROUND + (RESPONSE_OF[ordinal % 8] ?? 0);
    const shared = Random.of(world.seed, STREAM.responses, response);
    const created = Math.floor(world.beginning + (response + shared.next() * 0.9) * stride);
    const form = shared.pick(forms);
    const observer = shared.pick(world.accountIds);
    const place = shared.pick(places);

    const random = Random.of(world.seed, STREAM.followups, ordinal);
    const text = (usual: string): string =>
      world.oddities && random.chance(0.03) ? random.pick(oddTexts) : usual;
    const ageDays = (world.now - created) / DAY_MS;
    const open = random.chance(ageDays > 120 ? 0.06 : 0.5);
    const assigner = random.chance(0.7) ? observer : random.pick(world.accountIds);
    let assignee = random.pick(world.accountIds);

    const firstId = 90_000_000 + ordinal * 10;
    const first: FollowupMessage = {
      id: String(firstId),
      date: created,
      m_user_id: observer,
      note: text(random.pick(form.notes).replace('{place}', place)),
    };
    decorate(first, random, world);
    const messages = [first];
    let last = created;
    const replyCount = random.int(0, 3);
    for (let index = 1; index <= replyCount; index += 1) {
      const at = last + random.int(20 * MINUTE_MS, 60 * HOUR_MS);
      if (at >= world.now) break;
      last = at;
      const message: FollowupMessage = {
        id: String(firstId + index),
        date: last,
        m_user_id: assignee,
        note: text(random.pick(replies)),
      };
      if (random.chance(0.25)) {
        assignee = random.pick(world.accountIds);
        message.m_reassignee_id = assignee;
      }
      decorate(message, random, world);
      messages.push(message);
    }

    const followup: Followup = {
      id: String(7_000_000 + ordinal * 7 + (ordinal % 5)),
      form_id: form.id,
      response_id: 400_000 + response * 3,
      open,
      created_on: created,
      updated_on: last,
      m_observer_id: observer,
      m_assigner_id: assigner,
      m_assignee_id: assignee,
      messages,
      ...{ deleted: false, in_progress: open && ordinal % 4 === 0, field_id: `f${ordinal % 37}` },
      followup_display_id: String(ordinal + 1),
    };
    if (random.chance(0.8)) followup.due = dateNumberAfter(created, random.int(1, 45));
    if (!open) {
      last += Math.floor(Math.min(random.int(HOUR_MS, 20 * DAY_MS), (world.now - last) * random.next()));
      followup.resolved_on = last;
      followup.m_completer_id = random.chance(0.85) ? assignee : random.pick(world.accountIds);
      messages.push({
        id: String(firstId + messages.length),
        date: last,
        m_user_id: followup.m_completer_id,
        note: text(random.pick(closings)),
      });
    }
    followup.updated_on = world.oddities ? withBulkChange(last, random, world.now) : last;
    if (world.oddities && random.chance(0.005)) followup.messages = [];
    return followup;
  };
}

function decorate(message: FollowupMessage, random: Random, world: World): void {
  const roll = random.next();
  if (roll < 0.12) {
    message.attachments = random.sample(attachmentNames, random.int(1, 2)).map((name) => ({
      key: `followups/${message.id}/${name}`,
      ...(random.chance(0.5) && { caption: name }),
    }));
  }
  if (!world.oddities) return;
  if (roll > 0.98) message.attachments = [];
  if (roll > 0.8) message.notify = roll > 0.9;
  if (roll > 0.3 && roll < 0.4) message.signature = null;
  if (roll > 0.4 && roll < 0.42)
    message.signature = { key: `signatures/${message.id}.png`, date: message.date };
  if (roll > 0.5 && roll < 0.52) message.m_reassignee_id ??= null;
  if (roll > 0.6 && roll < 0.61) message.note = null;
}

function withBulkChange(updated: number, random: Random, now: number): number {
  if (!random.chance(0.03)) return updated;
  const bulk = Math.floor(now - random.pick(BULK_CHANGES_DAYS_AGO) * DAY_MS);
  return Math.max(updated, bulk);
}
