/**
 * Sends a GET to an external monitoring service while every stream is fresh. That service sends an alert when the GETs stop,
 * so a worker that does not run is noticed, too. A failed GET is not retried, because the next one follows within a minute.
 */
import type { Logger } from '../../shared/logger.ts';
import { type Clock, MINUTE_MS } from '../../shared/time.ts';
import { ATTEMPT_MS, channelProblem } from './channel.ts';
import { createHook } from './webhook.ts';

interface HeartbeatOptions {
  /** The whole URL is a secret: with it, any sender could report that all is well. */
  readonly url: string;
  readonly isFresh: () => boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Returns the function that sends a GET when one is due; it never rejects. */
export function createHeartbeat({ url, isFresh, log, clock }: HeartbeatOptions) {
  const { host, request } = createHook(url);
  let sentMs = -Infinity;
  let isFailing = false;

  return async (stopping: AbortSignal): Promise<void> => {
    if (clock.monotonicMs() - sentMs < MINUTE_MS || !isFresh()) return;
    sentMs = clock.monotonicMs();
    try {
      await request(AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_MS)]));
      if (isFailing) log.info(`the heartbeat is accepted by ${host} again`);
      isFailing = false;
    } catch (error) {
      if (stopping.aborted) return;
      log[isFailing ? 'debug' : 'warn'](
        `the heartbeat was not accepted by ${host}: ${channelProblem(error)}; retrying every minute. Check ALERT_HEARTBEAT_URL and the network.`,
      );
      isFailing = true;
    }
  };
}
