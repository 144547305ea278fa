/** The packages of OpenTelemetry that send spans; `open-telemetry.ts` loads this file where traces are asked for. */
import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { withTimeout } from '../shared/time.ts';

/** At the end nothing waits longer for a collector that is away, ms. */
const CLOSE_PATIENCE_MS = 2_000;

/** Sends what was not sent yet. */
export type StopTracing = () => Promise<void>;

export function registerSdk(version: string): StopTracing {
  // What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before what we say.
  const resource = resourceFromAttributes({
    'service.name': 'safety-sync',
    'service.version': version,
  }).merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // Sets the context of asynchronous work, by which a span knows its parent.
  provider.register();
  return async () => {
    await withTimeout(provider.shutdown(), CLOSE_PATIENCE_MS).catch(() => undefined);
    trace.disable();
    context.disable();
  };
}
