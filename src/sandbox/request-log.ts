import type { FaultKind } from './faults/fault.ts';

export interface RequestLogEntry {
  /** 1 for the first request of this sandbox. */
  number: number;
  /** ms by the sandbox's clock. */
  at: number;
  httpMethod: string;
  /** The path after `/v1/`, or the whole path. */
  method: string;
  /** The request object without its token; empty if there was none. */
  params: Record<string, unknown>;
  token: 'present' | 'absent';
  /** `ok` or an error identifier. `no-response`: the connection failed. `pending`: no response yet. */
  outcome: string;
  /** The SVC-Request-ID that was sent; null when the response did not come from the service. */
  requestId: string | null;
  fault: FaultKind | null;
  /** Records in the response. */
  records: number;
  /** Real ms until the response was sent. */
  durationMs: number;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

const MOST_KEPT = 10_000;

/** Recent requests, oldest first. The oldest are dropped in a long run. */
export function createRequestLog() {
  const entries: RequestLogEntry[] = [];
  let count = 0;
  return {
    entries,
    open(about: Pick<RequestLogEntry, 'at' | 'httpMethod' | 'method'>): RequestLogEntry {
      count += 1;
      const entry: RequestLogEntry = {
        ...about,
        number: count,
        params: {},
        token: 'absent',
        outcome: 'pending',
        requestId: null,
        fault: null,
        records: 0,
        durationMs: 0,
      };
      entries.push(entry);
      // Trimmed rarely, because removing from the front of a long list costs its length.
      if (entries.length > MOST_KEPT * 1.1) entries.splice(0, entries.length - MOST_KEPT);
      return entry;
    },
  };
}
