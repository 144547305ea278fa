/** Runs several streams: side by side, and `users` after the others, whose ids it looks up. */
import { streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { RunContext, RunRequest, RunResult } from './run.ts';
import { runStream } from './run-stream.ts';

export interface SyncRequest extends Omit<RunRequest, 'stream'> {
  readonly streams: readonly StreamName[];
  readonly onResult?: (result: RunResult) => void;
}

/** The service refused the credentials: asking on would be asking for trouble. */
export function isRefused(result: RunResult): boolean {
  return result.outcome === 'failed' && result.error.recovery === 'fail_run';
}

/** One stream's failure never stops another; refused credentials stop what has not begun. Results in the order asked for. */
export async function syncStreams(context: RunContext, request: SyncRequest): Promise<RunResult[]> {
  const results = new Map<StreamName, RunResult>();
  const run = async (stream: StreamName): Promise<void> => {
    const result = await runStream(context, { ...request, stream });
    results.set(stream, result);
    request.onResult?.(result);
  };
  const isLookup = (stream: StreamName) => streamNamed(stream).reading.kind === 'lookup';
  await Promise.all(request.streams.filter((stream) => !isLookup(stream)).map(run));
  if (![...results.values()].some(isRefused)) {
    await Promise.all(request.streams.filter(isLookup).map(run));
  }
  return request.streams.flatMap((stream) => results.get(stream) ?? []);
}
