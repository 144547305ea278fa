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
  /** The exact effect of an `oddRecord` or `oddResponse`. */
  oddity: string | null;
  /** Records in the response. */
  records: number;
  /** Real ms until the response was sent. */
  durationMs: number;
}

/** Recent requests, oldest first. The oldest are dropped in a long run. */
export class RequestLog {
  readonly entries: RequestLogEntry[] = [];
  readonly #size: number;
  #count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  open(about: Pick<RequestLogEntry, 'at' | 'httpMethod' | 'method'>): RequestLogEntry {
    this.#count += 1;
    const entry: RequestLogEntry = {
      ...about,
      number: this.#count,
      params: {},
      token: 'absent',
      outcome: 'pending',
      requestId: null,
      fault: null,
      oddity: null,
      records: 0,
      durationMs: 0,
    };
    this.entries.push(entry);
    // Trimmed rarely, because removing from the front of a long list costs its length.
    if (this.entries.length > this.#size * 1.1) this.entries.splice(0, this.entries.length - this.#size);
    return entry;
  }
}
