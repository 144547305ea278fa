import { basename, dirname, resolve } from 'node:path';
import { sql } from 'drizzle-orm';
import { type App, createApp, EMBEDDED_DATA_DIR } from '../../app.ts';
import { loadConfig } from '../../config/load-config.ts';
import { createSandbox, type Sandbox } from '../../sandbox/index.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { DAY_MS, MINUTE_MS, systemClock } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { writeWorkbook } from '../../pages/report/take-along.ts';
import { readReport } from '../../pages/report/read-report.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { syncStreams } from '../../engine/sync/sync-streams.ts';
import { type Connection, openConnection, type Queryable } from '../../engine/database/connection.ts';
import { name } from '../../engine/database/sql-names.ts';
import { indent, renderAnswers } from './demo-answers.ts';
import { formatDuration, formatNumber } from '../../shared/format.ts';
import { type AccountResult, EXIT, exitCodeOf, renderRemarks, renderResults } from '../run-results.ts';
import type { CommandContext, Verb } from '../verb.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { runWorker } from '../../operate/worker/run-worker.ts';

const DEMO_ACCOUNT = 'demo';
const DEMO_DATABASE = 'safety_sync_demo';
/** Enough for the service to make a new training list. */
const PASSING_MS = 20 * MINUTE_MS;
const CHANGES = 60;
const WEEK_DAYS = 7;
const PAST_DAYS = 6 * WEEK_DAYS;

/** A demo empties its database: two of them in one directory would remove each other's data. */
async function claimDemo({ warehouse }: App): Promise<Connection> {
  const claim = openConnection({ url: warehouse.url, applicationName: 'safety-sync demo', max: 1 });
  const [row] = await claim.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('safety-sync:demo', 0)) as locked`,
  );
  if (row?.locked === true) return claim;
  await claim.close();
  throw usageError(
    `another demo runs in ${resolve(EMBEDDED_DATA_DIR)}: stop it first, or start this one in another directory`,
  );
}

/** The demo's configuration has one account. */
async function syncAll(
  { accounts }: App,
  streams: readonly StreamName[] = STREAM_NAMES,
): Promise<AccountResult[]> {
  const [account] = accounts;
  if (account === undefined) throw new TypeError('there is no account');
  const results = await syncStreams(account.runContext(buildRunEvents(account)), {
    streams,
    kind: 'sync',
    trigger: 'manual',
    // The database's clock has not moved with the demo's.
    force: true,
  });
  return results.map((result) => ({ result }));
}

/** Streams with the present state only: their past is that of the syncs. */
const FORGETFUL_STREAMS = ['training-employee-status', 'equipments'];

/** Columns with the time at which a state of these streams began or ended here, because the source sends none. */
const TIMES = FORGETFUL_STREAMS.flatMap((stream) => streamNamed(stream).histories).flatMap(
  ({ of, states }) => [
    { table: of, column: '_valid_from' },
    { table: states, column: 'valid_from' },
    { table: states, column: 'valid_to' },
  ],
);

/**
 * Runs a sync that is `agoMs` in the past. PostgreSQL's clock cannot be set back, so the times in its rows are set back to the
 * simulated day.
 */
async function syncInThePast<T>(db: Queryable, agoMs: number, sync: () => Promise<T>): Promise<T> {
  const [clock] = await db.execute<{ now: string }>(sql`select clock_timestamp()::text as now`);
  const synced = await sync();
  for (const { table, column } of TIMES) {
    const at = name(column);
    await db.execute(sql`update ${table} set ${at} = ${at} - make_interval(secs => ${agoMs / 1000})
      where ${at} >= ${clock?.now ?? ''}::timestamptz`);
  }
  return synced;
}

function demoConfig(sandbox: Sandbox, { env, terminal }: CommandContext, serves: boolean) {
  return loadConfig(
    {
      SAFETY_BASE_URL: sandbox.url,
      SAFETY_TOKEN: sandbox.token,
      SAFETY_ACCOUNT: DEMO_ACCOUNT,
      SYNC_CRON: '*/10 * * * * *',
      HTTP_PORT: env['HTTP_PORT'],
      HTTP_REPORT: 'true',
      LOG_LEVEL: env['LOG_LEVEL'] ?? (serves ? 'info' : 'warn'),
      LOG_FORMAT: env['LOG_FORMAT'],
    },
    { needsService: true, isTerminal: terminal.isInteractive },
  );
}

/** Next to the embedded database, so that the working directory stays as it was. */
const demoFile = (name: string): string => resolve(dirname(EMBEDDED_DATA_DIR), name);

/** The page and, beside it, the workbook with all rows, to which the page links. */
async function makeReport({ connection }: App, accountId: string) {
  const [page, xlsx] = [demoFile('safety-report.html'), demoFile('safety-report.xlsx')];
  const report = await readReport(connection, accountId, {
    also: (snapshot) => writeWorkbook(snapshot, xlsx),
  });
  const along = { xlsx: basename(xlsx) };
  await writeWholeFile(page, renderReport(report, { title: 'Northline Yards (demo)', along }));
  return { report, files: [page, xlsx] };
}

/** After an interrupted sync the next steps would show half a warehouse. */
function refuseToGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw new SafetySyncError('interrupted', 'the demo was stopped');
}

async function runDemo(
  context: CommandContext,
  { serve: serves = false }: { serve?: boolean },
): Promise<number> {
  const { terminal, signal } = context;
  if ((context.env['SAFETY_SYNC_CONTAINER'] ?? '') !== '') {
    throw new SafetySyncError(
      'embedded_unavailable',
      'the demo needs the embedded PostgreSQL, which the container image does not hold',
      {
        advice:
          'Run it from a checkout: npm ci && npx safety-sync demo. In containers: docker compose --profile sandbox up.',
      },
    );
  }
  const { colors } = terminal;
  const startedMs = performance.now();
  let passedMs = -PAST_DAYS * DAY_MS;
  const now = () => Date.now() + passedMs;
  const section = (title: string) => terminal.print(`\n${colors.bold(colors.cyan(title))}`);
  const step = (text: string) => terminal.print(indent(colors.dim(text)));

  terminal.print(colors.bold('safety-sync demo: a sandbox service, an embedded PostgreSQL, two syncs'));
  const sandbox = await createSandbox({
    clock: now,
    oddities: false,
    live: { changesPerMinute: 120, deletions: true },
  });
  let app: App | undefined;
  let claim: Connection | undefined;
  try {
    app = await createApp({
      config: demoConfig(sandbox, context, serves),
      signal,
      say: () => undefined,
      embeddedDatabase: DEMO_DATABASE,
      clock: { ...systemClock, now },
    });
    claim = await claimDemo(app);
    section('1  Sandbox and warehouse');
    step(`a workplace-safety service with generated data runs on ${sandbox.url}`);
    const { db } = app;
    const { url } = app.warehouse;
    // No other program uses it.
    await db.execute(sql`drop schema if exists safety, safety_sync cascade`);
    const { applied } = await app.migrate();
    step(`PostgreSQL runs from ${EMBEDDED_DATA_DIR}; applied ${formatNumber(applied, 'migration')}`);

    section('2  First sync: everything, six weeks ago');
    const sync = syncAll.bind(null, app);
    const first = await syncInThePast(db, -passedMs, () => sync());
    terminal.print(indent(renderResults(first, terminal)));
    refuseToGoOn(signal);
    step('the records have ids; the names for them come from the lists of the service');

    for (let day = 1; day <= PAST_DAYS; day += 1) {
      passedMs += DAY_MS;
      sandbox.live.day();
      if (day % WEEK_DAYS !== 0) continue;
      await syncInThePast(db, -passedMs, () => sync(FORGETFUL_STREAMS));
      refuseToGoOn(signal);
    }
    await sync(['followups']);
    step('six weeks pass, in which people do their work, with a sync a week: the warehouse remembers each');

    section('3  The source lives on, and one more sync: what changed');
    sandbox.live.step(CHANGES);
    passedMs = PASSING_MS;
    step(
      `${CHANGES} changes at the service: new follow-ups, replies, trainings, inspections; 20 minutes pass`,
    );
    const second = await sync();
    terminal.print(indent(renderResults(second, terminal)));
    const both = [...first, ...second];
    const remarks = renderRemarks(both, colors);
    if (remarks.length > 0) terminal.print(indent(remarks.join('\n')));
    refuseToGoOn(signal);

    section('4  What the warehouse can answer');
    const { report, files } = await makeReport(app, DEMO_ACCOUNT);
    terminal.print(indent(renderAnswers(report, colors)));

    const code = exitCodeOf(both);
    terminal.print(`\nDone in ${formatDuration(performance.now() - startedMs)}.`);
    const isServed = serves && code === EXIT.ok;
    terminal.print(`\n${colors.bold('Next')}\nAll of it as charts and tables, and every row as a workbook:`);
    terminal.print(indent(files.join('\n')));
    if (!isServed) terminal.print(NEXT_STEPS);
    else {
      sandbox.live.start();
      await runWorker(app, { onListening: (page) => terminal.print(describeServed(page, url)) });
    }
    return code;
  } finally {
    await claim?.close();
    await app?.close();
    await sandbox.close();
  }
}

const describeServed = (page: string, url: string): string =>
  [
    'Worker, sandbox and database keep running until Ctrl-C; the source changes and is synced every 10 seconds.',
    `  ${page}/    the worker's status page; ${page}/report is the report`,
    `  psql '${url}'`,
    `  select status, count(*) from safety.equipment where _deleted_at is null group by 1;`,
  ].join('\n');

const NEXT_STEPS = `The demo's database is its own: other commands show nothing of it, and its server stops with it.
  npx safety-sync demo --serve      keeps it running, with the status page and a connection string for psql or BI
With a service of your own:
  export SAFETY_BASE_URL=https://… SAFETY_TOKEN=…  DATABASE_URL=postgres://…
  npx safety-sync check             tests settings, database and service
  npx safety-sync sync              one sync now
  npx safety-sync start             keeps the warehouse current on schedule`;

export const demo: Verb<{ serve?: boolean }> = {
  name: 'demo',
  about:
    'see it work without any configuration: sandbox service, embedded PostgreSQL (a database of its own, emptied every time), two syncs, answers',
  options: [
    ['--serve', 'then keep worker, sandbox and database running until Ctrl-C; print a connection string'],
  ],
  run: runDemo,
};
