/** What one reader's requests cost. The client counts into it as things happen, also when the request fails in the end. */
export interface RequestMeter {
  /** HTTP requests sent, repeated ones included. */
  requests: number;
  /** Those of them that repeated a failed one. */
  retries: number;
  /** The service's identifier of the newest response. */
  lastRequestId: string | undefined;
  /** Bytes of response bodies as they came over the wire (compressed where the service compresses). */
  bytes: number;
  /** Answers that said "rate limit exceeded". */
  refusals: number;
}

export function createRequestMeter(): RequestMeter {
  return { requests: 0, retries: 0, lastRequestId: undefined, bytes: 0, refusals: 0 };
}
