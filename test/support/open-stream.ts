import { openStreamSession, type StreamSession } from '../../src/engine/control-tables/stream-session.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { untilTestEnds } from './lifetime.ts';

/** The session of a stream that has no run: it holds the lock until it is closed, at the latest at the end of the test. */
export async function openFreeStream(
  databaseUrl: string,
  stream: StreamName,
  accountId = 'default',
): Promise<StreamSession> {
  const session = await openStreamSession({ databaseUrl, accountId, stream, whenBusy: 'skip' });
  if (session === undefined) throw new Error(`${stream} is busy`);
  return untilTestEnds(session);
}
