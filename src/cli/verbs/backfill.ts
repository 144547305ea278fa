import { type Account, type App, buildApiClient } from '../../app.ts';
import { createRequestMeter } from '../../engine/api/requests.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { isWholeTime, toFilters } from '../../engine/reading/creation-time.ts';
import { usageError } from '../../shared/errors.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { type TimeSlice, WHOLE_TIME } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { parseDate, parseStreams } from '../arguments.ts';
import { runningStreams } from '../run-accounts.ts';
import { accountColumn, renderRows } from '../table.ts';
import type { AppContext, Verb } from '../verb.ts';

interface Flags {
  /** ms since 1970. */
  readonly from?: number;
  readonly to?: number;
  readonly restart?: true;
  readonly plan?: true;
}

/** Only follow-ups can be requested by time. */
const isSliced = (stream: StreamName): boolean => streamNamed(stream).readMode.kind === 'incremental';

function askedFor({ from, to }: Flags, names: readonly string[]) {
  const range = { fromMs: from ?? WHOLE_TIME.fromMs, toMs: to ?? WHOLE_TIME.toMs };
  const streams = parseStreams(names);
  if (range.fromMs >= range.toMs) throw usageError('--from must be earlier than --to');
  const others = streams.filter((stream) => !isSliced(stream));
  if (isWholeTime(range) || others.length === 0) return { range, streams };
  if (names.length > 0) {
    throw usageError(
      `--from and --to: the service has no time filter for ${others.join(', ')}; read them by a command of their own, without a range`,
    );
  }
  return { range, streams: streams.filter(isSliced) };
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

/** `--plan` */
async function planAll({ app, terminal }: AppContext, options: Flags, names: readonly string[]) {
  const { pending } = await readMigrationStatus(app.connection);
  const { range, streams } = askedFor(options, names);
  const plan: Awaited<ReturnType<typeof planStream>>[] = [];
  for (const account of app.accounts)
    for (const stream of streams)
      plan.push(await planStream(app, account, { stream, range, isMigrated: pending === 0 }));
  const table = renderRows(terminal, plan, {
    ...accountColumn(plan),
    stream: ({ stream }) => stream,
    records: ({ records }) => records ?? 'the whole list',
    'requests, about': ({ requests }) => requests,
  });
  const lines = [table, '\nNothing was written to the warehouse. Leave out --plan to do it.'];
  return { json: { plan, pending_migrations: pending }, lines };
}

const reading = runningStreams<Flags>((options, names) => {
  return { kind: 'backfill', ...askedFor(options, names), restart: options.restart ?? false };
});

export const backfill: Verb<Flags> = {
  ...reading,
  about: 'read everything again: follow-ups in slices of creation time, resumable, the others whole',
  options: [
    ['--from <date>', 'follow-ups created on or after this day or time (UTC)', undefined, parseDate],
    ['--to <date>', 'follow-ups created before this day or time (UTC)', undefined, parseDate],
    ['--restart', 'begin again instead of resuming'],
    ['--plan', 'only print how much there is to read: requests are sent, no rows are written'],
  ],
  needs: (options, names) => ({
    ...reading.needs(options, names),
    ...(options.plan ? { migrates: 'by_itself' } : {}),
  }),
  run: (context, options, names) => (options.plan ? planAll : reading.run)(context, options, names),
};
