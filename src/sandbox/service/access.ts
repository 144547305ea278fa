import { ServiceError } from './service-error.ts';
import type { ErrorId } from './service-error.ts';

export type TokenState = 'active' | 'inactive' | 'without-permission' | 'account-inactive';

const refusals: Record<Exclude<TokenState, 'active'>, ErrorId> = {
  inactive: 'token_inactive',
  'without-permission': 'token_permission',
  'account-inactive': 'account_inactive',
};

/** Who may ask. States can be switched while the sandbox runs. */
export interface AccessController {
  /** Of the sandbox's own token, unless another one is named; a token that was unknown becomes known. */
  set(state: TokenState, token?: string): void;
  /** Of every token, but for one method only (`equipments.list`): one right less. Checked after what `set` says. */
  setMethod(method: string, state: TokenState): void;
  /** From now on the token is `token_invalid`. */
  revoke(token?: string): void;
}

export class Access implements AccessController {
  readonly #states = new Map<string, TokenState>();
  readonly #methods = new Map<string, TokenState>();
  readonly #ownToken: string;

  constructor(token: string) {
    this.#ownToken = token;
    this.#states.set(token, 'active');
  }

  set(state: TokenState, token = this.#ownToken): void {
    this.#states.set(token, state);
  }

  setMethod(method: string, state: TokenState): void {
    this.#methods.set(method, state);
  }

  revoke(token = this.#ownToken): void {
    this.#states.delete(token);
  }

  check(token: unknown, method = ''): string {
    if (token === undefined || token === null || token === '') throw new ServiceError('token_missing');
    const state = typeof token === 'string' ? this.#states.get(token) : undefined;
    if (typeof token !== 'string' || state === undefined) throw new ServiceError('token_invalid');
    if (state !== 'active') throw new ServiceError(refusals[state]);
    const ofMethod = this.#methods.get(method) ?? 'active';
    if (ofMethod !== 'active') throw new ServiceError(refusals[ofMethod]);
    return token;
  }
}
