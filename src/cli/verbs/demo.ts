import { dirname, join, resolve } from 'node:path';
import { sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { type App, createApp, EMBEDDED_DATA_DIR } from '../../app.ts';
import { createSandbox } from '../../sandbox/index.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { DAY_MS, MINUTE_MS, systemClock } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { keyFiguresOf } from '../../pages/report/first-screen.ts';
import { makeReport } from '../../pages/report/make-report.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { type Connection, openConnection, type Queryable } from '../../engine/database/connection.ts';
import { name } from '../../engine/database/sql-names.ts';
import { formatDuration, formatNumber } from '../../shared/format.ts';
import { runAccounts } from '../run-accounts.ts';
import { EXIT, exitCodeOf, renderRemarks, renderResults } from '../run-results.ts';
import { renderRows } from '../table.ts';
import { type AppContext, type CommandContext, configOf, type Verb } from '../verb.ts';
import { runWorker } from '../../operate/worker/run-worker.ts';

const DEMO_ACCOUNT = 'demo';
const DEMO_DATABASE = 'safety_sync_demo';
/** Enough for the service to make a new training list. */
const PASSING_MS = 20 * MINUTE_MS;
const CHANGES = 60;
const WEEK_DAYS = 7;
const PAST_DAYS = 6 * WEEK_DAYS;

/** A demo empties its database: two of them in one directory would remove each other's data. `claim`: closed at its end. */
async function assertAlone(claim: Connection): Promise<void> {
  const [row] = await claim.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('safety-sync:demo', 0)) as locked`,
  );
  if (row?.locked === true) return;
  throw usageError(
    `another demo runs in ${resolve(EMBEDDED_DATA_DIR)}: stop it first, or start this one in another directory`,
  );
}

/** After an interrupted sync the next steps would show half a warehouse. */
async function syncAll(context: AppContext, streams: readonly StreamName[] = STREAM_NAMES) {
  // Forced, because the database's clock has not moved with the demo's.
  const results = await runAccounts(context, {}, { kind: 'sync', force: true, streams });
  if (context.signal.aborted) throw new SafetySyncError('interrupted', 'the demo was stopped');
  return results;
}

/** Streams with the present state only: their past is that of the syncs, and the source sends no time for it. */
const FORGETFUL_STREAMS = ['training-employee-status', 'equipments'];

/**
 * Runs a sync that is `agoMs` in the past. PostgreSQL's clock cannot be set back, so the times in its rows are set back to the
 * simulated day.
 */
async function syncInThePast<T>(db: Queryable, agoMs: number, sync: () => Promise<T>): Promise<T> {
  const [clock] = await db.execute<{ now: string }>(sql`select clock_timestamp()::text as now`);
  const synced = await sync();
  const setBack = async (table: PgTable, column: string) => {
    const at = name(column);
    await db.execute(sql`update ${table} set ${at} = ${at} - make_interval(secs => ${agoMs / 1000})
      where ${at} >= ${clock?.now ?? ''}::timestamptz`);
  };
  for (const { of, states } of FORGETFUL_STREAMS.flatMap((stream) => streamNamed(stream).histories)) {
    await setBack(of, '_valid_from');
    for (const column of ['valid_from', 'valid_to']) await setBack(states, column);
  }
  return synced;
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

async function runDemo(context: CommandContext, { serve = false }: { serve?: boolean }): Promise<number> {
  const { terminal, signal, env } = context;
  const { colors, width } = terminal;
  const inside = { colors, width: width && width - 2 };
  const startedMs = performance.now();
  let passedMs = -PAST_DAYS * DAY_MS - PASSING_MS;
  const now = () => Date.now() + passedMs;
  const section = (title: string) => terminal.print(`\n${colors.bold(colors.cyan(title))}`);
  const step = (text: string) => terminal.print(indent(colors.dim(text)));

  terminal.print(colors.bold('safety-sync demo: a sandbox service, an embedded PostgreSQL, two syncs'));
  const live = { changesPerMinute: 120, deletions: true };
  const sandbox = await createSandbox({ clock: now, oddities: false, live });
  const demoEnv = {
    SAFETY_BASE_URL: sandbox.url,
    SAFETY_TOKEN: sandbox.token,
    SAFETY_ACCOUNT: DEMO_ACCOUNT,
    SYNC_CRON: '*/10 * * * * *',
    HTTP_PORT: env['HTTP_PORT'],
    HTTP_REPORT: 'true',
    LOG_LEVEL: env['LOG_LEVEL'] ?? (serve ? 'info' : 'error'),
    LOG_FORMAT: env['LOG_FORMAT'],
  };
  let app: App | undefined;
  let claim: Connection | undefined;
  try {
    app = await createApp({
      config: configOf({ ...context, env: demoEnv }, { needsService: true }),
      signal,
      say: () => undefined,
      embeddedDatabase: DEMO_DATABASE,
      clock: { ...systemClock, now },
    });
    const { db, warehouse } = app;
    claim = openConnection({ url: warehouse.url, applicationName: 'safety-sync demo' });
    await assertAlone(claim);
    const sync = syncAll.bind(null, { ...context, app });
    section('1  Sandbox and warehouse');
    step(`a workplace-safety service with generated data runs on ${sandbox.url}`);
    // No other program uses it.
    await db.execute(sql`drop schema if exists safety, safety_sync cascade`);
    const { applied } = await app.migrate();
    step(`PostgreSQL runs from ${EMBEDDED_DATA_DIR}; applied ${formatNumber(applied, 'migration')}`);
    step(`while this runs: psql '${warehouse.url}'`);

    section('2  First sync: everything, six weeks ago');
    const first = await syncInThePast(db, -passedMs, () => sync());
    terminal.print(indent(renderResults(first, inside)));
    for (let day = 1; day <= PAST_DAYS; day += 1) {
      passedMs += DAY_MS;
      sandbox.live.day();
      if (day % WEEK_DAYS === 0) await syncInThePast(db, -passedMs, () => sync(FORGETFUL_STREAMS));
    }
    // The first sync counted today; with states of the past every day is counted from them.
    await db.execute(sql`delete from safety.counted_days`);
    await sync(['followups']);
    step('six weeks pass, in which people do their work, with a sync a week: the warehouse remembers each');

    section('3  The source lives on, and one more sync: what changed');
    sandbox.live.step(CHANGES);
    passedMs = 0;
    step(
      `${CHANGES} changes at the service: new follow-ups, replies, trainings, inspections; 20 minutes pass`,
    );
    const second = await sync();
    terminal.print(indent(renderResults(second, inside)));
    const both = [...first, ...second];
    terminal.print(indent(renderRemarks(both, colors).join('\n')));

    section('4  What the warehouse can answer');
    step('writing the report and the workbook …');
    const folder = resolve(dirname(EMBEDDED_DATA_DIR));
    const [file, xlsx] = [join(folder, 'safety-report.html'), join(folder, 'safety-report.xlsx')];
    const title = 'Northline Yards (demo)';
    const { report, page } = await makeReport(app.connection, {
      ...{ accountId: DEMO_ACCOUNT, folder, xlsx, title },
    });
    await writeWholeFile(file, page);
    const answers = renderRows({ colors }, keyFiguresOf(report), {
      figure: ({ title }) => title,
      now: ({ value }) => value,
      '': ({ beside }) => beside,
    });
    terminal.print(indent(answers));
    terminal.print(`\nDone in ${formatDuration(performance.now() - startedMs)}.`);
    terminal.print(`\n${colors.bold('Next')}\nAll of it as charts and tables, and every row as a workbook:`);
    terminal.print(indent(`${file}\n${xlsx}`));
    const code = exitCodeOf(both);
    if (!serve || code !== EXIT.ok) terminal.print(NEXT_STEPS);
    else {
      sandbox.live.start();
      await runWorker(app, {
        onListening: (url) =>
          terminal.print(`Worker, sandbox and database keep running until Ctrl-C; the source changes and is synced every 10 seconds.
  ${url}/    the worker's status page; ${url}/report is the report
  psql '${warehouse.url}'
  select status, count(*) from safety.equipment where _deleted_at is null group by 1;`),
      });
    }
    return code;
  } finally {
    await claim?.close();
    await app?.close();
    await sandbox.close();
  }
}

const NEXT_STEPS = `The demo's database is its own: other commands show nothing of it, and its server stops with it.
  npx safety-sync demo --serve      keeps it running, with the status page and a connection string for psql or BI
With a service of your own:
  export SAFETY_BASE_URL=https://… SAFETY_TOKEN=…  DATABASE_URL=postgres://…
  npx safety-sync check             tests settings, database and service
  npx safety-sync sync              one sync now
  npx safety-sync start             keeps the warehouse current on schedule`;

export const demo: Verb<{ serve?: boolean }> = {
  about: 'see it work without any configuration: sandbox, embedded PostgreSQL, two syncs, answers',
  options: [['--serve', 'then keep worker, sandbox and database running; print a connection string']],
  runAlone: runDemo,
};
