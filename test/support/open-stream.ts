import { type StreamSession, withStreamSession } from '../../src/engine/control-tables/stream-session.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { createGate } from './gate.ts';
import { untilTestEnds } from './lifetime.ts';

/** The session of a stream that has no run: it holds the lock until it is closed, at the latest at the end of the test. */
export async function openFreeStream(
  databaseUrl: string,
  stream: StreamName,
  accountId = 'default',
): Promise<StreamSession & { close(): Promise<void> }> {
  const closing = createGate();
  return await new Promise((resolve, reject) => {
    const { signal } = new AbortController();
    const context = { databaseUrl, settings: { accountId }, signal, events: {} };
    const held = withStreamSession(context, { stream, whenBusy: 'skip' }, async (session) => {
      const close = async (): Promise<void> => {
        closing.open();
        await held;
      };
      resolve(untilTestEnds(Object.assign(session, { close })));
      await closing.opened;
      return true;
    });
    held.then((done) => {
      if (done !== true) reject(new Error(`${stream} is busy`));
    }, reject);
  });
}
