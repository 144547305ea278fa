/** The SDK of OpenTelemetry, where the usual `OTEL_*` variables ask for traces. Its packages are loaded then and only then. */
import { context, trace } from '@opentelemetry/api';
import type { Environment } from '../config/read-variables.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { withTimeout } from '../shared/time.ts';

/** Naming a place to send traces to is asking for them; `OTEL_TRACES_EXPORTER=none` and `OTEL_SDK_DISABLED=true` win. */
function asksForTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env['OTEL_TRACES_EXPORTER'] ?? '';
  if (exporter !== '') return exporter === 'otlp';
  return [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']].some(
    (endpoint) => (endpoint ?? '') !== '',
  );
}

/** At the end nobody waits longer for a collector that is away, ms. */
const CLOSE_PATIENCE_MS = 2_000;

/** Sends what was not sent yet. */
type StopTracing = () => Promise<void>;

async function registerSdk(version: string): Promise<StopTracing> {
  const [{ NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  // What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before what we say.
  const resource = resources
    .resourceFromAttributes({ 'service.name': 'safety-sync', 'service.version': version })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
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

/** Without the variables the spans of @opentelemetry/api stay what they are: nothing. */
export async function startTracing(env: Environment, version: string): Promise<StopTracing> {
  if (!asksForTraces(env)) return () => Promise.resolve();
  try {
    return await registerSdk(version);
  } catch (error) {
    const message = `OTEL_* variables ask for traces, whose packages cannot be loaded (${(error as Error).message}); install all dependencies, or set OTEL_TRACES_EXPORTER=none`;
    throw new SafetySyncError('configuration_invalid', message, { cause: error });
  }
}
