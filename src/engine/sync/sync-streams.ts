/** Runs several streams: in parallel, and `users` after the others, because it looks up their ids. */
import { streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { authFailureOf, nothingDone, type RunContext, type RunRequest, type RunResult } from './run.ts';
import { runStream } from './run-stream.ts';

export interface SyncRequest extends Omit<RunRequest, 'stream'> {
  readonly streams: readonly StreamName[];
  readonly onResult?: (result: RunResult) => void;
}

/** The result of a stream that was not begun. */
function notTried(stream: StreamName, reason: string): RunResult {
  const counters = { requests: 0, retries: 0, throttled: 0, durationMs: 0 };
  return { ...nothingDone(), ...counters, stream, outcome: 'skipped', reason };
}

/**
 * A failure of one stream never stops another; refused credentials stop the streams that have not begun, unless they are
 * refused for one method only. Returns a result for each stream, in the requested order.
 */
export async function syncStreams(context: RunContext, request: SyncRequest): Promise<RunResult[]> {
  const results = new Map<StreamName, RunResult>();
  const keep = (result: RunResult): void => {
    results.set(result.stream, result);
    request.onResult?.(result);
  };
  const run = async (stream: StreamName): Promise<void> =>
    keep(await runStream(context, { ...request, stream }));
  const isLookup = (stream: StreamName) => streamNamed(stream).readMode.kind === 'people';
  await Promise.all(request.streams.filter((stream) => !isLookup(stream)).map(run));
  const lookups = request.streams.filter(isLookup);
  const failures = [...results.values()].flatMap((result) => authFailureOf(result) ?? []);
  const authFailure = failures.find(({ code }) => code !== 'token_permission');
  if (authFailure !== undefined) {
    const reason = `not tried: the service refuses the credentials (${authFailure.code})`;
    for (const stream of lookups) keep(notTried(stream, reason));
  } else {
    await Promise.all(lookups.map(run));
  }
  return request.streams.flatMap((stream) => results.get(stream) ?? []);
}
