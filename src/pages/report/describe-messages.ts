/** Formats the first and the last message of a follow-up. */
import { html, type Html } from '../html.ts';
import { formatDay, formatShortDay, shorten } from '../words.ts';

interface MessageColumns {
  readonly first_note: string | null;
  readonly last_note: string | null;
  readonly last_on: string | null;
  readonly last_by_id: string | null;
  readonly last_by_name: string | null;
}

const LENGTH = 140;

function quoteNote(note: string): string {
  return `“${shorten(note.replace(/\s+/g, ' ').trim(), LENGTH)}”`;
}

const hasText = (note: string | null): note is string => note !== null && note.trim() !== '';

/** `today`: the day of the report; days of its year are shown without the year. null: there are no messages. */
export function describeMessages(
  { first_note: first, last_note: last, last_on: on, ...by }: MessageColumns,
  today: string,
): Html | null {
  const about = hasText(first) && quoteNote(first);
  const isThisYear = on?.slice(0, 4) === today.slice(0, 4);
  const day = on === null ? null : isThisYear ? formatShortDay(on) : formatDay(on);
  const author = [by.last_by_name ?? by.last_by_id, day].filter((text) => text !== null).join(', ');
  const latest = hasText(last) && html`<span class="dim">${author}: ${quoteNote(last)}</span>`;
  return about === false && latest === false ? null : html`${about} ${latest}`;
}
