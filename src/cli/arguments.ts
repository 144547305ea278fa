/** Parsers of arguments and options. All throw `usage_invalid`. */
import { closestName } from '../shared/closest-name.ts';
import { usageError } from '../shared/errors.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';

/** The stream that begins with the typed text, otherwise the one with the fewest typing errors. */
function meantStream(typed: string): string | undefined {
  const text = typed.toLowerCase();
  const begun = text.length < 3 ? undefined : STREAM_NAMES.find((name) => name.startsWith(text));
  return begun ?? closestName(text, STREAM_NAMES);
}

/** All streams when none is named. */
export function parseStreams(names: readonly string[]): StreamName[] {
  const unknown = names.filter((name) => !STREAM_NAMES.includes(name));
  if (unknown.length > 0) {
    const meant = unknown.flatMap((name) => meantStream(name) ?? []);
    const guess = meant.length === 0 ? ';' : `, did you mean ${meant.join(', ')}?`;
    throw usageError(
      `no stream is named ${unknown.join(', ')}${guess} the streams are ${STREAM_NAMES.join(', ')}`,
    );
  }
  return names.length === 0 ? [...STREAM_NAMES] : STREAM_NAMES.filter((name) => names.includes(name));
}

export function parseWholeNumber(
  text: string,
  name: string,
  { min, max }: { min: number; max: number },
): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw usageError(`${name}: expected a whole number from ${min} to ${max}, got ${text}`);
  }
  return value;
}

/** `2026-03-01` (its beginning) or an ISO time; in UTC without a zone. */
export function parseDate(text: string, name: string): number {
  const [, day = '', time = 'T00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  // Date.parse takes the 30th of February for the 2nd of March.
  const isReal = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(day);
  const ms = Date.parse(`${day}${time}${zone}`);
  if (!isReal || Number.isNaN(ms)) {
    throw usageError(
      `${name}: expected a day such as 2026-03-01 or an ISO time such as 2026-03-01T12:00Z, got ${text}`,
    );
  }
  return ms;
}
