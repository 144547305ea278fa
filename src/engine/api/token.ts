/** The token of the requests, and its replacement after the service refused it. */
import { createRedactor } from '../../shared/redact.ts';
import type { ApiClientOptions } from './requests.ts';

/** The beginning of a token with this number of characters is as secret as the token. */
const SHORTEST_TOKEN_BEGINNING = 12;

export function createToken(options: Pick<ApiClientOptions, 'token' | 'readToken' | 'onNewToken'>) {
  let current = options.token;
  let lastRefused: string | undefined;
  const secrets = [current];

  function renew(): void {
    const read = options.readToken?.();
    if (read === undefined || read === current) return;
    current = read;
    secrets.push(read);
    options.onNewToken?.(read);
  }

  return {
    /** The token for a request. One that was refused is read from its file again. */
    take(): string {
      if (current === lastRefused) renew();
      return current;
    },
    /** The service refused this token. True: there is another one to try. */
    refuse(refused: string): boolean {
      lastRefused = refused;
      // Another request may have read the new one already.
      if (current === refused) renew();
      return current !== refused;
    },
    /** The file no longer has the token that was refused last. */
    get isReplaced(): boolean {
      if (current !== lastRefused) return lastRefused !== undefined;
      const read = options.readToken?.();
      return read !== undefined && read !== lastRefused;
    },
    /** Removes every token that was ever used from a text. */
    redact: createRedactor(secrets, { placeholder: '[token]', shortestBeginning: SHORTEST_TOKEN_BEGINNING }),
  };
}
