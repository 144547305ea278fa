import { type Channel, excerptOf, NotTaken } from './channel.ts';

/** Busy, or too many at once: may take it a moment later. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/**
 * A POST with `{"text": …}`, which Slack, Mattermost, Rocket.Chat, Teams and Google Chat show as it is. Nothing else is in it:
 * Google Chat refuses fields that it does not know. A redirect is not followed: what is sent there is for the one who was named.
 */
export function createWebhook(url: string): Channel {
  return {
    name: 'webhook',
    place: `the webhook at ${new URL(url).host}`,
    async send({ text }, signal) {
      const { username, password, origin, pathname, search } = new URL(url);
      const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      const response = await fetch(`${origin}${pathname}${search}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
        },
        body: JSON.stringify({ text }),
        redirect: 'manual',
        signal,
      });
      const said = excerptOf(await response.text());
      if (response.ok) return;
      const problem = `HTTP ${response.status}${said === '' ? '' : `: ${said}`}`;
      throw new NotTaken(problem, !isPassing(response.status));
    },
  };
}
