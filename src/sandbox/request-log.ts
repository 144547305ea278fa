export interface RequestLogEntry {
  /** ms by the sandbox's clock. */
  readonly at: number;
  readonly httpMethod: string;
  /** The path after `/v1/`, or the whole path. */
  readonly method: string;
  /** The request object without its token; empty if there was none. */
  params: Record<string, unknown>;
  /** `ok` or an error identifier. `no-response`: the connection failed. `pending`: no response yet. */
  outcome: string;
  /** The SVC-Request-ID that was sent; null when the response did not come from the service. */
  requestId: string | null;
  /** Its kind. */
  fault: string | null;
  /** Records in the response. */
  records: number;
}

const MOST_KEPT = 10_000;

/** The oldest are dropped in a long run; rarely, because removing from the front of a long list costs its length. */
export function keep(entry: RequestLogEntry, entries: RequestLogEntry[]): void {
  entries.push(entry);
  if (entries.length > MOST_KEPT * 1.1) entries.splice(0, entries.length - MOST_KEPT);
}
