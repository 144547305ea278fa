/**
 * Sends a GET to an external monitoring service while every stream is fresh. That service sends an alert when the GETs stop,
 * so a worker that does not run is noticed, too. A failed GET is not retried, because the next one follows within a minute.
 */
import type { Logger } from '../../shared/logger.ts';
import { type Clock, MINUTE_MS } from '../../shared/time.ts';
import { ATTEMPT_MS, NotAccepted, channelProblem } from './channel.ts';
import { createHook, isAccepted } from './webhook.ts';

interface HeartbeatOptions {
  /** The whole URL is a secret: with it, any sender could report that all is well. */
  readonly url: string;
  readonly isFresh: () => boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Least time between two GETs. */
const REST_MS = MINUTE_MS;

export function createHeartbeat({ url, isFresh, log, clock }: HeartbeatOptions) {
  const { host, get } = createHook(url);
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sentMs = -Infinity;
  let isFailing = false;

  /** Never rejects. */
  async function look(): Promise<void> {
    if (clock.monotonicMs() - sentMs < REST_MS || !isFresh()) return;
    sentMs = clock.monotonicMs();
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(ATTEMPT_MS)]);
    try {
      // Redirects are not followed, because the URL is a secret for its own host only.
      const { statusCode, body } = await get(signal);
      await body.dump();
      if (!isAccepted(statusCode)) throw new NotAccepted(`HTTP ${statusCode}`);
      if (isFailing) log.info(`the heartbeat is accepted by ${host} again`);
      isFailing = false;
    } catch (error) {
      if (stopping.signal.aborted) return;
      log[isFailing ? 'debug' : 'warn'](
        `the heartbeat was not accepted by ${host}: ${channelProblem(error)}; retrying every minute. Check ALERT_HEARTBEAT_URL and the network.`,
      );
      isFailing = true;
    }
  }

  return {
    look,
    start(everyMs: number) {
      timer = setInterval(() => void look(), everyMs);
      void look();
    },
    stop() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}
