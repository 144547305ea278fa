/**
 * Sends a GET to an external monitoring service while every stream is fresh. That service sends an alert when the GETs stop,
 * so a worker that does not run is noticed, too. A failed GET is not retried, because the next one follows within a minute.
 */
import type { App } from '../../app.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import { ATTEMPT_MS, channelProblem } from '../alerts/channel.ts';
import { createHook } from '../alerts/webhook.ts';

/**
 * Returns the function that sends a GET when one is due; it never rejects. The whole URL is a secret: with it, any sender could
 * report that all is well.
 */
export function createHeartbeat(
  { log, clock }: Pick<App, 'log' | 'clock'>,
  url: string,
  isFresh: () => boolean,
) {
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
