/** The token that is asked with, and what becomes of it when the service refuses it. */
import { createRedactor, type Redact } from '../shared/redact.ts';
import type { ApiClientOptions } from './requests.ts';

/** From how many characters on the beginning of a token is as secret as the token. */
const SHORTEST_TOKEN_BEGINNING = 12;

interface Token {
  /** To ask with: one that was refused is first read again. */
  take(): string;
  /** The service refused this one. True: there is another one to ask with. */
  refuse(refused: string): boolean;
  /** The one that was refused last stands no longer where tokens are kept. */
  readonly isReplaced: boolean;
  /** Takes every token that was ever asked with out of a text. */
  readonly redact: Redact;
}

export function createToken(options: Pick<ApiClientOptions, 'token' | 'readToken' | 'onNewToken'>): Token {
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
    take() {
      if (current === lastRefused) renew();
      return current;
    },
    refuse(refused) {
      lastRefused = refused;
      // Another request may have read it already.
      if (current === refused) renew();
      return current !== refused;
    },
    get isReplaced() {
      if (current !== lastRefused) return lastRefused !== undefined;
      const read = options.readToken?.();
      return read !== undefined && read !== lastRefused;
    },
    redact: createRedactor(secrets, { placeholder: '[token]', shortestBeginning: SHORTEST_TOKEN_BEGINNING }),
  };
}
