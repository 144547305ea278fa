import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/shared/redact.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { describeUnlimited, requestsPerMinuteOf } from '../../../src/config/account-config.ts';
import { offReasonOf } from '../../../src/operate/status/facts.ts';
import { listSettings } from '../../support/settings.ts';
import { isLoopback } from '../../../src/shared/loopback.ts';
import { isRecordUrlTemplate, recordUrlOf } from '../../../src/shared/record-urls.ts';
import { createUrlReader } from '../../../src/config/read-variables.ts';
import { VARIABLES } from '../../../src/config/variables.ts';
import { folderForTest } from '../../support/lifetime.ts';

type Env = Readonly<Record<string, string | undefined>>;
const load = (env: Env, needsService = true) => loadConfig(env, { needsService, isTerminal: false });
const accountOf = (env: Env) => load(env).accounts[0];

const good = { SAFETY_BASE_URL: 'https://service.example', SAFETY_TOKEN: 'secret-token-value' };

function problemsOf(env: Env): string {
  try {
    load(env);
  } catch (error) {
    expect(error).toMatchObject({ code: 'configuration_invalid', recovery: 'fix_usage' });
    return (error as Error).message;
  }
  throw new Error('the configuration was accepted');
}

async function fileWith(text: string): Promise<string> {
  const path = join(await folderForTest('load-config-'), 'value');
  await writeFile(path, text);
  return path;
}

test('all invalid variables are reported at once, each with the expected value, and secrets are not shown', () => {
  const env = {
    ...good,
    SAFETY_TOKEN: 'two words',
    HTTP_PORT: '65536',
    API_CONCURRENCY: '0',
    API_REQUESTS_PER_MINUTE: '3',
    SYNC_CRON_USERS: 'sometimes',
    MAX_DELETE_RATIO: '2',
    LOG_LEVEL: 'loud',
    DATABASE_URL: 'jdbc:postgresql://root:hidden@password@host/db',
    REPORTING_TIMEZONE: 'CET',
    SAFETY_EQUIPMENT_TYPES: '21;22',
    SAFETY_ACCOUNT: '',
    ALERT_EMAIL_TO: 'nobody',
    ALERT_WEBHOOK_URL: 'hooks.example/secret-word',
    SMTP_URL: 'smtp://me:secret-word%@mail.example',
    RECORD_URL_TEMPLATE_EQUIPMENT: 'https://{id}.example.com/',
    RECORD_URL_TEMPLATE_EMPLOYEE: 'https://service.example.com/{id}/{user}',
    USERS_KEEP: 'email,phone',
  };
  expect(problemsOf(env)).toMatchInlineSnapshot(`
    "the configuration is not usable:
      - SAFETY_TOKEN: expected an API token: one line, no spaces, got something else (not shown)
      - SAFETY_EQUIPMENT_TYPES: expected equipmentType_id values, separated by commas, got "21;22"
      - DATABASE_URL: expected postgres://user:password@host:port/database, got something else (not shown)
      - REPORTING_TIMEZONE: expected the name of a time zone with a place, such as Europe/Oslo, got "CET"
      - USERS_KEEP: expected any of email, username, phones, emergency_contacts, metavalues, separated by commas, got "email,phone"
      - HTTP_PORT: expected a port, 0 to 65535, got "65536"
      - LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, got "loud"
      - ALERT_WEBHOOK_URL: expected the https:// URL of a webhook, got something else (not shown)
      - SMTP_URL: expected smtp://user:password@host:port, or smtps://, got something else (not shown)
      - ALERT_EMAIL_TO: expected mail addresses, separated by commas, got "nobody"
      - RECORD_URL_TEMPLATE_EQUIPMENT: expected an https:// URL with {id}, {response_id} or {form_id} behind the host name, e.g. https://service.example.com/followups/{id}, got "https://{id}.example.com/"
      - RECORD_URL_TEMPLATE_EMPLOYEE: expected an https:// URL with {id}, {response_id} or {form_id} behind the host name, e.g. https://service.example.com/followups/{id}, got "https://service.example.com/{id}/{user}"
      - API_CONCURRENCY: expected a whole number from 1 to 100, got "0"
      - API_REQUESTS_PER_MINUTE: expected a whole number from 4 to 30000, or off, got "3"
      - MAX_DELETE_RATIO: expected a number from 0 to 1, got "2"
      - SYNC_CRON_USERS: expected a cron expression of 5 or 6 fields, or off, got "sometimes""
  `);
  expect(problemsOf({ ...good, SMTP_URL: 'smtp:mail.example' })).toContain('SMTP_URL: expected smtp://');
  for (const REPORTING_TIMEZONE of ['cet', 'Oslo', '+02:00'])
    expect(problemsOf({ ...good, REPORTING_TIMEZONE })).toContain('the name of a time zone with a place');
});

test('URL and token are sufficient, and every setting that .env.example names exists and has the default shown there', () => {
  expect(accountOf(good)).toMatchObject({
    accountId: 'default',
    service: { baseUrl: 'https://service.example', token: 'secret-token-value' },
    equipmentTypes: [],
    schedule: {
      timezone: 'UTC',
      reconcile: '30 2 * * 0',
      streams: Object.fromEntries(STREAM_NAMES.map((stream) => [stream, '*/15 * * * *'])),
    },
  });
  const settings = listSettings();
  expect(settings.map(({ name }) => name).toSorted()).toEqual(Object.keys(VARIABLES).toSorted());
  for (const { name, value } of settings.filter((one) => one.value !== '')) {
    const form = VARIABLES[name as keyof typeof VARIABLES];
    expect([form?.parse(undefined) ?? form?.parse(value)], name).toEqual([form?.parse(value)]);
  }
});

test('a variable that lacks because it is misspelt is a problem together with the misspelt one', () => {
  const { SAFETY_TOKEN, ...others } = good;
  expect(problemsOf({ ...others, SAFETY_TOKN: SAFETY_TOKEN })).toMatch(
    /SAFETY_TOKEN is not set[^]*SAFETY_TOKN \(did you mean SAFETY_TOKEN\?\)/,
  );
});

test('plain http is accepted only for this machine, or if insecure http is allowed', () => {
  for (const name of ['SAFETY_BASE_URL', 'ALERT_WEBHOOK_URL', 'ALERT_HEARTBEAT_URL']) {
    for (const host of ['127.0.0.1.evil.example', 'evil-localhost'])
      expect(problemsOf({ ...good, [name]: `http://${host}/hook` })).toMatch(
        new RegExp(`${name}: plain http:// to ${host} .*SAFETY_ALLOW_INSECURE_HTTP=true`),
      );
    load({ ...good, [name]: 'http://service.example', SAFETY_ALLOW_INSECURE_HTTP: 'true' });
    for (const host of ['127.0.0.1:9', '[::1]:9', 'localhost']) load({ ...good, [name]: `http://${host}/` });
  }
  expect(isLoopback('::1')).toBe(true);
});

test.each([
  ['https://service.example/', 'https://service.example'],
  ['https://Service.example:443/v1', 'https://service.example'],
  ['https://service.example/v1/of//v1/', 'https://service.example/v1/of'],
])('the service URL %s is accepted', (SAFETY_BASE_URL, baseUrl) => {
  expect(accountOf({ ...good, SAFETY_BASE_URL })?.service?.baseUrl).toBe(baseUrl);
});

test.each([
  ['https://me@service.example', 'leave user and password out'],
  ['https://:word@service.example', 'leave user and password out'],
  ['https://service.example?a', 'leave out what follows'],
  ['https://service.example#a', 'leave out what follows'],
  ['ftp://service.example', 'expected an https:// URL'],
])('the service URL %s is refused', (SAFETY_BASE_URL, problem) => {
  expect(problemsOf({ ...good, SAFETY_BASE_URL })).toContain(`SAFETY_BASE_URL: ${problem}`);
});

test('a record URL contains the id of the record, URL-encoded', () => {
  const { recordUrls } = load({
    ...good,
    RECORD_URL_TEMPLATE_FOLLOWUP: 'https://service.example.com/a/{id}?of={id}#x',
  });
  expect(recordUrlOf(recordUrls, 'followup', { id: 'a/b?c&d#é $&' })).toBe(
    'https://service.example.com/a/a%2Fb%3Fc%26d%23%C3%A9%20%24%26?of=a%2Fb%3Fc%26d%23%C3%A9%20%24%26#x',
  );
  for (const id of [null, '', `pseudonym:${'ab'.repeat(16)}`])
    expect(recordUrlOf(recordUrls, 'followup', { id })).toBeNull();
  expect(recordUrlOf(recordUrls, 'resource', { id: '7' })).toBeNull();
  expect(recordUrlOf({ resource: 'https://a.example/{form_id}/{id}' }, 'resource', { id: '7' })).toBeNull();
});

test.each(
  `https://me@a.example/{id},https://:word@a.example/{id},https://a.example/a b/{id},https://a.example/all,ftp://a.example/{id},
a.example/{id},https://%{id}e.example/,https://4{id}94967296/`.split(/,\s?/),
)('the record URL %s is refused', (template) => {
  expect(isRecordUrlTemplate(template)).toBe(false);
});

test('in the container a missing DATABASE_URL is a problem', () => {
  const container = { ...good, SAFETY_SYNC_CONTAINER: '1' };
  expect(problemsOf(container)).toContain('DATABASE_URL is not set: in the container image');
  load({ ...container, DATABASE_URL: 'postgres://db/warehouse' });
});

test.each(['hid@den', 'hid@den/word', '5432/hidden', 'hid#den', 'hid?den', 'hid%den%zz'])(
  'a database URL with the password %s is refused with advice on its encoding, without the password',
  (password) => {
    const said = problemsOf({ ...good, DATABASE_URL: `postgres://owner:${password}@database.example/wh` });
    expect(said).toMatch(/DATABASE_URL: .*in user and password write @ as %40/);
    expect(said).not.toContain(password);
  },
);

test.each(['DATABASE_URL_FILE', 'SAFETY_TOKEN_FILE', 'SAFETY_ACCOUNTS_FILE', 'SAFETY_BASE_URL', 'HTTP_HOST'])(
  'a secret in the wrong variable %s is not shown',
  (name) => {
    const secret = 'postgres://owner:hid@den/word@database.example /warehouse';
    const said = problemsOf({ SAFETY_BASE_URL: good.SAFETY_BASE_URL, [name]: secret });
    expect(said).toMatch(new RegExp(`${name}: (?:expected|cannot read)`));
    expect(said).not.toMatch(/owner|hid|den\/|word@/);
  },
);

test('every variable is read from the file that its _FILE variable names, without the line break at its end', async () => {
  const path = await fileWith('no; \u0000\r\n');
  const env = Object.fromEntries(Object.keys(VARIABLES).map((name) => [`${name}_FILE`, path]));
  const said = problemsOf(env);
  for (const name of Object.keys(VARIABLES)) expect(said, name).toContain(`${name}_FILE: `);
  const SAFETY_TOKEN_FILE = await fileWith('\ufefffrom-a-file\r\n');
  const url = { SAFETY_BASE_URL: good.SAFETY_BASE_URL };
  expect(accountOf({ ...url, SAFETY_TOKEN_FILE })?.service?.token).toBe('from-a-file');
  expect(problemsOf({ ...url, SAFETY_TOKEN_FILE: await fileWith('\n') })).toContain(
    '_FILE: the file is empty',
  );
  expect(problemsOf({ ...good, SAFETY_TOKEN_FILE })).toContain('both set');
  const DATABASE_URL_FILE = await fileWith('postgres://host/warehouse\n');
  expect(load({ ...good, DATABASE_URL_FILE })).toMatchObject({
    ...{ databaseUrl: 'postgres://host/warehouse', databaseUrlFile: DATABASE_URL_FILE },
  });
});

test('only the password of a replaced URL takes effect, because another server or database requires a restart', async () => {
  const url = 'postgres://u:old@host:5432/warehouse';
  const path = await fileWith('');
  const news: string[] = [];
  const readUrl = createUrlReader(url, path, (changed) => news.push(changed));
  expect(readUrl()).toBe(url);
  for (const other of ['postgres://u:new@other:5432/warehouse', 'postgres://u:p@ss@host:5432/warehouse']) {
    await writeFile(path, other);
    expect(readUrl()).toBe(url);
  }
  const changed = 'postgres://u:new@host:5432/warehouse';
  await writeFile(path, `${changed}\n`);
  expect([readUrl(), readUrl(), news]).toEqual([changed, changed, [changed]]);
  expect(createUrlReader(url, undefined, () => undefined)()).toBe(url);
});

test('a verb that only reads the warehouse needs no service settings', () => {
  for (const env of [{}, { SAFETY_BASE_URL: good.SAFETY_BASE_URL }])
    expect(load(env, false).accounts).toMatchObject([{ service: undefined }]);
  expect(problemsOf({})).toMatch(/SAFETY_BASE_URL is not set[^]*SAFETY_TOKEN is not set/);
});

test('a request budget is 40 a minute, or none for a service at a loopback address, unless it is set', () => {
  const [there, here] = ['https://service.example.com', 'http://127.0.0.1:4010'];
  const numberFor = (baseUrl: string, setting?: string) =>
    requestsPerMinuteOf(baseUrl, load({ ...good, API_REQUESTS_PER_MINUTE: setting }).api.requestsPerMinute);
  expect([numberFor(there), numberFor(here)]).toEqual([40, null]);
  expect([numberFor(there, '12'), numberFor(here, '12')]).toEqual([12, 12]);
  expect([numberFor(there, 'off'), numberFor(here, 'off')]).toEqual([null, null]);
  const warned = (baseUrl: string, setting: number | null | undefined) =>
    describeUnlimited([{ service: { baseUrl } }], setting);
  expect(warned(there, null)).toContain('API_REQUESTS_PER_MINUTE=off: there is no request limit');
  expect([warned(here, null), warned(there, 12), warned(there, undefined)]).toEqual([null, null, null]);
  const both = [here, there].map((baseUrl) => ({ service: { baseUrl } }));
  expect(describeUnlimited([...both, { service: undefined }], null)).not.toBeNull();
});

const mail = {
  SMTP_URL: 'smtp://me:secret-word@mail.example',
  ALERT_EMAIL_FROM: 'Safety <sync@example.com>',
};

test.each([
  [{ ALERT_EMAIL_TO: 'a@b.example' }, ['SMTP_URL', 'ALERT_EMAIL_FROM']],
  [{ REPORT_EMAIL_TO: 'a@b.example' }, ['SMTP_URL', 'ALERT_EMAIL_FROM', 'REPORT_CRON']],
  [{ REPORT_DIR: '/reports' }, ['REPORT_CRON']],
])('with %j, %j must be set', (env, needed) => {
  const said = problemsOf({ ...good, ...env });
  expect(said.match(/\w+(?= is not set)/g)).toEqual(needed);
});

test('a scheduled report needs a destination, and mail a server and a sender', () => {
  const REPORT_CRON = '0 7 * * 1';
  expect(problemsOf({ ...good, REPORT_CRON })).toContain('set REPORT_EMAIL_TO, REPORT_DIR, or both');
  const reportOf = (env: Env) => load({ ...good, REPORT_CRON, ...env }).notifications.report;
  expect(reportOf({ REPORT_DIR: '/reports' })).toMatchObject({ cron: REPORT_CRON, folder: '/reports' });
  expect(reportOf({ REPORT_DIR: '/reports', REPORT_CRON: 'off' })).toBeUndefined();
  const { mail: sender, report } = load({ ...good, ...mail }).notifications;
  expect([sender, report]).toEqual([{ smtpUrl: mail.SMTP_URL, from: mail.ALERT_EMAIL_FROM }, undefined]);
  for (const env of [{ SMTP_URL: mail.SMTP_URL }, { ALERT_EMAIL_FROM: mail.ALERT_EMAIL_FROM }])
    expect(load({ ...good, ...env }).notifications.mail).toBeUndefined();
});

test('webhook URLs, their paths and every spelling of a password are redacted', () => {
  const config = load({
    ...good,
    ...mail,
    ALERT_WEBHOOK_URL: 'https://hooks.example/T1/secret-path',
    ALERT_HEARTBEAT_URL: 'https://ping.example/T2/secret-path',
    PRIVACY_KEY: 'secret-word of privacy',
    DATABASE_URL: 'postgres://me:secret-path@host/warehouse',
  });
  const redact = createRedactor(config.secrets);
  for (const text of [
    'POST /T1/secret-path',
    'GET /T2/secret-path',
    'secret-word',
    'me:secret-path@',
    'secret-word of privacy',
  ])
    expect(redact(text)).not.toMatch(/secret-(path|word)|privacy/);
  expect(load({ ...good, ALERT_WEBHOOK_URL: 'https://hooks.example/T1/abcd' }).secrets).toEqual([
    ...[good.SAFETY_TOKEN, 'https://hooks.example/T1/abcd', '/T1/abcd'],
  ]);
  expect(load({}, false).secrets).toEqual([]);
  // A short one may be a word, too.
  const { secrets } = load({ ...good, ...mail, SMTP_URL: 'smtp://me:pass@mail.example' });
  expect(createRedactor(secrets)('pass: smtp://me:pass@other')).toBe('pass: smtp://[secret]other');
});

test('a log is pretty and in colours at a terminal, unless LOG_FORMAT or NO_COLOR is set', () => {
  const logOf = (env: Env, isTerminal: boolean) =>
    loadConfig({ ...good, ...env }, { needsService: true, isTerminal }).log;
  expect(logOf({}, true)).toEqual({ level: 'info', format: 'pretty', colorize: true });
  expect(logOf({ NO_COLOR: '1', LOG_FORMAT: 'json' }, true)).toMatchObject({
    ...{ format: 'json', colorize: false },
  });
  expect(logOf({}, false)).toMatchObject({ format: 'json', colorize: false });
});

test('each limit has a variable of its own', () => {
  const env = {
    ...{ API_CONCURRENCY: '1', REQUEST_TIMEOUT_MS: '2', RETRY_ATTEMPTS: '3' },
    ...{ RETRY_MIN_DELAY_MS: '4', RETRY_MAX_DELAY_MS: '5', FOLLOWUPS_OVERLAP_MS: '6' },
    ...{ RETENTION_DELETED_DAYS: '7', RETENTION_RUNS_DAYS: '8', RETENTION_ISSUES_DAYS: '9' },
    ...{ HTTP_HOST: 'h', HTTP_PORT: '65535', HTTP_ALLOWED_HOSTS: 'a.example, ,b', HTTP_REPORT: 'yes' },
    ...{ FRESHNESS_BUDGET_MINUTES: '11', MAX_DELETE_RATIO: '0.12', USERS_KEEP: 'email, phones' },
    REPORTING_TIMEZONE: 'UTC',
  };
  expect(load({ ...good, ...env })).toMatchObject({
    api: { concurrency: 1, requestTimeoutMs: 2, mostRetries: 3, retryMinDelayMs: 4, retryMaxDelayMs: 5 },
    runs: { followupsOverlapMs: 6, maxDeleteRatio: 0.12, sliceConcurrency: 1 },
    retention: { deletedDays: 7, runsDays: 8, issuesDays: 9 },
    http: { host: 'h', port: 65_535, allowedHosts: ['a.example', 'b'], hasReport: true },
    freshnessBudgetMinutes: 11,
    privacy: { keep: ['email', 'phones'] },
  });
});

test('settings that are usable and perhaps a mistake are warnings', () => {
  const { unlimited, unknown } = load({ ...good, API_REQUESTS_PER_MINUTE: 'off', SYNC_CORN: 'x' }).warnings;
  expect([unlimited, unknown].join()).toMatch(/no request limit.*SYNC_CORN/);
  expect(load(good).warnings).toEqual({ unlimited: null, unknown: null });
});

test.each([
  ['resources', true, null, {}, null],
  ['resources', true, null, { SYNC_CRON: 'off' }, 'not scheduled'],
  ['completed-trainings', false, 1, {}, 'not offered'],
  ['equipments', false, null, {}, 'no equipment types'],
  ['equipments', false, 1, {}, null],
  ['equipments', false, null, { SAFETY_EQUIPMENT_TYPES: '21' }, null],
])(
  '%s, offered: %s, read at: %s, with %j, is off because: %s',
  (stream, isOffered, lastSuccessMs, env, why) => {
    const [account] = load({ ...good, ...env }).accounts;
    expect(account && offReasonOf(account, { stream, isOffered, lastSuccessMs })).toBe(why);
  },
);

test('pseudonyms need a key', () => {
  expect(problemsOf({ ...good, PRIVACY_PSEUDONYMIZE: 'users.name' })).toContain('PRIVACY_KEY is not set');
});
