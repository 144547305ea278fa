/** Parsers of arguments and options. All throw `usage_invalid`. */
import * as z from 'zod';
import { usageError } from '../shared/errors.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';

/** All streams when none is named. */
export function parseStreams(names: readonly string[]): StreamName[] {
  const unknown = names.find((name) => !STREAM_NAMES.includes(name));
  if (unknown !== undefined) {
    throw usageError(`no stream is named ${unknown}; the streams are ${STREAM_NAMES.join(', ')}`);
  }
  return names.length === 0 ? [...STREAM_NAMES] : STREAM_NAMES.filter((name) => names.includes(name));
}

export const parseStream = (name: string): StreamName => parseStreams([name])[0] ?? name;

export const wholeNumber =
  (min: number, max: number) =>
  (text: string, flag: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw usageError(`${flag}: expected a whole number from ${min} to ${max}, got ${text}`);
    return value;
  };

/** `2026-03-01` (its beginning) or an ISO time; in UTC without a zone. */
export function parseDate(text: string, name: string): number {
  const isDay = z.iso.date().safeParse(text).success;
  if (!isDay && !z.iso.datetime({ offset: true, local: true }).safeParse(text).success) {
    throw usageError(
      `${name}: expected a day such as 2026-03-01 or an ISO time such as 2026-03-01T12:00Z, got ${text}`,
    );
  }
  return Date.parse(isDay || /(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`);
}
