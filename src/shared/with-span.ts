/** Spans of OpenTelemetry, which do nothing until operate/worker/open-telemetry.ts has registered an SDK. */
import { type Attributes, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { SafetySyncError } from './errors.ts';

/**
 * Records only `code`, one of this program's error codes, because a message may contain more than a tracing service should
 * receive.
 */
export function markFailed(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR, message: code });
}

/** Runs the work inside of a span; spans that it creates become children. A rejection is recorded and passed on. */
export async function withSpan<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return await trace.getTracer('safety-sync').startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      markFailed(span, error instanceof SafetySyncError ? error.code : 'internal_error');
      throw error;
    } finally {
      span.end();
    }
  });
}
