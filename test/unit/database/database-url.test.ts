import { expect, test } from 'vitest';
import { databaseUrlProblem } from '../../../src/config/read-variables.ts';
import { parseDatabaseUrl, secretsOfDatabaseUrl } from '../../../src/engine/database/database-url.ts';

test.each([
  [
    'postgres://u:p%40ss%2Fword@db.example/w',
    { user: 'u', password: 'p@ss/word', database: 'w', port: 5432 },
  ],
  ['postgresql://u:a:b@[::1]:6432/w', { host: '::1', port: 6432, password: 'a:b', path: undefined }],
  ['postgres://u@localhost/w?host=/run/pg', { path: '/run/pg/.s.PGSQL.5432', tls: null }],
  ['postgres:///w?host=/run/pg&port=6432&user=u', { path: '/run/pg/.s.PGSQL.6432', user: 'u' }],
  ['postgres://u@%2Frun%2Fpg:6432/w', { path: '/run/pg/.s.PGSQL.6432' }],
  ['postgres://db.example/w?hostaddr=10.1.2.3&dbname=x', { host: '10.1.2.3', database: 'x' }],
  ['postgres://db.example/w?options=-c%20role%3Dloader', { options: '-c role=loader' }],
  ['postgres://db.example/w?connect_timeout=5', { connectTimeoutSeconds: 5 }],
  ['postgres://db.example/w?keepalives=1&passfile=/x&gssencmode=disable&application_name=a', {}],
])('the database URL %s is read as libpq does', (url, expected) => {
  expect(parseDatabaseUrl(url)).toMatchObject(expected);
});

const unverified = { rejectUnauthorized: false };
const verified = { rejectUnauthorized: true, servername: 'db.example' };
test.each([
  ['localhost', '', null],
  ['db.example', '', { isOptional: true, options: unverified }],
  ['db.example', 'sslmode=disable&sslrootcert=/x&sslcert=/y', null],
  ['localhost', 'sslmode=allow', { isOptional: true }],
  ['db.example', 'ssl=true', { isOptional: false, options: unverified }],
  ['db.example', 'sslmode=verify-full&sslnegotiation=direct', { options: verified }],
  ['db.example', 'sslmode=verify-ca', { options: { rejectUnauthorized: true } }],
  ['db.example', 'sslmode=require&channel_binding=require', { options: verified }],
])('TLS to %s with %s', (host, query, expected) => {
  const { tls } = parseDatabaseUrl(`postgres://${host}/w?${query}`);
  if (expected === null) expect(tls).toBeNull();
  else expect(tls).toMatchObject(expected);
});

test.each([
  ['pgbouncer=true', 'the parameter pgbouncer is not supported: take it out'],
  ['ssl=0', 'the parameter ssl is not supported: take it out'],
  ['sslmode=yes', 'sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full'],
  ['sslmode=verify-ca&sslrootcert=/nowhere', 'sslrootcert names a file that cannot be read (ENOENT)'],
  ['sslmode=disable&channel_binding=require', expect.stringContaining('need TLS') as string],
  ['gssencmode=require', 'gssencmode=require is not supported: use TLS'],
  ['connect_timeout=soon', 'connect_timeout must be a number of seconds'],
  ['port=99999', 'names a port that is no number from 1 to 65535'],
  ['host=a,b', expect.stringContaining('names several hosts') as string],
])('a database URL with %s is refused', (query, problem) => {
  expect(databaseUrlProblem(`postgres://db.example/w?${query}`)).toEqual(problem);
});

test('every spelling of a password is a secret', () => {
  expect(secretsOfDatabaseUrl('postgres://u:p%40ss-word@h/w')).toEqual(['u:p%40ss-word@', 'p@ss-word']);
  expect(secretsOfDatabaseUrl('postgres://h/w?user=u&password=short')).toEqual(['password=short']);
  expect(secretsOfDatabaseUrl('postgres://h/w')).toEqual([]);
});
