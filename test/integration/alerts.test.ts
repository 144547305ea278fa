/** Alerts as a webhook and a mail server of the test receive them, in a time that the test moves. */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Channel } from '../../src/operate/alerts/channel.ts';
import type { OffReasons } from '../../src/config/account-config.ts';
import { createMail } from '../../src/operate/alerts/mail.ts';
import { CLAIM_MS, createNotifier, type Notifier } from '../../src/operate/alerts/notifier.ts';
import { createWebhook } from '../../src/operate/alerts/webhook.ts';
import type { Outage } from '../../src/operate/health/outage-log.ts';
import type { Logger } from '../../src/shared/logger.ts';
import { createRedactor } from '../../src/shared/redact.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/shared/time.ts';
import { type AccountsRead, readAccounts } from '../../src/operate/status/read-accounts.ts';
import { startAppStage } from '../support/app-stage.ts';
import { createGate } from '../support/gate.ts';
import { HOOK_SECRET, startHookServer } from '../support/hook-server.ts';
import { runInProcess } from '../support/in-process.ts';
import { forAllTests, forEachTest } from '../support/lifetime.ts';
import { MAIL_PASSWORD, startMailServer } from '../support/mail-server.ts';
import { createTestWorker } from '../support/worker.ts';

const AFTER_MS = 15 * MINUTE_MS;
const CANARY = 'canary-of-a-record';
/** Looks rest longer where a look takes long. */
const SOON = { timeout: 45_000, interval: 200 };

const worker = forAllTests(() =>
  createTestWorker({
    mostRetries: 0,
    sandbox: { size: { followups: 5, employees: 3, equipment: 4, resources: 3, users: 4 } },
  }),
);

const hook = forEachTest(() => startHookServer());
const mail = forEachTest(() => startMailServer());
/** How far the test has moved the time. */
let passedMs = 0;
/** How far our own clock has gone since. */
let clockPassedMs = 0;
let pendingMigrations = 0;
let outage: Outage | undefined;

beforeAll(async () => {
  for (const result of await worker.runAll()) expect(result.outcome).toBe('succeeded');
});
beforeEach(async () => {
  outage = undefined;
  worker.sandbox.faults.clear();
  worker.sandbox.access.set('active');
  passedMs = 0;
  clockPassedMs = 0;
  pendingMigrations = 0;
  await worker.query('truncate safety_sync.outbox');
  await succeed();
});

interface NotifyingWorker extends Notifier {
  /** Reads the warehouse, looks, and waits until what was due is sent. */
  lookAndSend(): Promise<void>;
  readonly lines: { readonly level: string; readonly text: string }[];
}

interface Options {
  readonly owner?: string;
  readonly channels?: readonly Channel[];
  readonly offReasons?: OffReasons;
  readonly afterMs?: number;
  readonly attemptMs?: number;
}

/** One worker's alerts. */
function startNotifying({
  owner = 'host pid 1',
  afterMs = AFTER_MS,
  offReasons = {},
  ...options
}: Options = {}): NotifyingWorker {
  const channels = options.channels ?? [createWebhook(hook.url)];
  let seen: AccountsRead | null = null;
  const lines: { level: string; text: string }[] = [];
  const redact = createRedactor([hook.url, `/services/${HOOK_SECRET}`, MAIL_PASSWORD]);
  // As the log of the program does.
  const hear = (level: string) => (_: unknown, text: string) =>
    void lines.push({ level, text: redact(text) });
  const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') };
  // The database's time is as far ahead of ours as the test has moved it.
  const clock = { now: () => Date.now() + clockPassedMs, monotonicMs: () => performance.now() + passedMs };
  const alerts = createNotifier({
    channels,
    accounts: [{ id: 'default', offReasons, config: { service: undefined, reportingTimezone: null } }],
    latest: () => ({ seen, problem: outage === undefined ? null : 'connect ECONNREFUSED 10.0.0.7' }),
    outage: () => outage,
    db: worker.connection.db,
    clock,
    version: '1.2.3',
    owner,
    afterMs,
    freshnessBudgetMinutes: 60,
    log: log as unknown as Logger,
    redact,
    stopTimeoutMs: 200,
    attemptMs: options.attemptMs ?? 10 * SECOND_MS,
    onOutcome: () => undefined,
  });
  onTestFinished(() => alerts.stop());
  return {
    ...alerts,
    get status() {
      return alerts.status;
    },
    lines,
    async lookAndSend() {
      if (outage === undefined) {
        const read = await readAccounts(worker.connection, ['default']);
        seen = {
          ...read,
          databaseNowMs: read.databaseNowMs + passedMs + clockPassedMs,
          readAtMs: read.readAtMs + clockPassedMs,
          pendingMigrations,
        };
      }
      await alerts.look();
      await alerts.idle();
    },
  };
}

/** A worker that is killed when it has claimed an alert: it neither sends the alert nor releases the claim. */
function startDying({ andFails = false } = {}) {
  const claimed = createGate();
  const buried = createGate();
  const send = async () => {
    claimed.open();
    await buried.opened;
    if (andFails) throw new Error('too late');
    return [];
  };
  const dead = startNotifying({
    owner: 'dead',
    channels: [{ name: 'webhook', place: 'the webhook', send }],
    afterMs: 0,
    attemptMs: HOUR_MS,
  });
  const bury = async (): Promise<void> => {
    buried.open();
    await dead.idle();
  };
  return { claimed: claimed.opened, dead, bury };
}

const fail = async (): Promise<void> => {
  worker.sandbox.faults.set({ reset: 1 });
  expect((await worker.run('resources', { force: true })).outcome).toBe('failed');
  worker.sandbox.faults.clear();
};
const succeed = async (): Promise<void> => {
  expect((await worker.run('resources', { force: true })).outcome).toBe('succeeded');
};

it('a failing stream causes one message after ALERT_AFTER_MINUTES, and one when it succeeds again', async () => {
  const one = startNotifying();
  await fail();
  await one.lookAndSend();
  passedMs += AFTER_MS - MINUTE_MS;
  await one.lookAndSend();
  expect(hook.texts).toEqual([]);
  passedMs += 2 * MINUTE_MS;
  await one.lookAndSend();
  await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ Resources fails \(network_error\); since \d+ \w+ \d+, \d\d:\d\d \(UTC\)\.\n {3}What to do: The service cannot be reached; check SAFETY_BASE_URL/,
    ),
  ]);
  expect(one.status).toEqual({
    open: 1,
    failedReports: [],
    channels: [{ name: 'webhook', waiting: 0, problem: null }],
  });
  await succeed();
  passedMs += 5 * MINUTE_MS;
  await one.lookAndSend();
  await one.lookAndSend();
  expect(hook.texts.slice(1)).toEqual([
    expect.stringMatching(
      /^✓ Resources succeeds again; it began .* and was over after 2\d min\.\n– safety-sync 1\.2\.3, account default, host pid 1$/,
    ),
  ]);
  expect(one.status.open).toBe(0);
});

it('a problem that ends before its alert is due causes no message', async () => {
  const one = startNotifying();
  await fail();
  await one.lookAndSend();
  await succeed();
  passedMs += AFTER_MS - MINUTE_MS;
  await one.lookAndSend();
  passedMs += HOUR_MS / 2;
  await one.lookAndSend();
  expect(hook.bodies).toEqual([]);
});

it('a problem that ends and begins again causes two more messages', async () => {
  const one = startNotifying({ afterMs: 0 });
  for (let round = 0; round < 2; round += 1) {
    await fail();
    passedMs += SECOND_MS;
    await one.lookAndSend();
    await succeed();
    passedMs += SECOND_MS;
    await one.lookAndSend();
  }
  expect(hook.texts.map((text) => text.charAt(0))).toEqual(['✗', '✓', '✗', '✓']);
});

it('only one of several workers sends the alert of a problem and the message of its end', async () => {
  const workers = ['a', 'b', 'c', 'd'].map((owner) => startNotifying({ owner, afterMs: 0 }));
  await fail();
  await Promise.all(workers.map((one) => one.lookAndSend()));
  await Promise.all(workers.map((one) => one.lookAndSend()));
  expect(hook.texts).toHaveLength(1);
  await succeed();
  passedMs += SECOND_MS;
  await Promise.all(workers.map((one) => one.lookAndSend()));
  await Promise.all(workers.map((one) => one.lookAndSend()));
  expect(hook.texts.map((text) => text.charAt(0))).toEqual(['✗', '✓']);
});

it('an interrupted run does not end the alert of a failing stream, because the stream has not succeeded', async () => {
  const one = startNotifying({ afterMs: 0 });
  await fail();
  await one.lookAndSend();
  await worker.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, finished_at, error_code, owner,
      backend_pid, program_version)
    values ('default', 'resources', 'sync', 'manual', 'failed', now(), 'interrupted', 'host pid 1', 1, '1.0.0')`);
  passedMs += SECOND_MS;
  await one.lookAndSend();
  expect(hook.texts).toEqual([expect.stringContaining('✗ Resources fails')]);
});

it('if a stream fails for another reason than before, no message reports a success before it succeeds', async () => {
  const one = startNotifying({ afterMs: 0 });
  await fail();
  await one.lookAndSend();
  worker.sandbox.access.set('inactive');
  await worker.run('resources', { force: true });
  passedMs += SECOND_MS;
  await one.lookAndSend();
  worker.sandbox.access.set('active');
  await succeed();
  passedMs += SECOND_MS;
  await one.lookAndSend();
  expect(hook.texts.slice(1)).toEqual([
    expect.stringMatching(/^✗ The service refuses the credentials[^✓]*$/),
    expect.stringMatching(/✓ Resources succeeds again/),
  ]);
});

it('the alert about refused credentials is over when a stream succeeds, although another stream fails for its own reason', async () => {
  const one = startNotifying({ afterMs: 0 });
  worker.sandbox.access.set('inactive');
  await worker.run('resources', { force: true });
  await one.lookAndSend();
  worker.sandbox.access.set('active');
  worker.sandbox.access.setMethod('equipments.list', 'without-permission');
  await worker.run('equipments');
  await succeed();
  passedMs += SECOND_MS;
  await one.lookAndSend();
  worker.sandbox.access.setMethod('equipments.list', 'active');
  await worker.run('equipments');
  expect(hook.texts).toEqual([
    expect.stringContaining('✗ The service refuses the credentials'),
    expect.stringMatching(/✗ The service does not let this token read equipments[^]*✓ The service accepts/),
  ]);
});

it('a problem that begins again is sent although a killed worker has claimed the message of its end', async () => {
  const other = startNotifying({ owner: 'other', afterMs: 0 });
  await fail();
  await other.lookAndSend();
  await succeed();
  passedMs += SECOND_MS;
  const { claimed, dead, bury } = startDying();
  void dead.lookAndSend();
  await claimed;
  await fail();
  passedMs += CLAIM_MS;
  await other.lookAndSend();
  expect(hook.texts.map((text) => text.charAt(0))).toEqual(['✗', '✗']);
  await bury();
});

it('if a failing stream is switched off, its alert ends without a message, because the stream has not succeeded', async () => {
  const before = startNotifying({ afterMs: 0 });
  await fail();
  await before.lookAndSend();
  const after = startNotifying({ afterMs: 0, offReasons: { resources: 'not scheduled' } });
  passedMs += SECOND_MS;
  await after.lookAndSend();
  passedMs += CLAIM_MS;
  await after.lookAndSend();
  expect(hook.texts).toEqual([expect.stringContaining('✗ Resources fails')]);
  expect(after.status.open).toBe(0);
});

it('an alert of a channel that is no longer configured is not counted as open', async () => {
  const mailed = startNotifying({
    afterMs: 0,
    channels: [{ name: 'mail', place: 'mail', send: () => Promise.resolve([]) }],
  });
  await fail();
  await mailed.lookAndSend();
  expect(mailed.status.open).toBe(1);
  await succeed();
  passedMs += SECOND_MS;
  const one = startNotifying({ afterMs: 0 });
  await one.lookAndSend();
  expect(one.status.open).toBe(0);
});

it('an alert that a killed worker has claimed is sent by another worker when the claim ends, and not earlier', async () => {
  const { claimed, dead, bury } = startDying();
  const other = startNotifying({ owner: 'other', afterMs: 0 });
  await fail();
  void dead.lookAndSend();
  await claimed;
  await other.lookAndSend();
  expect(hook.texts).toEqual([]);
  passedMs += CLAIM_MS;
  await other.lookAndSend();
  expect(hook.texts).toEqual([expect.stringContaining('Resources fails')]);
  await bury();
});

it('if a problem ends during the claim of a killed worker, another worker sends one message with its beginning and its end', async () => {
  const { claimed, dead, bury } = startDying();
  const other = startNotifying({ owner: 'other', afterMs: 0 });
  await fail();
  void dead.lookAndSend();
  await claimed;
  await succeed();
  passedMs += SECOND_MS;
  await other.lookAndSend();
  passedMs += CLAIM_MS;
  await other.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✓ Over before it was sent: resources fails \(network_error\); it began .* and was over after/,
    ),
  ]);
  await bury();
});

it('if a problem ends after the claim of a killed worker, its end is sent, because its beginning may have been sent', async () => {
  const { claimed, dead, bury } = startDying();
  const other = startNotifying({ owner: 'other', afterMs: 0 });
  await fail();
  void dead.lookAndSend();
  await claimed;
  passedMs += CLAIM_MS;
  await succeed();
  await other.lookAndSend();
  expect(hook.texts).toEqual([expect.stringMatching(/^✓ Over before it was sent: resources fails/)]);
  await bury();
});

it('a worker that fails to send after the end of its claim does not change the alert', async () => {
  const { claimed, dead, bury } = startDying({ andFails: true });
  const other = startNotifying({ owner: 'other', afterMs: 0 });
  await fail();
  void dead.lookAndSend();
  await claimed;
  passedMs += CLAIM_MS;
  await other.lookAndSend();
  await bury();
  passedMs += MINUTE_MS;
  await other.lookAndSend();
  expect(hook.texts).toEqual([expect.stringContaining('Resources fails')]);
  expect(other.status.channels[0]?.waiting).toBe(0);
});

it('a message that was sent when the database broke is not sent again', async () => {
  const sent = createGate();
  const goOn = createGate();
  const slow: Channel = {
    name: 'webhook',
    place: 'the webhook',
    async send(message, signal) {
      await createWebhook(hook.url).send(message, signal);
      sent.open();
      await goOn.opened;
      return [];
    },
  };
  const one = startNotifying({ channels: [slow], afterMs: 0 });
  await fail();
  const sending = one.lookAndSend();
  await sent.opened;
  // It has been sent, and cannot be recorded.
  await worker.query('alter table safety_sync.outbox rename to outbox_away');
  goOn.open();
  await sending;
  await worker.query('alter table safety_sync.outbox_away rename to outbox');
  await one.lookAndSend();
  passedMs += CLAIM_MS + SECOND_MS;
  await one.lookAndSend();
  expect(hook.texts).toHaveLength(1);
  expect(
    (await worker.query<{ sent: boolean }>('select sent_at is not null as sent from safety_sync.outbox'))[0]
      ?.sent,
  ).toBe(true);
});

it('if the outbox cannot be used, one error is logged, one alert is sent without it, and the status shows the problem until it can be used', async () => {
  const one = startNotifying({ afterMs: 0 });
  await fail();
  await worker.query('alter table safety_sync.outbox rename to outbox_away');
  await one.lookAndSend();
  await one.lookAndSend();
  await worker.query('alter table safety_sync.outbox_away rename to outbox');
  expect(one.status.channels[0]?.problem).toBe(
    'they cannot be recorded in the database (database_not_migrated)',
  );
  expect(one.lines.filter(({ level }) => level === 'error')).toEqual([
    {
      level: 'error',
      text: expect.stringMatching(/^no alerts and reports are sent, because they cannot/) as string,
    },
  ]);
  expect(hook.texts).toEqual([
    expect.stringMatching(/^✗ The database cannot be used by host pid 1 \(database_not_migrated\)/),
  ]);
  expect(one.status.open).toBe(1);
  await one.lookAndSend();
  expect(one.status.channels[0]?.problem).toBeNull();
  await one.lookAndSend();
  expect(hook.texts.slice(1)).toEqual([
    expect.stringMatching(/^✗ Resources fails/),
    expect.stringMatching(/^✓ The database is back/),
  ]);
});

it.each([
  ['refuses', 500, 'HTTP 500: no such hook: [secret]'],
  ['hangs', 'hang', 'no response within 1.5 s'],
] as const)(
  'a webhook that %s delays no mail, is tried again, and every worker shows its problem',
  async (_, answer, problem) => {
    hook.answer = answer;
    const mails = createMail({ smtpUrl: mail.url, from: 'sync@example.com' }, ['you@example.com']);
    const one = startNotifying({ channels: [createWebhook(hook.url), mails], afterMs: 0, attemptMs: 1_500 });
    const other = startNotifying({ owner: 'other' });
    await fail();
    await one.lookAndSend();
    expect(mail.mails).toHaveLength(1);
    expect(one.status.channels[0]).toEqual({ name: 'webhook', waiting: 0, problem });
    await other.lookAndSend();
    expect(other.status.channels[0]).toEqual({ name: 'webhook', waiting: 1, problem });
    const asked = hook.bodies.length;
    await one.lookAndSend();
    expect(hook.bodies).toHaveLength(asked);
    hook.answer = 200;
    passedMs += MINUTE_MS;
    await one.lookAndSend();
    await one.lookAndSend();
    expect(hook.texts).toHaveLength(1);
    expect(mail.mails).toHaveLength(1);
    expect(one.status.channels[0]).toEqual({ name: 'webhook', waiting: 0, problem: null });
    expect(one.lines.filter(({ level }) => level === 'error')).toEqual([
      { level: 'error', text: expect.stringContaining('safety-sync alerts test') as string },
    ]);
    expect(JSON.stringify(one.lines)).not.toContain(HOOK_SECRET);
  },
);

it('an endless response of a webhook is read up to a limit, and no part of the secret is shown', async () => {
  const signal = AbortSignal.timeout(30_000);
  const message = { subject: 'x', text: 'x', html: 'x' };
  const path = new URL(hook.url).pathname;
  hook.says = `${'x'.repeat(120 - 15)}${path} `;
  const channel = createWebhook(hook.url);
  await channel.send(message, signal);
  hook.answer = 500;
  const refused = await channel.send(message, signal).catch((error: unknown) => (error as Error).message);
  expect(refused).toBe(`HTTP 500: ${'x'.repeat(105)}[secret] ${'x'.repeat(6)}`);
  hook.says = `${'x'.repeat(105)}${path.slice(0, 15)}`;
  const cut = await channel.send(message, signal).catch((error: unknown) => (error as Error).message);
  expect(cut).toBe(`HTTP 500: ${'x'.repeat(105)}[secret]${'x'.repeat(7)}`);
});

it('an endless response of a mail server ends the attempt with EPROTOCOL', async () => {
  mail.behaviour = 'flood';
  const mails = createMail({ smtpUrl: mail.url, from: 'sync@example.com' }, ['you@example.com']);
  const sent = mails.send({ subject: 'x', text: 'x', html: 'x' }, AbortSignal.timeout(30_000));
  await expect(sent).rejects.toThrow(/EPROTOCOL/);
});

it('a mail server that hangs does not delay the webhook, and is tried again', async () => {
  mail.behaviour = 'hang';
  const mails = createMail({ smtpUrl: mail.url, from: 'sync@example.com' }, ['you@example.com']);
  const one = startNotifying({ channels: [createWebhook(hook.url), mails], afterMs: 0, attemptMs: 1_500 });
  await fail();
  await one.lookAndSend();
  expect(hook.texts).toHaveLength(1);
  expect(one.status.channels[1]).toMatchObject({ name: 'mail', problem: 'no response within 1.5 s' });
  mail.behaviour = 'take';
  passedMs += MINUTE_MS;
  await one.lookAndSend();
  expect(mail.mails.map(({ subject }) => subject)).toEqual(['[safety-sync] Resources fails (network_error)']);
  expect(hook.texts).toHaveLength(1);
});

it('if a problem ends before a channel has accepted its alert, one message reports its beginning and its end', async () => {
  hook.answer = 503;
  const one = startNotifying({ afterMs: 0 });
  await fail();
  await one.lookAndSend();
  await succeed();
  hook.answer = 200;
  passedMs += MINUTE_MS;
  await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✓ Over before it was sent: resources fails \(network_error\); it began .* and was over after/,
    ),
  ]);
});

it('while a failing stream runs again no message is sent, and none after the run has succeeded', async () => {
  const one = startNotifying();
  await fail();
  await one.lookAndSend();
  const asked = createGate();
  const answer = createGate();
  worker.sandbox.hooks.beforeResponse = async () => {
    asked.open();
    await answer.opened;
  };
  const running = worker.run('resources', { force: true });
  await asked.opened;
  for (let minutes = 0; minutes < 30; minutes += 5) {
    passedMs += 5 * MINUTE_MS;
    await one.lookAndSend();
  }
  worker.sandbox.hooks.beforeResponse = undefined;
  answer.open();
  expect((await running).outcome).toBe('succeeded');
  for (let minutes = 0; minutes < 5; minutes += 1) {
    passedMs += MINUTE_MS;
    await one.lookAndSend();
  }
  expect(hook.bodies).toEqual([]);
});

it('refused credentials cause one message with advice for all streams', async () => {
  const one = startNotifying({ afterMs: 0 });
  worker.sandbox.access.set('inactive');
  for (const stream of ['resources', 'followups']) await worker.run(stream, { force: true });
  await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ The service refuses the credentials \(token_inactive\); nothing is synced there; .*\n {3}What to do: The token was deactivated/,
    ),
  ]);
  worker.sandbox.access.set('active');
  for (const stream of ['resources', 'followups']) await worker.run(stream, { force: true });
  passedMs += SECOND_MS;
  await one.lookAndSend();
  expect(hook.texts[1]).toMatch(/^✓ The service accepts the credentials again;/);
});

it('streams that become stale together are reported in one line', async () => {
  const one = startNotifying();
  passedMs += 2 * HOUR_MS;
  await one.lookAndSend();
  passedMs += AFTER_MS;
  await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ [a-zA-Z-]+, [a-z-]+, [a-z-]+, [a-z-]+ and [a-z-]+ are stale: no success within 60 min; since .*\n {3}What to do: Its last run did not fail/,
    ),
  ]);
});

it('a new field of the service and the repairs of a reconcile are sent at once, in one message', async () => {
  const one = startNotifying();
  worker.sandbox.hooks.rewriteResponse = ({ method }, response) =>
    method === 'resources.list'
      ? {
          ...response,
          resources: (response['resources'] as object[]).map((record) => ({
            ...record,
            'severity<!here>': CANARY,
          })),
        }
      : response;
  await succeed();
  await worker.query(
    `insert into safety_sync.runs (account_id, stream, kind, trigger, status, repaired, finished_at, owner, program_version, backend_pid)
     values ('default', 'followups', 'reconcile', 'manual', 'succeeded', 3, clock_timestamp(), 'test', '1.0.0', 1)`,
  );
  await one.lookAndSend();
  expect(hook.texts).toHaveLength(1);
  expect(hook.texts[0]).toContain('The service sends new fields: severity??here? of resources;');
  expect(hook.texts[0]).toContain('Reconcile of followups stored 3 changes that earlier syncs had missed;');
  worker.sandbox.hooks.rewriteResponse = undefined;
  await worker.query('delete from safety_sync.runs where repaired is not null');
});

it('a failed reconcile remains an alert until a reconcile succeeds, although syncs succeed', async () => {
  const one = startNotifying();
  const reconcile = async (status: string, code: string | null) =>
    await worker.query(
      `insert into safety_sync.runs (account_id, stream, kind, trigger, status, error_code, finished_at, owner, program_version, backend_pid)
       values ('default', 'resources', 'reconcile', 'schedule', '${status}', ${code === null ? 'null' : `'${code}'`}, clock_timestamp(), 'test', '1.0.0', 1)`,
    );
  const look = async () => {
    await one.lookAndSend();
    await one.lookAndSend();
  };
  await reconcile('failed', 'read_incomplete');
  await reconcile('failed', 'interrupted');
  await succeed();
  await look();
  passedMs += AFTER_MS;
  await look();
  expect(hook.texts).toEqual([
    expect.stringMatching(/^✗ Reconcile of resources fails \(read_incomplete\); since /),
  ]);
  await reconcile('succeeded', null);
  await look();
  expect(hook.texts[1]).toMatch(/^✓ Reconcile of resources succeeds again;/);
  await worker.query(`delete from safety_sync.runs where kind = 'reconcile'`);
});

it('no alert contains a secret or a text that the service or a gateway has sent', async () => {
  const mails = createMail({ smtpUrl: mail.url, from: 'sync@example.com' }, ['you@example.com']);
  const one = startNotifying({ channels: [createWebhook(hook.url), mails], afterMs: 0 });
  worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({
    ...response,
    ok: false,
    error: CANARY,
    description: `${CANARY} and ${worker.sandbox.token}`,
  });
  await worker.run('followups', { force: true });
  worker.sandbox.hooks.rewriteResponse = undefined;
  worker.sandbox.faults.next(
    () => true,
    { kind: 'nonJson', httpStatus: 200, body: `<html>${CANARY}</html>` },
    1,
  );
  await worker.run('resources', { force: true });
  expect(JSON.stringify(await worker.query('select * from safety_sync.runs'))).toContain(CANARY);
  await one.lookAndSend();
  expect(hook.texts[0]).toContain('Followups fails (service_error_unknown)');
  expect(mail.mails[0]?.parts['text/html']).toContain('response_not_json');
  const sent = JSON.stringify([
    hook.bodies,
    mail.mails,
    one.lines,
    await worker.query('select * from safety_sync.outbox'),
  ]);
  for (const secret of [CANARY, worker.sandbox.token, HOOK_SECRET, MAIL_PASSWORD])
    expect(sent).not.toContain(secret);
  expect((await worker.run('followups', { force: true })).outcome).toBe('succeeded');
});

it('a warehouse that lacks migrations causes a message, but not in the minutes in which a starting worker applies them', async () => {
  pendingMigrations = 1;
  const one = startNotifying({ afterMs: 0 });
  await one.lookAndSend();
  expect(hook.bodies).toEqual([]);
  clockPassedMs = 6 * MINUTE_MS;
  await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ The database cannot be used by host pid 1 \(database_not_migrated\);.*\n.*Run: safety-sync migrate/,
    ),
  ]);
  pendingMigrations = 0;
  await one.lookAndSend();
  await one.lookAndSend();
  expect(hook.texts[1]).toMatch(/^✓ The database is back; it began .* and was over after 6 min/);
});

it('an unreachable database causes one message from each worker that cannot use it, and its return causes a single message', async () => {
  const workers = ['a', 'b'].map((owner) => startNotifying({ owner }));
  for (const one of workers) await one.lookAndSend();
  const sinceMs = Date.now();
  outage = {
    dependency: 'database',
    sinceMs,
    failedRuns: 0,
    code: 'database_unreachable',
    message: CANARY,
    advice: 'Raise max_connections.',
  };
  for (const one of workers) await one.lookAndSend();
  expect(hook.texts).toEqual([]);
  outage = { ...outage, sinceMs: sinceMs - AFTER_MS };
  const late = startNotifying({ owner: 'c' });
  for (const one of [late, late]) await one.lookAndSend();
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ The database cannot be used by c \(database_unreachable\);.*\n {3}What to do: Raise max_connections\.\n/,
    ),
  ]);
  expect(late.status.open).toBe(1);
  const again = startNotifying({ owner: 'd' });
  await again.lookAndSend();
  expect(hook.texts).toHaveLength(2);
  outage = undefined;
  for (const one of [late, again, ...workers, late]) await one.lookAndSend();
  expect(hook.texts.slice(2)).toEqual([
    expect.stringMatching(/^✓ The database is back; it began .* and was over after 15 min/),
  ]);
});

describe('alerts of a worker', () => {
  it('a worker sends alerts by itself, and its page, its JSON and its metrics show when no channel accepts them', async () => {
    hook.answer = 404;
    const stage = await startAppStage(worker, {
      everyMs: 50,
      env: {
        ALERT_WEBHOOK_URL: hook.url,
        ALERT_AFTER_MINUTES: '0',
        RETRY_ATTEMPTS: '0',
        SYNC_CRON: '0 0 1 1 *',
      },
    });
    await fail();
    const asked = async (path: string) => await (await fetch(`${stage.url}${path}`)).text();
    await expect
      .poll(() => asked('/'), SOON)
      .toContain(
        'Alerts do not arrive by the webhook (HTTP 404: no such hook: [secret]); 1 alert waits. Try it: safety-sync alerts test.',
      );
    expect(await asked('/')).not.toContain(HOOK_SECRET);
    expect(JSON.parse(await asked('/api/status'))).toMatchObject({
      alerts: {
        open: 1,
        channels: [{ name: 'webhook', waiting: 1, problem: 'HTTP 404: no such hook: [secret]' }],
      },
    });
    expect(await asked('/metrics')).toMatch(/^safety_sync_alerts_arrive\{.*\} 0$/m);
    expect(await asked('/metrics')).toMatch(
      /^safety_sync_alerts_total\{channel="webhook",outcome="not_taken".*\} 1$/m,
    );
    hook.answer = 200;
    // As if half a minute had passed.
    await worker.query(`update safety_sync.outbox set due_at = began_at where due_at is not null`);
    await expect.poll(() => hook.texts, SOON).toHaveLength(1);
    await expect.poll(() => asked('/'), SOON).not.toContain('Alerts do not arrive');
    await succeed();
    await expect.poll(() => hook.texts, SOON).toHaveLength(2);
    expect(await asked('/metrics')).toMatch(
      /^safety_sync_alerts_total\{channel="webhook",outcome="sent".*\} 2$/m,
    );
  });

  it('a worker that stops leaves its unsent alerts to another worker', async () => {
    hook.answer = 'hang';
    const stopped = startNotifying({ owner: 'stopped', afterMs: 0, attemptMs: HOUR_MS });
    await fail();
    const sending = stopped.lookAndSend();
    await hook.next();
    hook.answer = 200;
    const stopping = stopped.stop();
    await Promise.all([sending, stopping]);
    await startNotifying({ owner: 'other' }).lookAndSend();
    expect(hook.texts).toEqual([expect.stringContaining('Resources fails')]);
  });
});

describe('safety-sync alerts', () => {
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runInProcess(['alerts', ...args], { DATABASE_URL: worker.databaseUrl, ...env });
  const mailed = () => ({
    SMTP_URL: mail.url,
    ALERT_EMAIL_FROM: 'Sync <sync@example.com>',
    ALERT_EMAIL_TO: 'you@example.com',
  });

  it('alerts test sends one message through each channel without a database, and prints the result of each', async () => {
    const { code, stdout } = await run(['test'], {
      ALERT_WEBHOOK_URL: hook.url,
      DATABASE_URL: '',
      ...mailed(),
    });
    expect(stdout.replace(/:\d+/g, ':PORT')).toBe(
      'taken by the webhook at 127.0.0.1:PORT: look whether it is there\ntaken by the mail server 127.0.0.1:PORT: look whether it is there\n',
    );
    expect(code).toBe(0);
    expect(hook.texts).toEqual(['✓ This is a test: alerts of safety-sync arrive here.']);
    expect(mail.mails.map(({ from, to, subject }) => [from, to, subject])).toEqual([
      ['sync@example.com', ['you@example.com'], '[safety-sync] Test'],
    ]);
  });

  it.each([
    ['refuse', 'EENVELOPE at RCPT TO: 550 no such user'],
    ['unauthorized', 'EAUTH at AUTH PLAIN: 535 no: AUTH PLAIN'],
  ] as const)(
    'alerts test prints the response of a mail server with the behaviour %s, and no secret',
    async (behaviour, problem) => {
      mail.behaviour = behaviour;
      hook.answer = 404;
      const { code, stdout, stderr } = await run(['test'], { ALERT_WEBHOOK_URL: hook.url, ...mailed() });
      expect(code).toBe(1);
      expect(stdout).toContain('HTTP 404: no such hook: [secret]\n  Check ALERT_WEBHOOK_URL');
      expect(stdout).toContain(problem);
      const said = `${stdout}${stderr}`;
      for (const secret of [
        HOOK_SECRET,
        MAIL_PASSWORD,
        Buffer.from(`\0worker\0${MAIL_PASSWORD}`).toString('base64'),
      ])
        expect(said).not.toContain(secret);
    },
  );

  it('alerts test fails and prints the recipient that a mail server refuses, although the other recipients get the message', async () => {
    const { code, stdout } = await run(['test'], {
      ...mailed(),
      ALERT_EMAIL_TO: 'you@example.com,unknown@example.com',
    });
    expect(mail.mails.map(({ to }) => to)).toEqual([['you@example.com']]);
    expect(stdout).toMatch(
      /^not taken by .*: it refused unknown@example\.com \(550 no such user\)\n {2}Correct ALERT_EMAIL_TO/,
    );
    expect(code).toBe(1);
  });

  it('alerts test without a configured channel prints the variables to set', async () => {
    const { code, stderr } = await run(['test']);
    expect(code).toBe(2);
    expect(stderr).toContain('no channel is configured for alerts');
    expect(stderr).toContain('Set ALERT_WEBHOOK_URL, or SMTP_URL with ALERT_EMAIL_FROM and ALERT_EMAIL_TO.');
  });

  it('alerts lists each open problem with its channel and whether it was sent', async () => {
    expect(await run([])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No alert is open.') as string,
    });
    const one = startNotifying({ afterMs: 0 });
    await fail();
    await one.lookAndSend();
    expect((await run([])).stdout).toMatch(
      /^since +what +by +state\n\S+ \S+ +resources fails \(network_error\) +webhook +sent\n$/,
    );
    expect(JSON.parse((await run(['--json'])).stdout)).toMatchObject({
      alerts: [
        {
          account_id: 'default',
          event: 'stream_failing',
          subject: 'resources',
          code: 'network_error',
          ended_at: null,
        },
      ],
      is_well: false,
    });
    // No worker has recorded that it is over.
    await succeed();
    expect(await run([])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/webhook +over; no worker/) as string,
    });
  });

  it('alerts and status exit with 1 if the warehouse has a problem, whether or not a worker has recorded it', async () => {
    const both = async (env: Readonly<Record<string, string>> = {}) => {
      const all = { DATABASE_URL: worker.databaseUrl, SAFETY_EQUIPMENT_TYPES: '21', ...env };
      const [alerts, status] = [await runInProcess(['alerts'], all), await runInProcess(['status'], all)];
      expect(alerts.code).toBe(status.code);
      return { code: status.code, alerts: alerts.stdout, status: status.stdout };
    };
    expect((await both()).code).toBe(0);
    await fail();
    expect(await both()).toMatchObject({
      code: 1,
      alerts: expect.stringMatching(
        /^– +resources fails \(network_error\) +– +not sent: no channel is configured/m,
      ) as string,
    });
    expect((await both({ SYNC_CRON_RESOURCES: 'off' })).code).toBe(1);
    await succeed();
    await worker.query(
      `update safety_sync.stream_state set last_success_at = now() - interval '61 min' where stream = 'users'`,
    );
    expect(await both()).toMatchObject({
      code: 1,
      alerts: expect.stringContaining('users is stale') as string,
    });
    expect((await both({ SYNC_CRON_USERS: 'off' })).code).toBe(0);
    expect((await both({ FRESHNESS_BUDGET_MINUTES: '70' })).code).toBe(0);
    await worker.query(`update safety_sync.stream_state set last_success_at = null where stream = 'users'`);
    expect(await both()).toMatchObject({
      code: 1,
      alerts: expect.stringContaining('not every stream is synced') as string,
    });
    await worker.query(`update safety_sync.stream_state set last_success_at = now() where stream = 'users'`);
  });

  it('alerts and status report a missing worker if no run has followed a tick of the schedule', async () => {
    const codes = async (env: Readonly<Record<string, string>> = {}) => {
      const all = {
        DATABASE_URL: worker.databaseUrl,
        FRESHNESS_BUDGET_MINUTES: '3000',
        SYNC_CRON: '0 * * * * *',
        ...env,
      };
      const answers = [await runInProcess(['alerts'], all), await runInProcess(['status'], all)];
      const text = /^No worker has been seen for 2 h: none runs with this schedule/m;
      return answers.map(({ code, stdout }) => [code, text.test(stdout)]);
    };
    const [well, missing] = [
      [0, false],
      [1, true],
    ];
    const age = (minutes: number, condition: string) =>
      worker.query(
        `update safety_sync.runs set finished_at = now() - interval '${minutes} min' where ${condition}`,
      );
    await worker.query(`update safety_sync.stream_state set checked_at_database = null`);
    await age(120, 'true');
    // A stream that only runs by hand needs no worker.
    expect(await codes()).toEqual([well, well]);
    await worker.query(`update safety_sync.runs set trigger = 'schedule' where stream = 'users'`);
    expect(await codes()).toEqual([missing, missing]);
    expect(await codes({ SYNC_CRON: 'off' })).toEqual([well, well]);
    // A tick a year, in a month that is not this one.
    const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
    expect(await codes({ SYNC_CRON: `0 0 1 ${month} *` })).toEqual([well, well]);
    // The trigger does not matter.
    await age(2, "stream = 'resources'");
    expect(await codes()).toEqual([well, well]);
  });
});
