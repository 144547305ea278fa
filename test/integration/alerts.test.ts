/** Alerts as a webhook and a mail server of the test receive them, in a time that the test moves. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../src/operate/alerts/channel.ts';
import { createWebhook } from '../../src/operate/alerts/webhook.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/shared/time.ts';
import { startAppFixture } from '../support/app-fixture.ts';
import { HOOK_SECRET, startHookServer } from '../support/hook-server.ts';
import { runInProcess } from '../support/in-process.ts';
import { forAllTests, forEachTest } from '../support/lifetime.ts';
import { MAIL_PASSWORD, startMailServer } from '../support/mail-server.ts';
import { createNotifyFixture } from '../support/notify-fixture.ts';
import { createTestWorker } from '../support/world.ts';
import { CRANES } from '../support/equipment-types.ts';

const AFTER_MS = 15 * MINUTE_MS;
const CANARY = 'canary-of-a-record';

const worker = forAllTests(() =>
  createTestWorker({
    mostRetries: 0,
    sandbox: { size: { followups: 5, employees: 3, equipment: 4, resources: 3, users: 4 } },
  }),
);
const hook = forEachTest(() => startHookServer());
const mail = forEachTest(() => startMailServer());
const fixture = createNotifyFixture(worker);
const pass = fixture.pass.bind(fixture);

/** Streams succeed at this moment of the fixture's time. */
const setSuccess = (streams = 'true') =>
  worker.query(`update safety_sync.stream_state
    set last_success_at = clock_timestamp() + interval '${fixture.passedMs} milliseconds' where ${streams}`);

beforeAll(async () => {
  await worker.syncAll();
});
beforeEach(async () => {
  Object.assign(fixture, { passedMs: 0, away: null });
  worker.sandbox.faults.clear();
  worker.sandbox.access.set('active');
  await worker.query(`truncate safety_sync.outbox, safety_sync.runs, safety_sync.data_issues`);
  await setSuccess();
});

type Options = Parameters<typeof fixture.start>[1] & { readonly afterMinutes?: number };

/** The alerts of one worker, by default by the webhook and at once. */
const start = (
  { afterMinutes = 0, ...options }: Options = {},
  env: Readonly<Record<string, string>> = { ALERT_WEBHOOK_URL: hook.url },
) => fixture.start({ ALERT_AFTER_MINUTES: String(afterMinutes), ...env }, options);

const byMail = () => ({
  SMTP_URL: mail.url,
  ALERT_EMAIL_FROM: 'Sync <sync@example.com>',
  ALERT_EMAIL_TO: 'you@example.com',
});
const byBoth = () => ({ ALERT_WEBHOOK_URL: hook.url, ...byMail() });

interface Run {
  readonly stream?: string;
  readonly kind?: string;
  readonly code?: string;
  readonly repaired?: number;
}
/** A run that failed with a code, or succeeded. */
async function addRun({ stream = 'resources', kind = 'sync', code, repaired }: Run = {}): Promise<void> {
  const now = `clock_timestamp() + interval '${fixture.passedMs} milliseconds'`;
  await worker.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, error_code, repaired, started_at, finished_at, owner,
      program_version, backend_pid)
    values ('default', '${stream}', '${kind}', 'manual', '${code === undefined ? 'succeeded' : 'failed'}',
      ${code === undefined ? 'null' : `'${code}'`}, ${repaired ?? 'null'}, ${now}, ${now},
      'test', '1.0.0', 1)`);
  if (code === undefined) await setSuccess(`stream = '${stream}'`);
}
const fail = () => addRun({ code: 'server_error' });
const succeed = () => addRun();

/** The sign of each message: ✗ for a beginning, ✓ for an end. */
const signs = () => hook.texts.map((text) => text.charAt(0)).join('');

it('a failing stream causes one message after ALERT_AFTER_MINUTES, one when it succeeds again, and none if that is before', async () => {
  const one = await start({ afterMinutes: 15 });
  await fail();
  await one.look();
  await pass(AFTER_MS - MINUTE_MS, one);
  expect(hook.texts).toEqual([]);
  await pass(2 * MINUTE_MS, one, one);
  expect(hook.texts).toEqual([
    expect.stringMatching(
      /^✗ Documents fail \(server_error\); since \d+ \w+ \d+, \d\d:\d\d \(UTC\)\.\n {3}What to do: The service failed by itself/,
    ),
  ]);
  await succeed();
  await pass(5 * MINUTE_MS, one, one);
  expect(hook.texts[1]).toMatch(
    /^✓ Over: documents fail \(server_error\); it began .* and lasted 2\d min\.\n/,
  );
  expect(signs()).toBe('✗✓');
  // A problem that ends before its alert is due causes no message.
  await fail();
  await one.look();
  await succeed();
  await pass(AFTER_MS, one, one);
  expect(signs()).toBe('✗✓');
});

it('only one of several workers sends the alert of a problem and the message of its end, also when it begins again', async () => {
  const workers = await Promise.all(['a', 'b', 'c'].map((owner) => start({ owner })));
  const all = async (): Promise<void> => {
    fixture.passedMs += SECOND_MS;
    for (let look = 0; look < 2; look += 1) await Promise.all(workers.map((one) => one.look()));
  };
  for (const expected of ['✗✓', '✗✓✗✓']) {
    await fail();
    await all();
    await succeed();
    await all();
    expect(signs()).toBe(expected);
  }
});

it('a message that was sent when its worker lost the database is sent again, because nothing was recorded', async () => {
  const real = createWebhook(hook.url);
  const channel: Channel = {
    name: real.name,
    endpoint: real.endpoint,
    async send(message, signal) {
      const refused = await real.send(message, signal);
      await worker.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like '%outbox%' and pid <> pg_backend_pid()`);
      return refused;
    },
  };
  await fail();
  await pass(0, await start({ channels: [channel] }));
  await pass(0, await start({ owner: 'other' }));
  expect(signs()).toBe('✗✗');
});

it('if a stream fails for another reason than before or is interrupted, no message reports a success before it succeeds', async () => {
  const one = await start();
  for (const code of ['server_error', 'interrupted', 'token_inactive', undefined]) {
    await addRun({ ...(code && { code }) });
    await pass(SECOND_MS, one);
  }
  expect(hook.texts).toEqual([
    expect.stringMatching(/^✗ Documents fail/),
    expect.stringMatching(/^✗ The service refuses the credentials[^✓]*$/),
    expect.stringMatching(/✓ Over: documents fail/),
  ]);
});

it.each([
  ['refused credentials', 'token_inactive', 'The service refuses the credentials'],
  ['a service that is away', 'network_error', 'The service cannot be used'],
])('%s cause one message for all streams, and none when they become stale by it', async (_, code, text) => {
  const one = await start();
  for (const stream of ['resources', 'followups']) await addRun({ stream, code });
  await one.look();
  await pass(2 * HOUR_MS, one);
  await pass(2 * HOUR_MS, one);
  expect(hook.texts).toEqual([
    expect.stringMatching(new RegExp(`^✗ ${text} \\(${code}\\); .*\n {3}What to do: `)),
  ]);
  await setSuccess();
  for (const stream of ['resources', 'followups']) await addRun({ stream });
  await pass(SECOND_MS, one);
  expect(hook.texts.slice(1)).toEqual([expect.stringMatching(/^✓ Over: the service /)]);
});

it('streams that become stale together are reported in one line', async () => {
  const one = await start({ afterMinutes: 15 });
  await pass(2 * HOUR_MS, one);
  await pass(AFTER_MS, one);
  const said =
    /^✗ Completed trainings, equipment, follow-ups, documents and training are stale: no success within 1 h; since .*\n {3}What to do: No run failed/;
  expect(hook.texts).toEqual([expect.stringMatching(said)]);
});

it('a new field of the service and the repairs of a reconcile are sent at once, in one message', async () => {
  const one = await start({ afterMinutes: 15 });
  await worker.query(`insert into safety_sync.data_issues (account_id, stream, fingerprint, field, kind, problem)
    values ('default', 'resources', 'x', 'severity<!here>', 'unknown_field', 'x')`);
  await addRun({ stream: 'followups', kind: 'reconcile', repaired: 3 });
  await one.look();
  expect(hook.texts).toHaveLength(1);
  expect(hook.texts[0]).toContain('The service sends new fields: severity??here? of documents;');
  expect(hook.texts[0]).toContain('A reconcile of follow-ups stored what no sync had brought: 3 changes;');
});

it('a failed reconcile remains an alert until a reconcile succeeds, although syncs succeed or fail', async () => {
  const one = await start({ afterMinutes: 15 });
  await addRun({ kind: 'reconcile', code: 'read_incomplete' });
  await addRun({ kind: 'reconcile', code: 'interrupted' });
  await succeed();
  await pass(0, one);
  await pass(AFTER_MS, one);
  expect(hook.texts).toEqual([
    expect.stringMatching(/^✗ The reconcile of documents fails \(read_incomplete\); since /),
  ]);
  // Neither a sync nor the next reconcile that fails makes the reconcile succeed.
  await fail();
  await pass(SECOND_MS, one);
  await addRun({ kind: 'reconcile', code: 'read_incomplete' });
  await pass(SECOND_MS, one);
  await succeed();
  await pass(SECOND_MS, one);
  expect(hook.texts).toHaveLength(1);
  await addRun({ kind: 'reconcile' });
  await pass(0, one);
  expect(hook.texts[1]).toMatch(/^✓ Over: the reconcile of documents fails/);
});

it('no alert contains a secret or a text that the service or a gateway has sent', async () => {
  const one = await start({}, byBoth());
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
  await one.look();
  expect(hook.texts[0]).toContain('Follow-ups fail (service_error_unknown)');
  expect(mail.mails[0]?.text).toContain('response_not_json');
  const outbox = await worker.query('select * from safety_sync.outbox');
  const sent = JSON.stringify([hook.bodies, mail.mails, one.lines, outbox]);
  for (const secret of [CANARY, worker.sandbox.token, HOOK_SECRET, MAIL_PASSWORD])
    expect(sent).not.toContain(secret);
});

it('while the database is away each worker sends its own alert, and its end', async () => {
  const workers = await Promise.all(['a', 'b'].map((owner) => start({ owner, afterMinutes: 15 })));
  await pass(0, ...workers);
  const code = 'database_unreachable';
  fixture.away = { code, message: CANARY, advice: '', sinceMs: Date.now() };
  await pass(0, ...workers);
  expect(hook.texts).toEqual([]);
  await pass(AFTER_MS + SECOND_MS, ...workers, ...workers);
  expect(hook.texts).toEqual([
    expect.stringMatching(/^✗ The database is unreachable \(database_unreachable\);[^]*, a$/),
    expect.stringMatching(/^✗ The database is unreachable \(database_unreachable\);[^]*, b$/),
  ]);
  fixture.away = null;
  await pass(0, ...workers, ...workers);
  expect(signs()).toBe('✗✗✓✓');
});

it('a worker sends alerts by itself, and its page, its JSON and its metrics show when no channel accepts them', async () => {
  hook.answer = 404;
  const { url } = await startAppFixture(worker, {
    everyMs: 200,
    env: { ALERT_WEBHOOK_URL: hook.url, ALERT_AFTER_MINUTES: '0', SYNC_CRON: '0 0 1 1 *' },
  });
  await fail();
  const asked = async (path: string) => await (await fetch(`${url}${path}`)).text();
  await expect
    .poll(() => asked('/'))
    .toContain('Alerts do not arrive by webhook: HTTP 404. Try it: safety-sync alerts test.');
  expect(await asked('/')).not.toContain(HOOK_SECRET);
  expect(JSON.parse(await asked('/api/status'))).toMatchObject({
    alerts: { channels: [{ name: 'webhook', problem: 'HTTP 404' }] },
  });
  expect(await asked('/metrics')).toMatch(/^safety_sync_alerts_arrive\{.*\} 0$/m);
  hook.answer = 200;
  // As if half a minute had passed.
  await worker.query(`update safety_sync.outbox set due_at = began_at where due_at is not null`);
  await expect.poll(() => hook.texts).toHaveLength(1);
  await expect.poll(() => asked('/')).not.toContain('Alerts do not arrive');
  await succeed();
  await expect.poll(() => hook.texts).toHaveLength(2);
});

describe('safety-sync alerts test', () => {
  const test = async (env: Readonly<Record<string, string>>) => await runInProcess(['alerts', 'test'], env);

  it('alerts test sends one message through each channel without a database, and prints the result of each', async () => {
    const { code, stdout } = await test({ DATABASE_URL: '', ...byBoth() });
    expect(stdout.match(/^taken by the (webhook|mail server) /gm)).toHaveLength(2);
    expect(code).toBe(0);
    expect(hook.texts).toEqual(['✓ This is a test: alerts of safety-sync arrive here.']);
    expect(mail.mails.map(({ from, to, subject }) => [from, to, subject])).toEqual([
      ['sync@example.com', ['you@example.com'], '[safety-sync] Test'],
    ]);
  });

  it('alerts test prints why a message was refused, and no secret', async () => {
    mail.behaviour = 'unauthorized';
    hook.answer = 404;
    const { code, stdout, stderr } = await test(byBoth());
    expect(code).toBe(1);
    expect(stdout).toMatch(/: HTTP 404\n {2}Check ALERT_WEBHOOK_URL/);
    expect(stdout).toContain('EAUTH: 535 no: AUTH PLAIN');
    const plain = Buffer.from(`\0worker\0${MAIL_PASSWORD}`).toString('base64');
    for (const secret of [HOOK_SECRET, MAIL_PASSWORD, plain])
      expect(`${stdout}${stderr}`).not.toContain(secret);
  });
});

describe('safety-sync alerts and status', () => {
  const run = async (
    verb: 'alerts' | 'status',
    env: Readonly<Record<string, string>> = {},
    ...args: string[]
  ) =>
    await runInProcess([verb, ...args], {
      DATABASE_URL: worker.databaseUrl,
      SAFETY_EQUIPMENT_TYPES: CRANES,
      ...env,
    });
  /** Both verbs exit with one code. */
  const both = async (env: Readonly<Record<string, string>> = {}) => {
    const [alerts, status] = [await run('alerts', env), await run('status', env)];
    expect(alerts.code).toBe(status.code);
    return { code: status.code, alerts: alerts.stdout, status: status.stdout };
  };

  it('alerts lists each open problem with its channel and whether it was sent', async () => {
    const one = await start();
    await fail();
    await one.look();
    expect((await run('alerts')).stdout).toMatch(
      /^since +what +by +state\n\S+ \S+ +documents fail \(server_error\) +webhook +sent\n/,
    );
    expect(JSON.parse((await run('alerts', {}, '--json')).stdout)).toMatchObject({
      alerts: [
        { account_id: 'default', event: 'stream_failing', subject: 'resources', code: 'server_error' },
      ],
      is_well: false,
    });
  });

  it('alerts and status exit with 1 if the warehouse has a problem, whether or not a worker has recorded it', async () => {
    const setEquipment = (at: string) =>
      worker.query(`update safety_sync.stream_state set last_success_at = ${at} where stream = 'equipments'`);
    expect((await both()).code).toBe(0);
    await fail();
    const failing = await both();
    expect(failing.code).toBe(1);
    expect(failing.alerts).toMatch(/^Documents fail .*server_error/m);
    expect((await both({ SYNC_CRON_RESOURCES: 'off' })).code).toBe(1);
    await succeed();
    await setEquipment(`now() - interval '61 min'`);
    const stale = await both();
    expect(stale.code).toBe(1);
    expect(stale.alerts).toContain('Equipment is stale');
    expect((await both({ SYNC_CRON_EQUIPMENTS: 'off' })).code).toBe(0);
    expect((await both({ FRESHNESS_BUDGET_MINUTES: '70' })).code).toBe(0);
    await setEquipment('null');
    expect((await both()).code).toBe(1);
  });
});
