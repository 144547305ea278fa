/** The command line with privacy settings: its messages, and texts that no log may contain. */
import { expect, test } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { findText } from '../support/find-text.ts';
import { forAllTests } from '../support/lifetime.ts';
import { SPECIMENS } from '../support/specimens.ts';

const CANARY = 'CANARY';
/** Streams with canaries, and those that other tests protect. */
const READ = ['followups', 'users', 'equipments'];
const fixture = forAllTests(() =>
  createCliFixture({
    sandbox: { size: { followups: 4, employees: 4, equipment: 4, resources: 2, users: 4 } },
  }),
);

const privacy = () => ({
  ...fixture.env,
  PRIVACY_OMIT: 'followup_messages.note,followups.due_on',
  PRIVACY_PSEUDONYMIZE: 'users.name',
  PRIVACY_KEY: 'a secret of this test, 32 characters',
});

function putCanaries(): void {
  const { store } = fixture.sandbox;
  store.users.put({ id: '10001', name: `${CANARY} Name` });
  store.followups.put({
    ...SPECIMENS.followups.build('one'),
    updated_on: Date.now(),
    due: `${CANARY} due`,
    messages: [{ id: 'm', m_user_id: '10001', note: { odd: `${CANARY} note` } }, `${CANARY} text`],
  });
}

test('protected values are in no log at any level, no output and no table', async () => {
  putCanaries();
  const output: string[] = [];
  for (const args of [
    ['sync', ...READ, '--force'],
    ['reconcile', ...READ],
    ['data-issues', '--retry', '--json'],
    ['verify', 'followups', 'one', '--json'],
    ['verify', 'users', '10001'],
    ['runs', '--json'],
    ['status'],
  ]) {
    const { stdout, stderr } = await fixture.run(args, { ...privacy(), LOG_LEVEL: 'trace' });
    output.push(stdout, stderr);
  }
  expect(output.join('\n').length).toBeGreaterThan(10_000);
  expect(output.filter((text) => text.includes(CANARY))).toEqual([]);
  expect(output.join('\n')).not.toContain('a secret of this test');
  expect(await findText(fixture, [CANARY])).toEqual([]);
});

test('verify names the protected columns of an equal record, and the next run of a stream cleans what is stored', async () => {
  const verified = await fixture.run(['verify', 'followups', 'one'], privacy());
  expect([verified.code, verified.stdout]).toEqual([
    0,
    expect.stringContaining('followup_messages.note, followups.due_on: the privacy settings keep it'),
  ]);
  const later = { ...privacy(), PRIVACY_OMIT: 'followup_messages.note,followups.due_on,equipment.title' };
  expect((await fixture.run(['sync', 'equipments'], later)).code).toBe(0);
  expect(await fixture.query('select id from safety.equipment where title is not null')).toEqual([]);
  await fixture.run(['sync', 'equipments', '--lift-privacy'], privacy());
});

test('a command that stores and protects less than what is recorded is refused with exit 2 before a request, until --lift-privacy was given once', async () => {
  const less = { ...privacy(), PRIVACY_OMIT: 'followup_messages.note', HTTP_PORT: '0' };
  const { requests } = fixture.sandbox;
  const before = requests.length;
  for (const args of [
    ['sync', 'resources'],
    ['backfill', 'resources'],
    ['reconcile', 'resources'],
    ['data-issues', '--retry'],
    ['start'],
  ]) {
    const { code, stderr } = await fixture.run(args, less);
    expect([args[0], code, stderr]).toEqual([
      args[0],
      2,
      expect.stringContaining('PRIVACY_OMIT had followups.due_on'),
    ]);
    expect(stderr).toContain('--lift-privacy');
  }
  expect(requests).toHaveLength(before);
  expect((await fixture.run(['data-issues'], less)).code).toBe(0);
  expect((await fixture.run(['sync', 'resources', '--lift-privacy'], less)).code).toBe(0);
  expect((await fixture.run(['sync', 'followups', '--force'], less)).code).toBe(0);
  expect((await fixture.run(['sync', 'followups'], privacy())).code).toBe(0);
});

test('forget requires PRIVACY_KEY and a known id, and another key stores nothing', async () => {
  const without = { ...privacy(), PRIVACY_KEY: '', PRIVACY_PSEUDONYMIZE: '' };
  const refused = await fixture.run(['forget', '10001', '--yes'], without);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('PRIVACY_KEY is not set')]);
  const done = await fixture.run(['forget', '10001', '--name', `${CANARY} Name`, '--yes'], privacy());
  expect([done.code, done.stdout]).toEqual([
    0,
    expect.stringMatching(/^\d+ rows rewritten.*They are pseudonym:[0-9a-f]{32} everywhere/m),
  ]);
  const nobody = await fixture.run(['forget', 'E-1', '--yes'], privacy());
  expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining('nobody has the id E-1')]);
  const other = { ...privacy(), PRIVACY_KEY: 'another secret of this test, 32 chars' };
  const failed = await fixture.run(['sync', 'followups'], other);
  expect([failed.code, failed.stderr]).toEqual([2, expect.stringContaining('privacy_key_wrong')]);
});

test('forget shows who is meant and needs --yes off a terminal; --list shows who is forgotten, and --cancel ends it', async () => {
  const [row] = await fixture.query<{ id: string; name: string }>(
    `select u.id, u.name from safety.users u join safety.followups f on f.assignee_id = u.id where u.id not like 'pseudonym:%' limit 1`,
  );
  const { id = '', name = '' } = row ?? {};
  const asked = await fixture.run(['forget', id], privacy());
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('off a terminal this needs --yes')]);
  expect(asked.stderr).toContain(`To be forgotten: a person without a stored name (${id})`);
  expect(asked.stderr).toMatch(/\n {2}followups: \d+ rows?\n/);
  const known = (await fixture.run(['forget', '--list', '--json'], privacy())).stdout;
  expect((await fixture.run(['forget', id, '--yes'], privacy())).code).toBe(0);
  expect(await fixture.query(`select from safety.users where id = '${id}'`)).toEqual([]);
  const listed = JSON.parse((await fixture.run(['forget', '--list', '--json'], privacy())).stdout) as {
    forgotten: { person: string; forgotten_at: string }[];
  };
  expect(listed.forgotten).toHaveLength((JSON.parse(known) as typeof listed).forgotten.length + 1);
  expect((await fixture.run(['forget', '--cancel', id], privacy())).code).toBe(0);
  expect((await fixture.run(['forget', '--list', '--json'], privacy())).stdout).toBe(known);
  const never = await fixture.run(['forget', '--cancel', id], privacy());
  expect([never.code, never.stderr]).toEqual([2, expect.stringContaining(`${id} is not forgotten`)]);
  const states = () => fixture.query(`select count(*)::int from safety.followup_states`);
  const before = await states();
  const reconciled = await fixture.run(['reconcile', ...READ], privacy());
  expect([reconciled.code, reconciled.stdout]).toEqual([0, expect.not.stringContaining('repaired')]);
  expect(await states()).toEqual(before);
  expect(await fixture.query(`select name from safety.users where id = '${id}'`)).toEqual([{ name }]);
  expect(
    await fixture.query(`select from safety.followup_history h where h.assignee_id like 'pseudonym:%' and not exists (
      select from safety.people p where p.user_key = h.account_id || '/' || h.assignee_id)`),
  ).toEqual([]);
  expect(await fixture.query(`select from safety.people where is_forgotten`)).toHaveLength(
    listed.forgotten.length,
  );
  expect((await fixture.run(['forget'], privacy())).code).toBe(2);
});
