/** Runs several streams: in parallel, and `users` after the others, because it looks up their ids. */
import { streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { authFailureOf, nothingDone, type RunContext, type RunRequest, type RunResult } from './run.ts';
import { runStream } from './run-stream.ts';

const NO_REQUESTS = { requests: 0, retries: 0, throttled: 0, durationMs: 0 };

export interface SyncRequest extends Omit<RunRequest, 'stream'> {
  readonly streams: readonly StreamName[];
  readonly onResult?: (result: RunResult) => void;
}

/**
 * A failure of one stream never stops another; refused credentials stop the streams that have not begun, unless they are
 * refused for one method only. Returns a result for each stream, in the requested order.
 */
export async function syncStreams(context: RunContext, request: SyncRequest): Promise<RunResult[]> {
  const { streams, onResult } = request;
  let refusal: string | undefined;
  async function run(stream: StreamName): Promise<RunResult> {
    const result: RunResult =
      refusal === undefined
        ? await runStream(context, { ...request, stream })
        : { ...nothingDone(), ...NO_REQUESTS, stream, outcome: 'skipped', reason: refusal };
    onResult?.(result);
    return result;
  }
  const isLookup = (stream: StreamName) => streamNamed(stream).readMode.kind === 'people';
  const first = await Promise.all(streams.filter((stream) => !isLookup(stream)).map(run));
  const code = first
    .map((one) => authFailureOf(one)?.code)
    .find((one) => one !== undefined && one !== 'token_permission');
  if (code !== undefined) refusal = `not tried: the service refuses the credentials (${code})`;
  const results = [...first, ...(await Promise.all(streams.filter(isLookup).map(run)))];
  return streams.flatMap((stream) => results.find((one) => one.stream === stream) ?? []);
}
