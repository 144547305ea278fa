import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Only the project `proof` provides it. */
    isProof?: boolean;
  }
}

/** Cases for `npm test`, and all of them for `npm run test:proof`. */
export function casesOf<T>(cases: { readonly few: T; readonly all: T }): T {
  return inject('isProof') === true ? cases.all : cases.few;
}

/** Tests that only `npm run test:proof` runs, because others of their file show the same at less cost. */
export function inProof(define: () => void): void {
  if (inject('isProof') === true) define();
}
