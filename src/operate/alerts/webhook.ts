import { ATTEMPT_MS, type Channel, excerptOf, NotAccepted, ECHO_REDACTION } from './channel.ts';
import { createHttpAgent } from '../../shared/http-agent.ts';
import { VERSION } from '../../version.ts';
import { createRedactor } from '../../shared/redact.ts';

export const isAccepted = (status: number): boolean => status >= 200 && status <= 299;

/** Bytes read of a refusing response; the body of an accepting one is not read. */
const READ_BYTES = 4096;

async function readBeginning(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= READ_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, READ_BYTES).toString();
}

/** Requests to the URL of a webhook; user and password in it become a header. */
export function createHook(url: string) {
  const { username, password, origin, host, pathname, search } = new URL(url);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const path = `${pathname}${search}`;
  const sender = { 'user-agent': `safety-sync/${VERSION}` };
  const headers =
    user === ':' ? sender : { ...sender, authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  const agent = createHttpAgent(origin, { connections: 1, connectTimeoutMs: ATTEMPT_MS });
  const get = (signal: AbortSignal) => agent.request({ method: 'GET', path, headers, signal });
  const post = (body: object, signal: AbortSignal) =>
    agent.request({
      method: 'POST',
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
  return { host, path, user, get, post };
}

/**
 * Sends a POST with `{"text": …}`, which chat services display; some refuse other fields. Redirects are not followed, because
 * the message is for the configured host only.
 */
export function createWebhook(url: string): Channel {
  const { host, path, user, post } = createHook(url);
  const redact = createRedactor([url, path, user], ECHO_REDACTION);
  return {
    name: 'webhook',
    endpoint: `the webhook at ${host}`,
    async send({ text }, signal) {
      const { statusCode, body } = await post({ text }, signal);
      if (isAccepted(statusCode)) {
        await body.dump();
        return [];
      }
      const excerpt = excerptOf(await readBeginning(body), redact);
      throw new NotAccepted(`HTTP ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`);
    },
  };
}
