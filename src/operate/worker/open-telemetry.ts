/** Loads the OpenTelemetry SDK when the standard `OTEL_*` variables enable traces. */
import type { Environment } from '../../config/read-variables.ts';
import { SafetySyncError } from '../../shared/errors.ts';

/** An endpoint enables traces; `OTEL_TRACES_EXPORTER=none` and `OTEL_SDK_DISABLED=true` take precedence. */
function asksForTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env['OTEL_TRACES_EXPORTER'] ?? '';
  if (exporter !== '') return exporter === 'otlp';
  return [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']].some(
    (endpoint) => (endpoint ?? '') !== '',
  );
}

/** Without these variables the spans of @opentelemetry/api are no-ops. */
export async function startTracing(env: Environment) {
  if (!asksForTraces(env)) return () => Promise.resolve();
  try {
    const { registerSdk } = await import('./trace-sdk.ts');
    return registerSdk();
  } catch (error) {
    const message = `OTEL_* variables enable traces, but their packages cannot be loaded (${(error as Error).message}); install all dependencies, or set OTEL_TRACES_EXPORTER=none`;
    throw new SafetySyncError('configuration_invalid', message, { cause: error });
  }
}
