import type { RequestLogEntry } from '../request-log.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';

/** Hooks for tests. Set them in the options, or on `sandbox.hooks` while it runs. */
export interface Hooks {
  /** Called after parsing the request and before reading data: a test can change the store between two pages. */
  beforeResponse?: ((entry: RequestLogEntry, store: SandboxStore) => void | Promise<void>) | undefined;
  /** Changes the complete response object, also of errors: a test can send wrong data. */
  rewriteResponse?:
    ((entry: RequestLogEntry, response: Record<string, unknown>) => Record<string, unknown>) | undefined;
}
