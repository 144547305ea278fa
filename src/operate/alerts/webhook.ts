import { ATTEMPT_MS, type Channel, NotAccepted } from './channel.ts';
import { createHttpAgent } from '../../shared/http-agent.ts';
import { VERSION } from '../../version.ts';

/** Requests to the URL of a webhook; user and password in it become a header. Rejects unless the status is 2xx. */
export function createHook(url: string) {
  const { username, password, origin, host, pathname, search } = new URL(url);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers = {
    'user-agent': `safety-sync/${VERSION}`,
    ...(user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
  };
  const agent = createHttpAgent(origin, { connections: 1, connectTimeoutMs: ATTEMPT_MS });
  return {
    host,
    /** GET, or POST where there is a body. Redirects are not followed, because the URL is a secret for its own host only. */
    request: async (signal: AbortSignal, sent?: object): Promise<void> => {
      const { statusCode, body } = await agent.request({
        path: `${pathname}${search}`,
        signal,
        ...(sent === undefined
          ? { method: 'GET', headers }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(sent),
            }),
      });
      // A refusing response may echo the secret, so it is not shown; of a long one only the beginning is read.
      await body.dump();
      if (statusCode < 200 || statusCode > 299) throw new NotAccepted(`HTTP ${statusCode}`);
    },
  };
}

/** Sends a POST with `{"text": …}`, which chat services display; some refuse other fields. */
export function createWebhook(url: string): Channel {
  const { host, request } = createHook(url);
  return {
    name: 'webhook',
    endpoint: `the webhook at ${host}`,
    async send({ text }, signal) {
      await request(signal, { text });
      return [];
    },
  };
}
