import { type ErrorId, ServiceError } from './service-error.ts';

export type TokenState = 'active' | 'inactive' | 'without-permission' | 'account-inactive';

const refusals: Record<Exclude<TokenState, 'active'>, ErrorId> = {
  inactive: 'token_inactive',
  'without-permission': 'token_permission',
  'account-inactive': 'account_inactive',
};

/** Access rights of tokens. States can be changed while the sandbox runs. */
export class Access {
  readonly #states = new Map<string, TokenState>();
  readonly #methods = new Map<string, TokenState>();
  readonly #ownToken: string;

  constructor(token: string) {
    this.#ownToken = token;
    this.#states.set(token, 'active');
  }

  /** Sets the state of the sandbox's token, or of a named one; an unknown token becomes known. */
  set(state: TokenState, token = this.#ownToken): void {
    this.#states.set(token, state);
  }

  /** Restricts one method for every token (for example `equipments.list`). Checked after the state that `set` stored. */
  setMethod(method: string, state: TokenState): void {
    this.#methods.set(method, state);
  }

  /** Makes the token `token_invalid` from now on. */
  revoke(token = this.#ownToken): void {
    this.#states.delete(token);
  }

  check(token: unknown, method = ''): void {
    if (token === undefined || token === null || token === '') throw new ServiceError('token_missing');
    const state = typeof token === 'string' ? this.#states.get(token) : undefined;
    if (typeof token !== 'string' || state === undefined) throw new ServiceError('token_invalid');
    if (state !== 'active') throw new ServiceError(refusals[state]);
    const ofMethod = this.#methods.get(method) ?? 'active';
    if (ofMethod !== 'active') throw new ServiceError(refusals[ofMethod]);
  }
}
