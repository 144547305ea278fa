/**
 * Protected values never leave the program: not to the database (statements, parameters, rows for staging tables), a file, a
 * log, a trace, an answer or a page. All of these outputs are recorded and searched.
 */
import { type FSWatcher, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { putProtected } from '../support/canaries.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { findText } from '../support/find-text.ts';
import { forEachTest } from '../support/lifetime.ts';
import { startListeningProxy } from '../support/listening-proxy.ts';
import { startTraceReceiver } from '../support/trace-receiver.ts';

const CANARY = 'CANARY';
const USER = 'EMP-7654321';
const OMIT =
  'followup_messages.note,followup_messages.signature,followup_messages.sent_at,followup_attachments.caption,equipment.notes,equipment.title,resource_versions.description,followups.form_id';
const PSEUDONYMIZE = 'users.name,equipment.serial_number,equipment_metavalues.text_value,resources.tags';

const fixture = forEachTest(() =>
  createCliFixture({
    sandbox: { size: { followups: 30, employees: 10, equipment: 10, resources: 4, users: 10 } },
  }),
);

const traces = forEachTest(() => startTraceReceiver());
const database = forEachTest(() => startListeningProxy(fixture.databaseUrl));
let temporary: string;
let watchers: FSWatcher[];
/** All files that existed at any time. */
let files: string[];
let output: string[];

beforeEach(() => {
  temporary = join(fixture.cli.directory, 'temporary');
  mkdirSync(temporary);
  [files, output] = [[], []];
  watchers = [fixture.cli.directory, temporary].map((folder) =>
    watch(folder, (_, name) => void files.push(join(folder, name ?? ''))),
  );
});
afterEach(() => {
  for (const watcher of watchers) watcher.close();
});

const base = () => ({
  ...fixture.env,
  DATABASE_URL: database.url,
  LOG_LEVEL: 'trace',
  LOG_FORMAT: 'json',
  TMPDIR: temporary,
  OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
  RETRY_ATTEMPTS: '1',
});

const KEY = { PRIVACY_KEY: 'a secret of this test, 32 characters' };
const SETTINGS = { PRIVACY_OMIT: OMIT, PRIVACY_PSEUDONYMIZE: PSEUDONYMIZE, ...KEY };

function putCanaries(round: string): void {
  const mark = `${CANARY} ${round}`;
  putProtected(fixture.sandbox, {
    ...{ mark, userId: USER, updatedOn: Date.now() },
    followup: { m_observer_id: USER, form_id: `${mark} form` },
    message: { date: `${mark} date` },
    equipment: { title: `${mark} title`, assignedUsers_id: [USER] },
  });
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number | null> {
  const { code, stdout, stderr } = await fixture.cli.run(args, { ...base(), ...env });
  output.push(stdout, stderr);
  return code;
}

/** Runs the worker and requests every page. */
async function serve(env: Readonly<Record<string, string>>): Promise<void> {
  const worker = fixture.cli.start(['start'], { ...base(), ...env, SYNC_CRON: '* * * * * *' });
  const [, url = ''] = await worker.untilStderr(/status page (http:\/\/[^"\s]+)\//);
  await worker.untilStderr(/followups: succeeded/);
  for (const path of ['/', '/api/status', '/metrics']) {
    const response = await fetch(`${url}${path}`);
    expect(response.status).toBe(200);
    output.push(await response.text());
  }
  worker.kill('SIGTERM');
  const { stdout, stderr } = await worker.finished;
  output.push(stdout, stderr);
}

/** Every path of records into and out of the program. */
async function useAll(env: Readonly<Record<string, string>>): Promise<void> {
  for (const [round, ...args] of [
    ['first', 'sync', '--force'],
    ['second', 'reconcile'],
    ['third', 'backfill', '--restart'],
    ['third', 'verify', 'followups', 'one', '--json'],
    ['fourth', 'verify', 'equipments', 'e'],
    ['fourth', 'verify', 'equipments', 'e', '--repair', '--json'],
    ['fifth', 'verify', 'users', USER, '--repair'],
    ['fifth', 'data-issues', '--all', '--json', '--retry'],
    ['fifth', 'report', '--out', 'report.html'],
    ['fifth', 'runs', '--json'],
    ['fifth', 'status'],
    ['fifth', 'check'],
  ] as const) {
    putCanaries(round);
    await run(args, env);
  }
  putCanaries('sixth');
  await serve(env);
  // Failures must not quote data: a database that refuses rows, responses that end in the middle of a record.
  await fixture.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'refused: %', to_jsonb(new); end $$`);
  const tables = ['safety.equipment', 'safety.followup_messages', 'safety.users', 'safety_sync.data_issues'];
  for (const table of tables)
    await fixture.query(
      `create trigger refuse before insert or update on ${table} for each row execute function refuse()`,
    );
  putCanaries('seventh');
  expect(await run(['sync', '--force'], env)).toBe(1);
  await fixture.query('drop function refuse cascade');
  const record = `{"id":"x","name":"${CANARY} eighth","note":"${CANARY} eighth","serialNumber":"${CANARY} eighth"`;
  for (const body of [
    `{"ok":true,"user":${record},"followups":[${record}}],"resources":[${record}`,
    `[${record}}]`,
    `{"ok":true,"data":${record}}}`,
    `{"followups":${record}},"user":5,"resources":${record}},"equipments":${record}},"ok":true}`,
  ]) {
    fixture.sandbox.faults.next(() => true, { kind: 'nonJson', httpStatus: 200, body }, 1000);
    await run(['sync', '--force'], env);
    await run(['verify', 'users', USER], env);
  }
  fixture.sandbox.faults.clear();
}

/** Files in the watched folders, at the end or earlier, except for the report. */
function filesWith(texts: readonly string[]): string[] {
  const entries = readdirSync(fixture.cli.directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => texts.some((text) => readFileSync(path).includes(text)));
}

const OWN_FILE = /report\.html/;

/** Soft, so that all places are listed. */
async function expectNowhere(texts: readonly string[]): Promise<void> {
  expect.soft(database.size).toBeGreaterThan(100_000);
  expect.soft(database.heard(texts)).toEqual([]);
  expect.soft(await findText(fixture, texts)).toEqual([]);
  const log = output.join('\n');
  expect.soft(log.length).toBeGreaterThan(50_000);
  const lines = log.split('\n').filter((line) => texts.some((text) => line.includes(text)));
  expect.soft(lines.map((line) => line.slice(0, 500))).toEqual([]);
  expect.soft(traces.spans.length).toBeGreaterThan(50);
  expect.soft(texts.filter((text) => traces.bodies.join('').includes(text))).toEqual([]);
  expect.soft(filesWith(texts)).toEqual([]);
  expect.soft([...new Set(files)].filter((path) => !OWN_FILE.test(path) && path !== temporary)).toEqual([]);
}

test('omitted values and values with pseudonyms are sent to no table, file, log, trace, page or output', async () => {
  await useAll(SETTINGS);
  await expectNowhere([CANARY, KEY.PRIVACY_KEY]);
});
