import { expect, test } from 'vitest';
import { describeUnknown } from '../../../src/config/unknown-variables.ts';

const SAYS = 'not a variable of safety-sync, so without effect: ';
const found = (env: Record<string, string>) => describeUnknown(env)?.replace(SAYS, '').split(', ') ?? [];

test.each([
  ['SYNC_CORN', 'SYNC_CRON'],
  ['SAFTEY_TOKEN_FILE', 'SAFETY_TOKEN_FILE'],
  ['SAFETY_EQUIPMENT_TYPE', 'SAFETY_EQUIPMENT_TYPES'],
  ['REPORT_TIMEZONE', 'REPORTING_TIMEZONE'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['SAFETY_DATABASE_URL', 'DATABASE_URL'],
  ['REQUEST_TIMEOUT', 'REQUEST_TIMEOUT_MS'],
  ['database_url', 'DATABASE_URL'],
  ['SAFETY_ACCOUNTS_FILES', 'SAFETY_ACCOUNTS_FILE'],
])('%s is named, and %s is offered in its place', (name, meant) => {
  expect(found({ [name]: 'x' })).toEqual([`${name} (did you mean ${meant}?)`]);
});

test('a variable that only begins like ours is named without another one', () => {
  expect(found({ SAFETY_COLOUR: 'x', SYNC_FILE_CRON: 'x' })).toEqual(['SAFETY_COLOUR', 'SYNC_FILE_CRON']);
});

test('an ordinary environment, and what Kubernetes adds for a service of this name, is not named', () => {
  const names = `PATH HOME HOSTNAME API_KEY API_URL API_TOKEN API_VERSION HTTP_PROXY HTTPS_PROXY NO_PROXY HTTPS_PORT HTTP_ROOT
    SMTP_HOST SMTP_PORT SMTP_SSL SMTP_PASSWORD LOG_DIR LOG_FILE POSTGRES_URL DATABASE_SAFETY_URL DB_URL REDIS_URL APP_URL BASE_URL TOKEN
    SAFETY_SYNC_IMAGE SAFETY_SYNC_CONTAINER SAFETY_SYNC_SERVICE_HOST SAFETY_SYNC_SERVICE_PORT_HTTP SAFETY_SYNC_PORT
    SAFETY_SYNC_PORT_8080_TCP_ADDR SAFETY_DB_SERVICE_HOST SAFETY_DB_PORT REPORT_SERVICE_PORT`;
  expect(found(Object.fromEntries(names.split(/\s+/).map((name) => [name, 'x'])))).toEqual([]);
  // Another program has its own beside ours, and compose files make empty ones.
  expect(found({ DATABASE_URL: 'x', DATABASE_URI: 'x', SYNC_CORN: '' })).toEqual([]);
});
