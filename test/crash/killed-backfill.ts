/** Backfills by the built program, each ended by a real `kill -9` at a seeded moment until one gets through. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestLogEntry, Sandbox } from '../../src/sandbox/index.ts';
import type { Cli, CliEnvironment } from '../support/cli.ts';
import { createRandom } from '../support/seeded-random.ts';

interface KilledBackfillOptions {
  readonly cli: Cli;
  readonly sandbox: Sandbox;
  readonly env: CliEnvironment;
  readonly kills: number;
  readonly seed: number;
  /** A life ends after 1 to this many of its questions have been answered. */
  readonly longestLifeRequests: number;
}

interface KilledBackfill {
  /** Lives that were ended by the kill, not by their own end. */
  readonly kills: number;
  /** Records in all responses, except those that only give the total. */
  readonly pageRecords: number;
}

/** A longer delay than a response takes to be stored: kills fall on every part of the work. */
const MOST_DELAY_MS = 40;
const POLL_MS = 20;

/** A request for one record only reads the total. */
const isPage = ({ params, method }: RequestLogEntry) => method === 'followups.list' && params['limit'] !== 1;

export function countPageRecords(requests: readonly RequestLogEntry[]): number {
  return requests.filter(isPage).reduce((sum, { records }) => sum + records, 0);
}

/** However long it takes: the deadline of `finished` is one for small work. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await delay(POLL_MS);
  }
}

export async function backfillWithKills(options: KilledBackfillOptions): Promise<KilledBackfill> {
  const { cli, sandbox, env } = options;
  const random = createRandom(options.seed);
  sandbox.requests.length = 0;
  let kills = 0;
  for (;;) {
    const running = cli.start(['backfill', 'followups'], env);
    if (kills < options.kills) {
      let left = 1 + random.below(options.longestLifeRequests);
      const delayMs = random.below(MOST_DELAY_MS);
      sandbox.hooks.beforeResponse = () => {
        left -= 1;
        if (left === 0) setTimeout(() => running.kill('SIGKILL'), delayMs);
      };
    }
    await gone(running.pid);
    const finished = await running.finished;
    sandbox.hooks.beforeResponse = undefined;
    if (finished.signal === 'SIGKILL') {
      kills += 1;
      continue;
    }
    if (finished.code !== 0) throw new Error(`backfill ended with ${finished.code}: ${finished.stderr}`);
    return { kills, pageRecords: countPageRecords(sandbox.requests) };
  }
}
