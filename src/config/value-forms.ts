/**
 * Forms of values in variables and in the accounts file. Each parses a text; its description is the text of every error about a
 * value.
 */
import { validate as isCron } from 'node-cron';
import * as z from 'zod';
import { KEEPABLE } from '../engine/streams/users.ts';
import { AREA_KINDS, parseArea } from '../shared/area.ts';
import { isRecordUrlTemplate } from '../shared/record-urls.ts';

export const wholeNumber = (min: number, max: number, expected = `a whole number from ${min} to ${max}`) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max)
    .describe(expected);

/** null: off. */
export const numberOrOff = (min: number, max: number) =>
  z
    .union([z.literal('off').transform(() => null), wholeNumber(min, max)])
    .describe(`a whole number from ${min} to ${max}, or off`);

export const oneOf = <Word extends string>(...words: readonly Word[]) =>
  z.enum(words).describe(new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words));

/** 0 to 1. */
export const ratio = z
  .string()
  .regex(/^(0(\.\d+)?|1(\.0+)?)$/)
  .transform(Number)
  .describe('a number from 0 to 1');

export const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((value) => value === 'true' || value === '1' || value === 'yes')
  .describe('true or false');

export const cron = z
  .string()
  .refine((value) => value === 'off' || isCron(value))
  .transform((value) => (value === 'off' ? null : value))
  .describe('a cron expression of 5 or 6 fields, or off');

export const timezone = z
  .string()
  .refine((value) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: value });
      return true;
    } catch {
      return false;
    }
  })
  .describe('a time zone such as Europe/Oslo');

/**
 * The value must be a name, because PostgreSQL reads an offset such as +02:00 with the opposite sign. Some names are
 * abbreviations in PostgreSQL: it reads CET as an hour ahead of UTC, without summer time.
 */
export const namedTimezone = timezone
  .refine((value) => /^[A-Za-z]/.test(value) && !/^(?:CET|EET|MET|WET)$/i.test(value))
  .describe('the name of a time zone with a place, such as Europe/Oslo');

export const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol));

/** `databaseUrlProblem` judges the rest. */
export const databaseUrl = z
  .string()
  .regex(/^postgres(?:ql)?:\/\//i)
  .describe('postgres://user:password@host:port/database');

export const baseUrl = url('https:', 'http:').describe('an https:// URL, e.g. https://service.example.com');

/** Its password is readable: a % in it is written %25. */
export const urlWithPassword = (...protocols: string[]) =>
  url(...protocols).refine((value) => {
    try {
      const { username, password, hostname } = new URL(value);
      decodeURIComponent(`${username}${password}`);
      return hostname !== '';
    } catch {
      return false;
    }
  });

export const webUrl = (expected: string) => urlWithPassword('https:', 'http:').describe(expected);

/** URL template of a record’s page. */
export const recordUrl = z
  .string()
  .refine(isRecordUrlTemplate)
  .describe(
    'an https:// URL with {id}, {response_id} or {form_id} behind the host name, e.g. https://service.example.com/followups/{id}',
  );

/** `expected`: describes the file or directory at the path. */
export const path = (expected: string) =>
  z
    .string()
    .regex(/^[^\0]+$/)
    .describe(`the path of ${expected}`);

/** With a name before it or without: `Safety <safety@example.com>`. */
export const address = z
  .string()
  .regex(/^(?:[^<>,"]*<[^\s<>,@]+@[^\s<>,@]+>|[^\s<>,@]+@[^\s<>,@]+)$/)
  .describe('a mail address');

/** With a semicolon it would be one value. */
export const commaList = z
  .string()
  .refine((text) => !text.includes(';'))
  .transform((text) =>
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  );

export const addressList = commaList
  .pipe(z.array(address).min(1))
  .describe('mail addresses, separated by commas');

/** null: it has another form. */
function parseAreaReport(text: string) {
  const [, place = '', to = ''] = /^(.*?)(?::([^:]*@[^:]*))?$/s.exec(text) ?? [];
  const area = parseArea(place);
  const emailTo = to === '' ? [] : addressList.safeParse(to).data;
  return area === null || emailTo === undefined ? null : { area, emailTo };
}

export const areaReports = z
  .string()
  .transform((text) => text.split(/[;\n]/).filter((one) => one.trim() !== ''))
  .transform((entries) => entries.map(parseAreaReport))
  .refine((found) => found.length > 0 && found.every((one) => one !== null))
  .transform((found) => found.filter((one) => one !== null))
  .describe(`KIND=NAME: address, address; … with a KIND of ${AREA_KINDS.join(', ')}`);

export const token = z
  .string()
  .regex(/^[\x21-\x7e]+$/)
  .describe('an API token: one line, no spaces');

export const accountName = z
  .string()
  .regex(/^[\w.@:-]{1,100}$/)
  .describe('1 to 100 letters, digits or _ . @ : -');

/** Printable text on one line, because people read it. */
export const lineOfText = z
  .string()
  .regex(/^[^\p{Cc}]{1,200}$/u)
  .describe('a text of one line, 200 characters at most');

export const columnList = commaList
  .refine((names) => names.every((name) => /^\w+\.\w+$/.test(name)))
  .describe('table.column, separated by commas');

const isKeepable = (word: string): boolean => KEEPABLE.some((one) => one === word);
export const keptOfUsers = commaList
  .refine((words) => words.every(isKeepable))
  .describe(`any of ${KEEPABLE.join(', ')}, separated by commas`);
