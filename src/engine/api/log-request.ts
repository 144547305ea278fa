import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import type { RequestEvent } from './requests.ts';

/** A line of the debug log for a request that was answered or failed. */
export function logRequest(log: Logger, event: RequestEvent): void {
  const { method, range, attempt, durationMs, bytes, records, requestId, errorCode } = event;
  const outcome = errorCode ?? formatNumber(records ?? 0, 'record');
  const asked = Object.entries(range).map(([name, value]) => `${name} ${value}`);
  log.debug(
    {
      method,
      ...range,
      attempt,
      duration_ms: Math.round(durationMs),
      bytes,
      records,
      error_code: errorCode,
      request_id: requestId ?? null,
    },
    `${[method, ...asked].join(', ')}: ${outcome} in ${formatDuration(durationMs)}, ${formatCount(bytes)} bytes [request ${requestId ?? 'without id'}]`,
  );
}
