import type { Config } from './load-config.ts';

/** A short password is also a word: redacting it everywhere would make logs unreadable, so only its place in a URL is. */
export function secretsOfUrl(databaseUrl: string): string[] {
  const { username, password } = new URL(databaseUrl);
  if (password === '') return [];
  const plain = decodeURIComponent(password);
  return [`${username}:${password}@`, ...(plain.length >= 8 ? [password, plain] : [])];
}

/** Every secret of the configuration, for the redactor. */
export function secretsOf({ accounts, databaseUrl }: Config): string[] {
  const tokens = accounts.flatMap(({ service }) => (service === undefined ? [] : [service.token]));
  return databaseUrl === undefined ? tokens : [...tokens, ...secretsOfUrl(databaseUrl)];
}
