import type { RequestLogEntry } from '../request-log.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';

/** Where a test can step in. Set them in the options or on `sandbox.hooks` while it runs. */
export interface Hooks {
  /** After the request was understood and before anything is read: the place to change the store between two pages. */
  beforeResponse?: ((entry: RequestLogEntry, store: SandboxStore) => void | Promise<void>) | undefined;
  /** Has the last word on the whole response object, errors too: the place to lie. */
  rewriteResponse?:
    ((entry: RequestLogEntry, response: Record<string, unknown>) => Record<string, unknown>) | undefined;
}
