import { expect, it } from 'vitest';
import { toDatabaseError } from '../../../src/engine/database/database-error.ts';

/** As postgres.js gives it, with drizzle around it. */
const refused = (code: string, severity: string) =>
  new Error('Failed query', { cause: Object.assign(new Error('no'), { code, severity }) });

it.each([
  ['53300', 'FATAL', 'database_unreachable', 'PostgreSQL has no connection left'],
  ['28000', 'FATAL', 'database_unreachable', 'PostgreSQL does not let this user log in from here'],
  ['28P01', 'FATAL', 'database_unreachable', 'Correct user and password in DATABASE_URL;'],
  ['42501', 'FATAL', 'database_unreachable', 'This user may not connect to the database'],
  ['57P01', 'FATAL', 'database_unreachable', 'Check DATABASE_URL and that PostgreSQL is up'],
  ['42501', 'ERROR', 'database_permission', ''],
  ['53100', 'ERROR', 'database_error', 'The disk of PostgreSQL is full'],
  ['40P01', 'ERROR', 'database_error', 'Another session and this one waited for each other'],
  ['42704', 'FATAL', 'database_unreachable', 'This PostgreSQL lacks a setting, role'],
  ['55P03', 'ERROR', 'database_error', 'Another session locks the table'],
  ['57014', 'ERROR', 'database_error', 'Remove a time-out'],
])('%s with severity %s is %s, with advice for its cause', (code, severity, name, advice) => {
  const error = toDatabaseError(refused(code, severity));
  expect([error.code, error.message]).toEqual([name, `PostgreSQL: no (${code})`]);
  expect(error.advice).toContain(advice);
});
