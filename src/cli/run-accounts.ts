/** Runs the streams of every account for a verb: logs each run when it ends, and prints a summary at the end. */
import pLimit from 'p-limit';
import type { Account } from '../app.ts';
import { runsLast, STREAM_NAMES } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import type { RunRequest } from '../engine/sync/run.ts';
import { runStream } from '../engine/sync/run-stream.ts';
import { formatCount } from '../shared/format.ts';
import { buildRunEvents, logResult } from '../operate/worker/run-log.ts';
import { createProgress } from './progress.ts';
import { type AccountResult, outputOf } from './run-results.ts';
import type { AppContext, CommonOptions, Verb } from './verb.ts';

/** At once, because each of their runs has a database session. */
const MOST_ACCOUNTS = 5;

interface RunAccountsRequest extends Omit<RunRequest, 'stream' | 'trigger'> {
  readonly streams: readonly StreamName[] | ((account: Account) => readonly StreamName[]);
}

/**
 * Runs several accounts in parallel, and returns the results in the order of the accounts. A failure of one account or stream
 * does not affect the others.
 */
export async function runAccounts(
  { app, terminal }: AppContext,
  { json }: CommonOptions,
  { streams, ...request }: RunAccountsRequest,
): Promise<AccountResult[]> {
  const { kind } = request;
  /** Log and result go to a terminal, where one person reads both. */
  const isAtTerminal = terminal.isInteractive && app.config.log.format === 'pretty' && json !== true;
  // A backfill alone uses all the concurrency that its service allows, and the progress bar.
  const limit = pLimit(kind === 'backfill' ? 1 : MOST_ACCOUNTS);
  const runAccount = async (account: Account): Promise<AccountResult[]> => {
    // A first sync reads follow-ups as a backfill does. Progress of several accounts would overwrite each other.
    const hasProgress = kind === 'backfill' || (isAtTerminal && app.accounts.length === 1);
    const progress = hasProgress ? createProgress(account.log, isAtTerminal) : undefined;
    const runContext = account.runContext({ ...buildRunEvents(account), ...progress?.events });
    const run = async (stream: StreamName): Promise<AccountResult> => {
      const result = await runStream(runContext, { ...request, stream, trigger: 'manual' });
      progress?.erase();
      // At a terminal the output contains the reason of a skip, so the log omits it.
      logResult(account, result, { kind, isKnown: isAtTerminal && result.outcome === 'skipped' });
      return { account_id: account.id, ...result };
    };
    const asked = typeof streams === 'function' ? streams(account) : streams;
    const results = await Promise.all(asked.filter((stream) => !runsLast(stream)).map(run));
    return [...results, ...(await Promise.all(asked.filter(runsLast).map(run)))];
  };
  return (await Promise.all(app.accounts.map((account) => limit(runAccount, account)))).flat();
}

/** The verdict of a reconcile on the syncs before it. Streams with full reads at every sync cannot miss a change. */
function describeFound({ stream, outcome, repaired }: AccountResult): string[] {
  if (outcome !== 'succeeded' || repaired === null) return [];
  if (repaired === 0) return [`${stream}: no sync had missed anything`];
  const count = formatCount(repaired);
  return [
    `${stream}: repaired ${count} that no sync had brought: the service gave them no new updated_on, or a sync missed them`,
  ];
}

/** What the verbs that run streams have alike. `requestOf` refuses bad arguments. */
export const runningStreams = <Own = object>(
  requestOf: (options: CommonOptions & Own, names: readonly string[]) => RunAccountsRequest,
): Required<Pick<Verb<Own>, 'takes' | 'common' | 'needs' | 'run'>> => ({
  takes: [['[stream...]', STREAM_NAMES.join(', ')]],
  common: ['accounts', 'liftPrivacy', 'json'],
  needs(options, names) {
    requestOf(options, names);
    return { needsService: true, migrates: true, stores: true };
  },
  async run(context, options, names) {
    const request = requestOf(options, names);
    const all = await runAccounts(context, options, request);
    return outputOf(all, context.terminal, request.kind === 'reconcile' ? all.flatMap(describeFound) : []);
  },
});
