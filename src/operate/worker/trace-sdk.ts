/** Registers the OpenTelemetry packages that send spans. `open-telemetry.ts` loads this file only when traces are enabled. */
import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { withTimeout } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';

/** Timeout for an unreachable collector at the end of the process, ms. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Returns a function that sends the remaining spans. */
export function registerSdk() {
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over these attributes.
  const resource = resourceFromAttributes({
    'service.name': 'safety-sync',
    'service.version': VERSION,
  }).merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // Installs the async context manager, so that spans find their parents.
  provider.register();
  return async () => {
    await withTimeout(provider.shutdown(), CLOSE_TIMEOUT_MS).catch(() => undefined);
    trace.disable();
    context.disable();
  };
}
