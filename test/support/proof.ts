import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Provided by the project `proof` only. */
    isProof?: boolean;
  }
}

/** Cases for `npm test`, and all cases for `npm run test:proof`. */
export function casesOf<T>(cases: { readonly few: T; readonly all: T }): T {
  return inject('isProof') === true ? cases.all : cases.few;
}

/** Tests that only `npm run test:proof` runs, because cheaper tests in their file cover the same behaviour. */
export function inProof(define: () => void): void {
  if (inject('isProof') === true) define();
}
