/** Variables for large warehouses and for services with unusual limits. */
import * as z from 'zod';
import * as form from './value-forms.ts';
import { variable } from './value-forms.ts';

/** Longest delay that a Node timer can wait, ms. */
const MAX_TIMER_MS = 2_147_483_647;

const days = form.wholeNumber(1, 36_500, 'days, from 1');

export const RARE = {
  SAFETY_ALLOW_INSECURE_HTTP: variable(
    form.flag,
    'Allows plain `http://` to another machine: the token then travels in the clear.',
    { default: 'false' },
  ),
  API_CONCURRENCY: variable(
    form.wholeNumber(1, 100),
    'Most requests in flight in a process, over all streams of an account.',
    { default: '4' },
  ),
  API_REQUESTS_PER_MINUTE: variable(
    form.numberOrOff(4, 30_000),
    'Most requests that an account starts in any minute, over all its processes ([request budget](operations.md#the-request-budget)); `off`: no limit. Not set: 40, and no limit for a service at a loopback address.',
    { example: '40' },
  ),
  REQUEST_TIMEOUT_MS: variable(
    form.wholeNumber(1, MAX_TIMER_MS, 'ms, from 1'),
    'Longest time of one request, from its start to the end of its response, in ms; lists that come whole are given twice as much.',
    { default: '60000' },
  ),
  RETRY_ATTEMPTS: variable(
    form.wholeNumber(0, 100),
    'Most retries of a request that can succeed later, after a 429 too: 8 retries are 9 attempts. Some requests get fewer ([why](design.md#requests)).',
    { default: '8' },
  ),
  RETRY_MIN_DELAY_MS: variable(
    form.wholeNumber(0, MAX_TIMER_MS, 'ms, from 0'),
    'Longest first delay, in ms; it doubles with every retry, and the delay is drawn at random between its half and all of it.',
    { default: '1000' },
  ),
  RETRY_MAX_DELAY_MS: variable(
    form.wholeNumber(0, MAX_TIMER_MS, 'ms, from 0'),
    'Longest delay before a retry, in ms; the pause after `rate_limit_exceeded` is not a delay.',
    { default: '60000' },
  ),
  FOLLOWUPS_OVERLAP_MS: variable(
    form.wholeNumber(0, 365 * 24 * 3600 * 1000, 'ms, 0 to a year'),
    'How far behind the watermark an incremental read of follow-ups starts, in ms.',
    { default: '600000' },
  ),
  MAX_DELETE_RATIO: variable(
    z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/)
      .transform(Number)
      .describe('a number from 0 to 1'),
    'A run that would mark more than this share of 20 or more live rows as deleted fails instead.',
    { default: '0.5' },
  ),
  RETENTION_DELETED_DAYS: variable(
    days,
    'Removes rows that the source deleted so many days ago, with children and history ([retention](operations.md#retention)). Not set: never.',
  ),
  RETENTION_RUNS_DAYS: variable(
    days,
    'Removes runs that ended so many days ago, except the newest of each stream, kind and outcome. Not set: never.',
  ),
  RETENTION_ISSUES_DAYS: variable(
    days,
    'Removes data issues that were resolved so many days ago. Not set: never.',
  ),
  ALERT_AFTER_MINUTES: variable(
    form.wholeNumber(0, 1_000_000, 'minutes, from 0'),
    'How long trouble lasts before its alert is sent; 0: at once.',
    { default: '15' },
  ),
  LOG_FORMAT: variable(
    z.enum(['json', 'pretty']).describe('json or pretty'),
    '`json` has every field, `pretty` is for people. Not set: `pretty` on a terminal, else `json`.',
    { example: 'json' },
  ),
} as const;
