/**
 * A worker of `bench/loading.ts`: loads the follow-ups of all its accounts at once, on a message from its
 * parent.
 */
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';

export interface Loaded {
  /** Follow-ups that are stored now. */
  readonly records: number;
}

const config = loadConfig(process.env, { needsService: true, isTerminal: false });
const app = await createApp({ config, signal: new AbortController().signal, say: () => undefined });
process.once('message', () => void load());
process.send?.('ready');

async function load(): Promise<void> {
  const results = await Promise.all(
    app.accounts.map((account) =>
      runStream(account.runContext(), {
        stream: 'followups',
        kind: 'sync',
        trigger: 'manual',
      }),
    ),
  );
  for (const result of results) if (result.outcome === 'failed') throw result.error;
  const told: Loaded = { records: results.reduce((sum, { counts }) => sum + counts.inserted, 0) };
  process.send?.(told);
  await app.close();
  process.disconnect();
}
