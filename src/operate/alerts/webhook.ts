import { type Channel, excerptOf, NotAccepted, ECHO_REDACTION } from './channel.ts';
import { createRedactor } from '../../shared/redact.ts';

/** Bytes read of a refusing response; the body of an accepting one is not read. */
const READ_BYTES = 4096;

async function readBeginning({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array> | []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= READ_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, READ_BYTES).toString();
}

/** Moves user and password into a header, because `fetch` refuses them in a URL. */
export function requestTo(url: string) {
  const { username, password, origin, host, pathname, search } = new URL(url);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const path = `${pathname}${search}`;
  const headers: Record<string, string> =
    user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  return { address: `${origin}${path}`, host, path, user, headers };
}

/**
 * Sends a POST with `{"text": …}`, which Slack, Mattermost, Rocket.Chat, Teams and Google Chat display. Other fields would
 * break Google Chat, which refuses unknown ones. Redirects are not followed, because the message is for the configured host
 * only.
 */
export function createWebhook(url: string): Channel {
  const { address, host, path, user, headers } = requestTo(url);
  const redact = createRedactor([url, path, user], ECHO_REDACTION);
  return {
    name: 'webhook',
    endpoint: `the webhook at ${host}`,
    async send({ text }, signal) {
      const response = await fetch(address, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ text }),
        redirect: 'manual',
        signal,
      });
      if (response.ok) {
        await response.body?.cancel();
        return [];
      }
      const excerpt = excerptOf(await readBeginning(response), redact);
      throw new NotAccepted(`HTTP ${response.status}${excerpt === '' ? '' : `: ${excerpt}`}`);
    },
  };
}
