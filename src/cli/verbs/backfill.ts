import { type Account, type App, buildApiClient } from '../../app.ts';
import { createRequestMeter } from '../../engine/api/requests.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { isWholeTime, toFilters } from '../../engine/reading/creation-time.ts';
import { usageError } from '../../shared/errors.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import type { TimeSlice } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { parseDate, parseStreams } from '../arguments.ts';
import { runVerb } from '../run-verb.ts';
import { accountColumn, renderRows } from '../table.ts';
import { type CommonOptions, runWithApp, type Verb } from '../verb.ts';

interface BackfillOptions extends CommonOptions {
  readonly from?: string;
  readonly to?: string;
  readonly restart?: true;
  readonly plan?: true;
}

/** Only follow-ups can be requested by time. */
const isSliced = (stream: StreamName): boolean => streamNamed(stream).readMode.kind === 'incremental';

function parseRange({ from, to }: BackfillOptions): TimeSlice {
  const fromMs = from === undefined ? -Infinity : parseDate(from, '--from');
  const toMs = to === undefined ? Infinity : parseDate(to, '--to');
  if (fromMs >= toMs) throw usageError('--from must be earlier than --to');
  return { fromMs, toMs };
}

function streamsOf(names: readonly string[], range: TimeSlice): StreamName[] {
  const streams = parseStreams(names);
  if (isWholeTime(range)) return streams;
  const others = streams.filter((stream) => !isSliced(stream));
  if (names.length > 0 && others.length > 0) {
    throw usageError(
      `--from and --to: the service has no time filter for ${others.join(', ')}; read them by a command of their own, without a range`,
    );
  }
  return streams.filter(isSliced);
}

/** Asks the service for one number; null is known only after the whole list was read. */
async function planStream(
  { config, log, signal }: App,
  account: Account,
  { stream, range, isMigrated }: { stream: StreamName; range: TimeSlice; isMigrated: boolean },
) {
  const { readMode, method, responseKey: listKey } = streamNamed(stream);
  const plan = { account_id: account.id, stream, records: null, requests: null };
  if (readMode.kind !== 'incremental') return plan;
  // Without tables there is no request budget to share, and no service that the account belongs to.
  const api = isMigrated ? account.api : buildApiClient(account.config, config.api, { log, store: null });
  const params = { limit: 1, ...toFilters(range) };
  const { paging } = await api.page({ method, listKey, params, meter: createRequestMeter(), signal });
  if (!isMigrated) await api.close();
  if (paging?.total === undefined) return plan;
  return { ...plan, records: paging.total, requests: Math.ceil(paging.total / readMode.pageSize) + 1 };
}

export const backfill: Verb<BackfillOptions> = {
  name: 'backfill',
  about:
    'read all records again: follow-ups in slices of creation time, resuming where it was cut off; other streams as a whole',
  hasStreams: true,
  options: [
    ['--from <date>', 'follow-ups created on or after this day or time (UTC)'],
    ['--to <date>', 'follow-ups created before this day or time (UTC)'],
    ['--restart', 'begin again instead of resuming'],
    [
      '--plan',
      'only print how much there is to read; sends requests, writes no rows, needs no migrated warehouse',
    ],
  ],
  common: ['accounts', 'liftPrivacy', 'json'],
  async run(context, options, names) {
    const range = parseRange(options);
    const streams = streamsOf(names, range);
    const { restart = false } = options;
    if (!options.plan) return await runVerb(context, options, { kind: 'backfill', streams, range, restart });
    const needs = { needsService: true, migrates: 'by_itself' } as const;
    return await runWithApp(context, { ...options, ...needs }, async (app) => {
      const { pending } = await readMigrationStatus(app.connection);
      const plan: Awaited<ReturnType<typeof planStream>>[] = [];
      for (const account of app.accounts)
        for (const stream of streams)
          plan.push(await planStream(app, account, { stream, range, isMigrated: pending === 0 }));
      const table = renderRows(
        plan,
        {
          ...accountColumn(plan),
          stream: ({ stream }) => stream,
          records: ({ records }) => records ?? 'the whole list',
          'requests, about': ({ requests }) => requests,
        },
        context.terminal,
      );
      const lines = [table, '\nNothing was written to the warehouse. Leave out --plan to do it.'];
      return { json: { plan, pending_migrations: pending }, lines };
    });
  },
};
