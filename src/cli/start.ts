import { once } from 'node:events';
import type { Command } from 'commander';
import type { App } from '../app.ts';
import { startHttpServer } from '../ops/http-server.ts';
import { startScheduler } from '../scheduler/scheduler.ts';
import { STREAM_NAMES, streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { runStream } from '../sync/run-stream.ts';
import { readStatus } from '../warehouse/read-status.ts';
import { VERSION } from '../version.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { EXIT } from './run-results.ts';
import { buildRunEvents, logResult } from './sync.ts';

/** Streams that never succeeded start at once: nobody wants to wait a quarter of an hour for the first rows. */
async function findNeverSynced({ config, warehouse }: App): Promise<StreamName[]> {
  const status = await readStatus(warehouse.connection.db, config.accountId);
  return status
    .filter(({ stream, lastSuccessAt }) => lastSuccessAt === null && config.schedule.streams[stream] !== null)
    .map(({ stream }) => stream);
}

function describeSchedule({ config }: App) {
  return {
    version: VERSION,
    account_id: config.accountId,
    base_url: config.service?.baseUrl,
    equipment_types: config.equipmentTypes,
    schedule: config.schedule.streams,
    timezone: config.schedule.timezone,
    api: config.api,
    followups_overlap_ms: config.followupsOverlapMs,
    max_delete_ratio: config.maxDeleteRatio,
  };
}

/** Runs until the signal, then lets what is running roll back and ends. */
export async function serve(app: App, signal: AbortSignal): Promise<void> {
  const { config, log } = app;
  const startedMs = app.clock.monotonicMs();
  const events = buildRunEvents(app);
  const server = await startHttpServer({
    ...config.http,
    health: () => ({
      status: signal.aborted ? 'stopping' : 'ok',
      version: VERSION,
      uptime_seconds: Math.round((app.clock.monotonicMs() - startedMs) / 1000),
    }),
  });
  log.info(
    { ...describeSchedule(app), http: server.url },
    `safety-sync ${VERSION} started; health at ${server.url}/healthz`,
  );
  const scheduler = startScheduler({
    timezone: config.schedule.timezone,
    crons: config.schedule.streams,
    runsLast: (stream) => streamNamed(stream).reading.kind === 'lookup',
    onOverrun: (stream) =>
      log.warn({ stream }, `${stream}: still running, this firing of the schedule is skipped`),
    run: async (stream) => {
      const result = await runStream(app.runContext(events), {
        stream,
        kind: 'sync',
        trigger: 'schedule',
        force: false,
        allowMassDelete: false,
      });
      logResult(app, result);
    },
  });
  try {
    for (const stream of await findNeverSynced(app)) scheduler.fire(stream);
    const off = STREAM_NAMES.filter((stream) => config.schedule.streams[stream] === null);
    if (off.length > 0) log.info({ off }, `not scheduled: ${off.join(', ')}`);
    if (!signal.aborted) await once(signal, 'abort');
    log.info('stopping: runs under way are ended, nothing is half stored');
  } finally {
    await scheduler.stop();
    await server.close();
    log.info('stopped');
  }
}

export async function runStart(context: CommandContext): Promise<number> {
  return await withApp(context, { needsService: true, migrates: true }, async (app) => {
    await serve(app, context.signal);
    return EXIT.ok;
  });
}

export function addStart(program: Command, context: CommandContext, exit: (code: number) => void): void {
  program
    .command('start')
    .description(
      'the long-lived worker: migrates, syncs every stream on schedule, serves /healthz, stops on SIGTERM',
    )
    .action(async () => exit(await runStart(context)));
}
