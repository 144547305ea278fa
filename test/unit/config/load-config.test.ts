import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/shared/redact.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import {
  type AccountConfig,
  describeUnlimited,
  requestsPerMinuteOf,
} from '../../../src/config/account-config.ts';
import { secretsOf } from '../../../src/config/secrets.ts';
import { recordUrlOf } from '../../../src/shared/record-urls.ts';
import { VARIABLES } from '../../../src/config/variables.ts';
import { folderForTest } from '../../support/lifetime.ts';

const load = (env: Record<string, string | undefined>, needsService = true) =>
  loadConfig(env, { needsService, isTerminal: false });
/** The one account of the variables. */
function accountOf(env: Record<string, string | undefined>, needsService = true): AccountConfig {
  const { accounts } = load(env, needsService);
  const [account] = accounts;
  if (account === undefined || accounts.length > 1) throw new Error(`there are ${accounts.length} accounts`);
  return account;
}

const good = { SAFETY_BASE_URL: 'https://service.example', SAFETY_TOKEN: 'secret-token-value' };

test('all invalid variables are reported at once, each with the expected value, and secrets are not shown', () => {
  const env = {
    ...good,
    SAFETY_TOKEN: 'two words',
    API_CONCURRENCY: '0',
    SYNC_CRON_USERS: 'sometimes',
    MAX_DELETE_RATIO: '2',
    LOG_LEVEL: 'loud',
    DATABASE_URL: 'mysql://root:hidden-password@host/db',
    SAFETY_ACCOUNT: '',
  };
  expect(problemsOf(env)).toBe(`the configuration is not usable:
  - SAFETY_TOKEN: expected an API token: one line, no spaces, got something else (not shown)
  - DATABASE_URL: expected postgres://user:password@host:port/database, got something else (not shown)
  - LOG_LEVEL: expected trace, debug, info, warn, error, fatal or silent, got "loud"
  - API_CONCURRENCY: expected a whole number from 1 to 100, got "0"
  - MAX_DELETE_RATIO: expected a number from 0 to 1, got "2"
  - SYNC_CRON_USERS: expected a cron expression of 5 or 6 fields, or off, got "sometimes"`);
});

function problemsOf(env: Record<string, string | undefined>): string {
  try {
    load(env);
  } catch (error) {
    expect(error).toMatchObject({ code: 'configuration_invalid', recovery: 'fix_usage' });
    return (error as Error).message;
  }
  throw new Error('the configuration was accepted');
}

/** The path of a file with this text. */
async function fileWith(text: string): Promise<string> {
  const path = join(await folderForTest('load-config-'), 'value');
  await writeFile(path, text);
  return path;
}

test('a webhook URL with plain http is accepted only for this machine, or if insecure http is allowed', () => {
  const webhook = { ...good, ALERT_WEBHOOK_URL: 'http://chat.example/hook' };
  expect(problemsOf(webhook)).toContain(
    'ALERT_WEBHOOK_URL: plain http:// to chat.example would send alerts in the clear; use https://, or set SAFETY_ALLOW_INSECURE_HTTP=true',
  );
  expect(load({ ...webhook, SAFETY_ALLOW_INSECURE_HTTP: 'true' }).notifications.webhookUrl).toContain(
    'http:',
  );
  expect(load({ ...good, ALERT_WEBHOOK_URL: 'http://127.0.0.1/hook' }).notifications.webhookUrl).toContain(
    'http:',
  );
});

test.each([
  'service.example.com/{id}',
  'https://service.example.com/followups',
  'javascript:alert({id})',
  'https://{id}.example.com/',
  'https://example.com:{id}/',
  'https://user:pass@service.example.com/{id}',
  'https://service.example.com/ {id}',
])('the record URL template %s is refused', (template) => {
  expect(problemsOf({ ...good, RECORD_URL_TEMPLATE_EQUIPMENT: template })).toContain(
    'RECORD_URL_TEMPLATE_EQUIPMENT: expected an https:// URL with {id}, {response_id} or {form_id} behind the host name, e.g. https://service.example.com/followups/{id}, got ',
  );
});

test.each(['CET', 'wet', '+02:00', 'Nowhere'])(
  'the reporting time zone %s is refused, because PostgreSQL does not know it or reads it as another one',
  (zone) => {
    expect(problemsOf({ ...good, REPORTING_TIMEZONE: zone })).toContain(
      `REPORTING_TIMEZONE: expected the name of a time zone with a place, such as Europe/Oslo, got "${zone}"`,
    );
  },
);

test('a record URL contains the id of the record, URL-encoded', () => {
  const { recordUrls } = load({
    ...good,
    RECORD_URL_TEMPLATE_FOLLOWUP: 'https://service.example.com/a/{id}?of={id}#x',
    RECORD_URL_TEMPLATE_EMPLOYEE: 'http://localhost/#/people/{id}',
  });
  expect(recordUrlOf(recordUrls, 'followup', { id: 'a/b?c&d#é $&' })).toBe(
    'https://service.example.com/a/a%2Fb%3Fc%26d%23%C3%A9%20%24%26?of=a%2Fb%3Fc%26d%23%C3%A9%20%24%26#x',
  );
  expect(recordUrlOf(recordUrls, 'employee', { id: '7' })).toBe('http://localhost/#/people/7');
  for (const id of [null, '', `pseudonym:${'ab'.repeat(16)}`, 'pseudonym:abababab…']) {
    expect(recordUrlOf(recordUrls, 'followup', { id })).toBeNull();
  }
  expect(recordUrlOf(recordUrls, 'resource', { id: '7' })).toBeNull();
});

test.each([
  [{}, true, { format: 'pretty', colorize: true }],
  [{ NO_COLOR: '1' }, true, { format: 'pretty', colorize: false }],
  [{ NO_COLOR: '' }, true, { format: 'pretty', colorize: true }],
  [{ LOG_FORMAT: 'json' }, true, { format: 'json' }],
  [{}, false, { format: 'json', colorize: false }],
])('with the variables %j and a terminal: %s, the log settings are %j', (env, isTerminal, log) => {
  expect(loadConfig({ ...good, ...env }, { needsService: true, isTerminal }).log).toMatchObject(log);
});

test('in the container a missing DATABASE_URL is one problem, and a malformed one is another', () => {
  const container = { ...good, SAFETY_SYNC_CONTAINER: '1' };
  const advice = 'DATABASE_URL is not set: in the container image';
  expect(problemsOf(container)).toContain(advice);
  expect(problemsOf({ ...container, DATABASE_URL: 'mysql://db/warehouse' })).not.toContain(advice);
  expect(() => load({ ...container, DATABASE_URL: 'postgres://db/warehouse' })).not.toThrow();
  expect(() => load(good)).not.toThrow();
});

test('URL and token are sufficient, and all other settings have their documented defaults', () => {
  expect(accountOf(good)).toEqual({
    accountId: 'default',
    service: { baseUrl: 'https://service.example', token: 'secret-token-value' },
    equipmentTypes: [],
    reportingTimezone: null,
    reportTitle: null,
    schedule: {
      timezone: 'UTC',
      reconcile: '30 2 * * 0',
      streams: Object.fromEntries(STREAM_NAMES.map((stream) => [stream, '*/15 * * * *'])),
    },
  });
  expect(load(good)).toMatchObject({
    api: {
      concurrency: 4,
      requestTimeoutMs: 60_000,
      mostRetries: 8,
      retryMinDelayMs: 1000,
      retryMaxDelayMs: 60_000,
    },
    followupsOverlapMs: 600_000,
    maxDeleteRatio: 0.5,
    http: { host: '127.0.0.1', port: 8080 },
    freshnessBudgetMinutes: 60,
  });
});

describe('a database URL', () => {
  const ENCODING =
    'in user and password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F and % as %25; the password p@ss/word is p%40ss%2Fword';
  const TOO_EARLY = 'user or password hold a character that ends them too early (the value is not shown)';
  const UNREADABLE = 'is not a URL that can be read (the value is not shown)';
  const PERCENT = 'a % that begins no code such as %40 must be written %25 (the value is not shown)';

  test.each([
    ['an @', 'hid@den', TOO_EARLY],
    ['an @ and a slash', 'hid@den/word', TOO_EARLY],
    ['a slash after digits', '5432/hidden', TOO_EARLY],
    ['a slash', 'hid/den', TOO_EARLY],
    ['a #', 'hid#den', TOO_EARLY],
    ['a ?', 'hid?den', TOO_EARLY],
    ['a %', 'hid%den%zz', PERCENT],
  ])(
    'a database URL with %s in its password is refused with advice on its encoding, without the password',
    (_, password, why) => {
      const DATABASE_URL = `postgres://owner:${password}@database.example/warehouse`;
      expect(problemsOf({ ...good, DATABASE_URL })).toBe(
        `the configuration is not usable:\n  - DATABASE_URL: ${why}: ${ENCODING}`,
      );
    },
  );

  test.each(['first.example,second.example', 'first.example:5432,second.example:5433'])(
    'a database URL with several hosts (%s) is refused, because only one of them would be used',
    (hosts) => {
      expect(problemsOf({ ...good, DATABASE_URL: `postgres://owner:hidden@${hosts}/warehouse` })).toBe(
        'the configuration is not usable:\n  - DATABASE_URL: names several hosts (the value is not shown): name one, or an address that always leads to the server in charge',
      );
    },
  );

  test('a database URL that is invalid for another reason is reported as unreadable', () => {
    const DATABASE_URL = 'postgres://owner:hidden@database.example:port/warehouse';
    expect(problemsOf({ ...good, DATABASE_URL })).toContain(`DATABASE_URL: ${UNREADABLE}`);
  });

  test.each([
    'postgres://owner:p%40ss%2Fword@database.example/warehouse',
    'postgresql://owner:a:b@[::1]:5432/warehouse?sslmode=require',
    'postgres://database.example/ware%25house',
    'postgres:///warehouse?host=/run/postgresql',
  ])('the database URL %s is accepted unchanged', (DATABASE_URL) => {
    expect(load({ ...good, DATABASE_URL }).databaseUrl).toBe(DATABASE_URL);
  });

  test.each([
    'DATABASE_URL_FILE',
    'SAFETY_TOKEN_FILE',
    'SAFETY_ACCOUNTS_FILE',
    'SAFETY_BASE_URL',
    'HTTP_HOST',
    'HTTP_ALLOWED_HOSTS',
  ])('a database URL in the wrong variable %s is reported without user and password', (name) => {
    const message = problemsOf({
      SAFETY_BASE_URL: good.SAFETY_BASE_URL,
      [name]: 'postgres://owner:hid@den/word@database.example /warehouse',
    });
    expect(message).toContain(name);
    expect(message).not.toMatch(/owner|hid|den\/|word@/);
  });

  test('a token in the place of its file path is not shown', () => {
    const token = '5f1c0de2a77b4e0f9c1d';
    const message = problemsOf({ SAFETY_BASE_URL: good.SAFETY_BASE_URL, SAFETY_TOKEN_FILE: token });
    expect(message).toContain(
      'SAFETY_TOKEN_FILE: cannot read the file that it names (not shown: it may be the secret itself) (ENOENT)',
    );
    expect(message).not.toContain(token);
  });
});

describe('the address of the service', () => {
  test.each([
    'https://user:password@service.example',
    'https://service.example/?token=1',
    'http://service.example',
    'service.example',
    'http://127.0.0.1.evil.example',
  ])('the service URL %s is refused', (SAFETY_BASE_URL) => {
    expect(problemsOf({ ...good, SAFETY_BASE_URL })).toContain('SAFETY_BASE_URL');
  });

  test.each([
    ['https://service.example/', 'https://service.example'],
    ['https://service.example/tenant/', 'https://service.example/tenant'],
    ['https://service.example/v1', 'https://service.example'],
    ['https://Service.example:443/tenant/v1/', 'https://service.example/tenant'],
    ['http://127.0.0.1:9', 'http://127.0.0.1:9'],
    ['http://[::1]:9', 'http://[::1]:9'],
    ['http://localhost:9', 'http://localhost:9'],
  ])('the service URL %s is accepted', (SAFETY_BASE_URL, baseUrl) => {
    expect(accountOf({ ...good, SAFETY_BASE_URL }).service).toEqual({ baseUrl, token: good.SAFETY_TOKEN });
  });

  test('a service URL with plain http for another machine is accepted if insecure http is allowed', () => {
    const env = { ...good, SAFETY_BASE_URL: 'http://service.example', SAFETY_ALLOW_INSECURE_HTTP: 'true' };
    expect(accountOf(env).service?.baseUrl).toBe('http://service.example');
  });
});

describe('NAME_FILE', () => {
  test.each(Object.keys(VARIABLES))(
    '%s is read from the file that its _FILE variable names',
    async (name) => {
      const path = await fileWith('not what is expected \u0000\n');
      const message = (() => {
        try {
          load({ ...good, [name]: undefined, [`${name}_FILE`]: path });
          return `${name}_FILE taken`;
        } catch (error) {
          return (error as Error).message;
        }
      })();
      expect(message).toContain(`${name}_FILE`);
    },
  );

  test('the line break at the end of a secret file is not part of the secret', async () => {
    const SAFETY_TOKEN_FILE = await fileWith('from-a-file\r\n');
    const env = { SAFETY_BASE_URL: good.SAFETY_BASE_URL, SAFETY_TOKEN_FILE };
    expect(accountOf(env).service?.token).toBe('from-a-file');
  });

  test('an absent secret file, an empty one, and a variable set in both forms are reported', async () => {
    const empty = await fileWith('\n');
    const url = { SAFETY_BASE_URL: good.SAFETY_BASE_URL };
    expect(problemsOf({ ...url, SAFETY_TOKEN_FILE: `${empty}-absent` })).toContain('SAFETY_TOKEN_FILE');
    expect(problemsOf({ ...url, SAFETY_TOKEN_FILE: empty })).toContain('SAFETY_TOKEN_FILE');
    expect(problemsOf({ ...good, SAFETY_TOKEN_FILE: empty })).toContain('both set');
  });
});

test('a verb that only reads the warehouse needs no service settings', () => {
  expect(accountOf({}, false).service).toBeUndefined();
});

test('lists and switches are read from variables', () => {
  const env = {
    ...good,
    SAFETY_EQUIPMENT_TYPES: ' 21, ext-23 ,,',
    SYNC_CRON: 'off',
    SYNC_CRON_FOLLOWUPS: '*/5 * * * *',
    RECONCILE_CRON: 'off',
    API_REQUESTS_PER_MINUTE: '120',
  };
  expect(problemsOf({ ...good, SAFETY_EQUIPMENT_TYPES: '21;22' })).toContain(
    'SAFETY_EQUIPMENT_TYPES: expected equipmentType_id values, separated by commas, got "21;22"',
  );
  const account = accountOf(env);
  expect(account.equipmentTypes).toEqual(['21', 'ext-23']);
  expect(account.schedule).toMatchObject({
    reconcile: null,
    streams: { followups: '*/5 * * * *', users: null, resources: null },
  });
  expect(load(env).api.requestsPerMinute).toBe(120);
});

test('a request budget is 40 a minute, or none for a service at a loopback address, unless it is set', () => {
  const [there, here] = ['https://service.example.com', 'http://127.0.0.1:4010'];
  const numberFor = (baseUrl: string, setting?: string) =>
    requestsPerMinuteOf(baseUrl, load({ ...good, API_REQUESTS_PER_MINUTE: setting }).api.requestsPerMinute);
  expect([numberFor(there), numberFor(here)]).toEqual([40, null]);
  expect([numberFor(there, '12'), numberFor(here, '12')]).toEqual([12, 12]);
  expect([numberFor(there, 'off'), numberFor(here, 'off')]).toEqual([null, null]);
  expect(problemsOf({ ...good, API_REQUESTS_PER_MINUTE: '3' })).toContain(
    'API_REQUESTS_PER_MINUTE: expected a whole number from 4 to 30000, or off',
  );
  const warned = (baseUrl: string, setting: number | null | undefined) =>
    describeUnlimited([{ accountId: 'a', service: { baseUrl, token: 't' } }], setting);
  expect(warned(there, null)).toContain('API_REQUESTS_PER_MINUTE=off: there is no request limit');
  expect([warned(here, null), warned(there, 12), warned(there, undefined)]).toEqual([null, null, null]);
});

describe('the recipients of notifications', () => {
  const mail = {
    SMTP_URL: 'smtp://me:secret-word@mail.example',
    ALERT_EMAIL_FROM: 'Safety <sync@example.com>',
  };

  test('recipients of mail need a mail server and a sender', () => {
    expect(problemsOf({ ...good, ALERT_EMAIL_TO: 'a@b.example' })).toMatch(
      /SMTP_URL is not set: the mail server for ALERT_EMAIL_TO[^]*ALERT_EMAIL_FROM is not set/,
    );
    const { notifications } = load({
      ...good,
      ...mail,
      ALERT_EMAIL_TO: 'a@b.example, Boss <boss@b.example>',
    });
    expect(notifications).toMatchObject({
      mail: { smtpUrl: mail.SMTP_URL, from: mail.ALERT_EMAIL_FROM },
      alertEmailTo: ['a@b.example', 'Boss <boss@b.example>'],
      alertAfterMinutes: 15,
      report: undefined,
    });
  });

  test('a scheduled report needs a schedule and a destination', () => {
    expect(problemsOf({ ...good, REPORT_DIR: '/reports' })).toContain('REPORT_CRON is not set');
    expect(problemsOf({ ...good, REPORT_CRON: '0 7 * * 1' })).toContain(
      'set REPORT_EMAIL_TO, REPORT_DIR, or both',
    );
    const env = { ...good, REPORT_CRON: '0 7 * * 1', REPORT_DIR: '/reports' };
    expect(load(env).notifications.report).toMatchObject({
      cron: '0 7 * * 1',
      emailTo: [],
      folder: '/reports',
    });
    const areas = 'field_office=Houston – Pasadena: a@example.com, b@example.com;\n supervisor=Ruth Santos';
    expect(load({ ...env, ...mail, REPORT_AREAS: areas }).notifications.report?.areas).toEqual([
      {
        area: { kind: 'field_office', name: 'Houston – Pasadena' },
        emailTo: ['a@example.com', 'b@example.com'],
      },
      { area: { kind: 'supervisor', name: 'Ruth Santos' }, emailTo: [] },
    ]);
    expect(() => load({ ...env, REPORT_DIR: '', REPORT_AREAS: areas })).toThrow(
      'an area without addresses needs REPORT_DIR',
    );
    expect(() => load({ ...env, REPORT_AREAS: 'office=Houston: a@example.com' })).toThrow(
      'REPORT_AREAS: expected KIND=NAME',
    );
    expect(load({ ...env, REPORT_CRON: 'off' }).notifications.report).toBeUndefined();
  });

  test.each([
    [
      'ALERT_WEBHOOK_URL',
      'hooks.example/secret-word',
      'expected the https:// URL of a webhook, got something else',
    ],
    ['ALERT_HEARTBEAT_URL', 'ping.example/secret-word', 'expected the https:// URL that a service waits'],
    ['SMTP_URL', 'smtp://me:secret-word%@mail.example', 'expected smtp://user:password@host:port'],
    ['ALERT_EMAIL_TO', 'nobody', 'expected mail addresses, separated by commas'],
  ])('an unusable value of %s is reported without its secret', (name, value, problem) => {
    const said = problemsOf({ ...good, ...mail, [name]: value });
    expect(said).toContain(`${name}: ${problem}`);
    expect(said).not.toContain('secret-word');
  });

  test('webhook URLs, their paths and every spelling of a password are redacted', () => {
    const redact = createRedactor(
      secretsOf(
        load({
          ...good,
          ...mail,
          ALERT_EMAIL_TO: 'a@b.example',
          ALERT_WEBHOOK_URL: 'https://hooks.example/T1/secret-path',
          ALERT_HEARTBEAT_URL: 'https://ping.example/T2/secret-path',
        }),
      ),
    );
    for (const text of [
      'POST /T1/secret-path',
      'GET /T2/secret-path',
      'smtp://me:secret-word@mail',
      'secret-word',
    ]) {
      expect(redact(text)).toContain('[secret]');
      expect(redact(text)).not.toMatch(/secret-(path|word)/);
    }
  });
});
