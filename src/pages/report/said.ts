/** What a follow-up is about and what was said last, in the words of those who wrote it. */
import { html, type Html } from '../html.ts';
import { formatShortDay, shorten, toDate } from '../words.ts';

interface Said {
  readonly first_note: string | null;
  readonly last_note: string | null;
  readonly last_on: string | null;
  readonly last_by: string | null;
}

const LENGTH = 140;

function quote(note: string): string {
  return `“${shorten(note.replace(/\s+/g, ' ').trim(), LENGTH)}”`;
}

const isText = (note: string | null): note is string => note !== null && note.trim() !== '';

/** null: nobody wrote anything. */
export function said({ first_note: first, last_note: last, last_on: on, last_by: by }: Said): Html | null {
  const about = isText(first) && quote(first);
  const who = [by, on === null ? null : formatShortDay(toDate(on))]
    .filter((part) => part !== null)
    .join(', ');
  const latest = isText(last) && html`<span class="dim">${who}: ${quote(last)}</span>`;
  return about === false && latest === false ? null : html`${about} ${latest}`;
}
