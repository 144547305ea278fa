import { secretsOfDatabaseUrl } from '../engine/database/database-url.ts';
import type { Config } from './load-config.ts';

/** A short password is redacted in its URL only, because it may also be a word, and logs without that word would be unreadable. */
function secretsOfUrl(url: string): string[] {
  const { username, password } = new URL(url);
  if (password === '') return [];
  const plain = decodeURIComponent(password);
  return [`${username}:${password}@`, ...(plain.length >= 8 ? [password, plain] : [])];
}

/** The path of a webhook is enough to post to it. */
function secretsOfWebhook(url: string): string[] {
  const { pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  return [url, ...(path.length >= 8 ? [path] : []), ...secretsOfUrl(url)];
}

/** Every secret of the configuration, for the redactor. */
export function secretsOf({
  accounts,
  databaseUrl,
  privacy,
  notifications: { webhookUrl, heartbeatUrl, mail },
}: Config): string[] {
  return [
    ...(privacy.key === undefined ? [] : [privacy.key]),
    ...accounts.flatMap(({ service }) => (service === undefined ? [] : [service.token])),
    ...(databaseUrl === undefined ? [] : secretsOfDatabaseUrl(databaseUrl)),
    ...[webhookUrl, heartbeatUrl].flatMap((url) => (url === undefined ? [] : secretsOfWebhook(url))),
    ...(mail === undefined ? [] : [mail.smtpUrl, ...secretsOfUrl(mail.smtpUrl)]),
  ];
}
