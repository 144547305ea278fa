/**
 * A GET after each look at which every stream was fresh, for a service outside that sends an alert when the GETs stay away:
 * so that also a worker that does not run is noticed. A GET that fails is not repeated, because the next one follows in a minute.
 */
import type { Logger } from '../shared/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../shared/time.ts';
import { ATTEMPT_MS, NotTaken, problemOf } from './channel.ts';
import { requestTo } from './webhook.ts';

interface HeartbeatOptions {
  /** A secret as a whole: with it, anyone can claim that all is well. */
  readonly url: string;
  readonly isFresh: () => boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

export interface Heartbeat {
  /** Never rejects. */
  look(): Promise<void>;
  start(everyMs?: number): void;
  stop(): Promise<void>;
}

const EVERY_MS = 10 * SECOND_MS;
/** No more often than this. */
const REST_MS = MINUTE_MS;

export function createHeartbeat({ url, isFresh, log, clock }: HeartbeatOptions): Heartbeat {
  const { address, host, headers } = requestTo(url);
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  let sentMs = -Infinity;
  let isFailing = false;

  async function send(): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(ATTEMPT_MS)]);
    // A redirect is not followed: the URL is for the host that it names.
    const response = await fetch(address, { headers, redirect: 'manual', signal });
    await response.body?.cancel();
    if (!response.ok) throw new NotTaken(`HTTP ${response.status}`, false);
  }

  async function look(): Promise<void> {
    if (clock.monotonicMs() - sentMs < REST_MS || !isFresh()) return;
    sentMs = clock.monotonicMs();
    try {
      await send();
      if (isFailing) log.info(`the heartbeat is taken by ${host} again`);
      isFailing = false;
    } catch (error) {
      if (stopping.signal.aborted) return;
      log[isFailing ? 'debug' : 'warn'](
        `the heartbeat was not taken by ${host}: ${problemOf(error)}; trying on every minute. Check ALERT_HEARTBEAT_URL and the way to it.`,
      );
      isFailing = true;
    }
  }

  return {
    look,
    start(everyMs = EVERY_MS) {
      const again = async (): Promise<void> => {
        sending = look();
        await sending;
        if (!stopping.signal.aborted) timer = setTimeout(() => void again(), everyMs);
      };
      void again();
    },
    async stop() {
      clearTimeout(timer);
      stopping.abort();
      await withTimeout(sending, SECOND_MS);
    },
  };
}
