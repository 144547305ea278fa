import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Config, loadConfig } from '../../../src/config/load-config.ts';
import { folderForTest } from '../../support/lifetime.ts';

let folder: string;
beforeEach(async () => {
  folder = await folderForTest('accounts-file-');
});

interface Loading {
  readonly env?: Record<string, string>;
  readonly accounts?: readonly string[];
}

async function load(content: string, { env = {}, accounts = [] }: Loading = {}): Promise<Config> {
  const path = join(folder, 'accounts.yaml');
  await writeFile(path, content);
  return loadConfig(
    { SAFETY_ACCOUNTS_FILE: path, ...env },
    { needsService: true, isTerminal: false, accounts },
  );
}

/** The lines of the one error with all problems. */
async function problemsOf(content: string, env: Record<string, string> = {}): Promise<string[]> {
  const error: unknown = await load(content, { env }).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ code: 'configuration_invalid', recovery: 'fix_usage' });
  return (error as Error).message
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^ {2}- /, '').replace(`${folder}/`, ''));
}

const NORTH = `- name: north
  base_url: https://north.example/
  token: north-token
`;

describe('an accounts file', () => {
  test('an accounts file sets values for each account, and variables set the others', async () => {
    const tokenFile = join(folder, 'south');
    await writeFile(tokenFile, 'south-token\n');
    const config = await load(
      `${NORTH}
- name: south
  base_url: https://south.example
  token_file: south
  equipment_types: [0021, ext-22, 12345678901234567890]
  reporting_timezone: Europe/Oslo
  report_title: South Ltd
  report_email_to: south@example.com, Boss <boss@example.com>
  schedule:
    all: "*/30 * * * *"
    users: off
    timezone: Europe/Oslo
`,
      {
        env: {
          ...{ SYNC_CRON: '*/10 * * * *', SYNC_CRON_FOLLOWUPS: 'off', REPORTING_TIMEZONE: 'Asia/Tokyo' },
          ...{ SMTP_URL: 'smtp://mail.example', ALERT_EMAIL_FROM: 'a@example.com', REPORT_CRON: '0 7 * * 1' },
        },
      },
    );
    expect(config.accounts).toMatchObject([
      {
        accountId: 'north',
        service: { baseUrl: 'https://north.example', token: 'north-token' },
        equipmentTypes: [],
        reportingTimezone: 'Asia/Tokyo',
        schedule: { timezone: 'UTC', streams: { resources: '*/10 * * * *', followups: null } },
      },
      {
        accountId: 'south',
        service: { baseUrl: 'https://south.example', token: 'south-token', tokenFile },
        // Exactly as written: neither zeros nor digits are lost.
        equipmentTypes: ['0021', 'ext-22', '12345678901234567890'],
        reportingTimezone: 'Europe/Oslo',
        reportTitle: 'South Ltd',
        reportEmailTo: ['south@example.com', 'Boss <boss@example.com>'],
        schedule: { timezone: 'Europe/Oslo', streams: { followups: '*/30 * * * *', users: null } },
      },
    ]);
    expect(config.secrets).toEqual(expect.arrayContaining(['north-token', 'south-token']));
  });

  test('an accounts file can be JSON, or use YAML anchors for common values', async () => {
    const entries = [
      { name: 'a', base_url: 'https://a.example', token: 't', equipment_types: [21], report_title: null },
    ];
    expect((await load(JSON.stringify(entries, null, 2))).accounts).toMatchObject([
      { accountId: 'a', equipmentTypes: ['21'], reportTitle: null },
    ]);
    // More than the parser's usual limit of aliases.
    const more = Array.from({ length: 120 }, (_, index) => `- { <<: *north, name: a${index} }`);
    const { accounts } = await load(`
- &north { name: north, base_url: https://one.example, token: t }
- { <<: *north, name: south, schedule: off }
- { <<: *north, name: west, schedule: '5 * * * *' }
${more.join('\n')}
`);
    expect(accounts).toHaveLength(123);
    expect(accounts.slice(0, 3)).toMatchObject([
      { accountId: 'north', service: { baseUrl: 'https://one.example' } },
      { accountId: 'south', schedule: { reconcile: null, streams: { followups: null } } },
      { accountId: 'west', schedule: { reconcile: '30 2 * * 0', streams: { followups: '5 * * * *' } } },
    ]);
  });

  test('the account of the variables is the first account, and without it the file has all accounts', async () => {
    const env = { SAFETY_BASE_URL: 'https://own.example', SAFETY_TOKEN: 'own-token', SAFETY_ACCOUNT: 'own' };
    const names = async (extra: Record<string, string>) =>
      (await load(NORTH, { env: extra })).accounts.map(({ accountId }) => accountId);
    expect(await names(env)).toEqual(['own', 'north']);
    expect(await names({})).toEqual(['north']);
    expect(await problemsOf(NORTH, { SAFETY_EQUIPMENT_TYPES: '21' })).toEqual([
      expect.stringMatching(/^SAFETY_BASE_URL is not set/),
      expect.stringMatching(/^SAFETY_TOKEN is not set/),
    ]);
  });

  test('an account name is used once, in the file and in the variables', async () => {
    const own = { SAFETY_BASE_URL: 'https://own.example', SAFETY_TOKEN: 't', SAFETY_ACCOUNT: 'north' };
    for (const [content, env, entry] of [
      [NORTH, own, 1],
      [NORTH + NORTH, {}, 2],
    ] as const) {
      expect(await problemsOf(content, env)).toEqual([
        `SAFETY_ACCOUNTS_FILE, entry ${entry} (north), name: expected one of its own, another account has it`,
      ]);
    }
  });
});

describe('problems of an accounts file', () => {
  test('all problems of an accounts file are reported together, with entry, key and expected value', async () => {
    const problems = await problemsOf(
      `- name: north wind
  base_url: http://north.example
  token: two words
- name: east
  token_file: absent
  id: 7
  schedule:
    folowups: off
    users: daily
- just a text
-
- base_url: { at: https://west.example }
  name:
`,
      { HTTP_PORT: 'eighty' },
    );
    expect(problems).toMatchInlineSnapshot(`
      [
        "HTTP_PORT: expected a port, 0 to 65535, got "eighty"",
        "SAFETY_ACCOUNTS_FILE, entry 1, token: expected an API token: one line, no spaces, got something else (not shown)",
        "SAFETY_ACCOUNTS_FILE, entry 1, name: expected 1 to 100 letters, digits or _ . @ : -, got "north wind"",
        "SAFETY_ACCOUNTS_FILE, entry 1, base_url: plain http:// to north.example would send the token in the clear; use https://, or set allow_insecure_http: true",
        "SAFETY_ACCOUNTS_FILE, entry 2 (east), id: no such key, there are name, base_url, token, token_file, equipment_types, reporting_timezone, report_title, report_email_to, allow_insecure_http, schedule.all, schedule.resources, schedule.followups, schedule.training-employee-status, schedule.equipments, schedule.completed-trainings, schedule.names, schedule.users, schedule.reconcile, schedule.timezone",
        "SAFETY_ACCOUNTS_FILE, entry 2 (east), schedule.folowups: no such key, did you mean schedule.followups?",
        "SAFETY_ACCOUNTS_FILE, entry 2 (east), token_file: cannot read the file that it names (ENOENT)",
        "SAFETY_ACCOUNTS_FILE, entry 2 (east), schedule.users: expected a cron expression of 5 or 6 fields, or off, got "daily"",
        "SAFETY_ACCOUNTS_FILE, entry 2 (east), base_url is not set: the service’s address, e.g. https://service.example.com",
        "SAFETY_ACCOUNTS_FILE, entry 3, expected a map with name, base_url and token",
        "SAFETY_ACCOUNTS_FILE, entry 4, expected a map with name, base_url and token",
        "SAFETY_ACCOUNTS_FILE, entry 5, base_url: expected a text, or a list of texts",
        "SAFETY_ACCOUNTS_FILE, entry 5, name is not set: account_id of its rows",
        "SAFETY_ACCOUNTS_FILE, entry 5, base_url is not set: the service’s address, e.g. https://service.example.com",
        "SAFETY_ACCOUNTS_FILE, entry 5, token is not set: the API token (or token_file)",
      ]
    `);
  });

  test.each([
    ['name: north', 'expected a list of accounts, each with name, base_url and token'],
    ['[]', 'expected a list of accounts, each with name, base_url and token'],
    ['- name: "north', 'is neither YAML nor JSON at line 1'],
    ['- name: a\n  name: b', 'is neither YAML nor JSON at line 2'],
    ['- *nobody', 'refers to an anchor that it does not have'],
  ])('an accounts file with the content %j is refused', async (content, problem) => {
    expect(await problemsOf(content)).toEqual([`SAFETY_ACCOUNTS_FILE: accounts.yaml ${problem}`]);
  });

  test.each([
    [
      'under the right key',
      '- { name: canary-secret-token, base_url: canary-secret-token, token: canary-secret-token }',
    ],
    ['of a file that is no YAML', '- name: x\n  token: canary-secret-token: "\n canary-secret-token'],
    ['that is taken for an alias', '- token: *canary-secret-token'],
    ['that is no token', '- { name: canary-secret and more, token: canary-secret and more }'],
    ['of a file of its own', '- { name: canary-secret-token, token_file: token }'],
  ])('no problem shows a token %s', async (_, content) => {
    await writeFile(join(folder, 'token'), 'canary-secret-token\n');
    expect((await problemsOf(content)).join('\n')).not.toContain('canary-secret');
  });
});

const THREE = `${NORTH}- &south { name: south, base_url: https://south.example, token: t }
- { <<: *south, name: centre }
`;

test('--account selects accounts, in the order of the file; an unknown name is an error that lists the existing ones', async () => {
  const { accounts } = await load(THREE, { accounts: ['centre', 'north', 'centre'] });
  expect(accounts.map(({ accountId }) => accountId)).toEqual(['north', 'centre']);
  await expect(load(THREE, { accounts: ['south', 'west', 'east'] })).rejects.toMatchObject({
    code: 'usage_invalid',
    message: '--account: no account is named west, east; there are north, south, centre',
  });
});
