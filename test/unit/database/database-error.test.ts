import { expect, it } from 'vitest';
import { addPasswordAdvice, toDatabaseError } from '../../../src/engine/database/database-error.ts';

/** As postgres.js gives it, with drizzle around it. */
const refused = (code: string, severity = 'FATAL') =>
  new Error('Failed query', { cause: Object.assign(new Error('no'), { code, severity }) });

it.each([
  [
    '53300',
    /^PostgreSQL has no connection left: a worker takes up to 3, and one for each of at most 20 runs under way/,
  ],
  [
    '28000',
    /^PostgreSQL does not let this user log in from here: see alter role … login, and pg_hba\.conf\.$/,
  ],
  ['28P01', /^Correct user and password in DATABASE_URL;/],
  ['42501', /^This user may not connect to the database: grant connect on it, as its owner\.$/],
  ['57P01', /^Check DATABASE_URL and that PostgreSQL is up/],
])(
  'a connection that PostgreSQL refuses or ends with %s is database_unreachable, with advice for its cause',
  (code, advice) => {
    const error = toDatabaseError(refused(code));
    expect([error.code, error.message]).toEqual(['database_unreachable', `PostgreSQL: no (${code})`]);
    expect(error.advice).toMatch(advice);
  },
);

it('a table without read permission is database_permission, not an outage', () => {
  expect(toDatabaseError(refused('42501', 'ERROR')).code).toBe('database_permission');
});

it('a refused password that PostgreSQL keeps in another form has advice about its characters', () => {
  const adviceFor = (password: string): string | undefined => {
    const error = Object.assign(new Error('no'), { code: '28P01', severity: 'FATAL' });
    addPasswordAdvice(error, password);
    return toDatabaseError(error).advice;
  };
  expect(adviceFor('ﬁne')).toContain('SASLprep');
  expect(adviceFor('pass\u00adword')).toContain('SASLprep');
  expect(adviceFor('wörd')).toContain('Correct user and password');
});
