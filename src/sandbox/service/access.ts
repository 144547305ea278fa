import { ServiceError } from './service-error.ts';

export type TokenState = 'active' | 'inactive' | 'without-permission' | 'account-inactive';

const refusals: Record<Exclude<TokenState, 'active'>, string> = {
  inactive: 'token_inactive',
  'without-permission': 'token_permission',
  'account-inactive': 'account_inactive',
};

/** Access rights of tokens. States can be changed while the sandbox runs. */
export class Access {
  readonly #states = new Map<unknown, TokenState>();
  readonly #ownToken: string;

  constructor(token: string) {
    this.#ownToken = token;
    this.set('active');
  }

  /** Sets the state of the sandbox's token, or of a named one; an unknown token becomes known. */
  set(state: TokenState, token = this.#ownToken): void {
    this.#states.set(token, state);
  }

  /** Makes the sandbox's token `token_invalid` from now on. */
  revoke(): void {
    this.#states.delete(this.#ownToken);
  }

  check(token: unknown): void {
    if (token === undefined || token === null || token === '') throw new ServiceError('token_missing');
    const state = this.#states.get(token);
    if (state === undefined) throw new ServiceError('token_invalid');
    if (state !== 'active') throw new ServiceError(refusals[state]);
  }
}
