/** Traces by OpenTelemetry, where the usual `OTEL_*` variables ask for them. Its packages are loaded then and only then. */
import type { Attributes, Span as OtelSpan } from '@opentelemetry/api';
import { SafetySyncError } from '../shared/errors.ts';
import { noTracing, type SpanAttributes, type Tracing } from '../shared/tracing.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Naming a place to send traces to is asking for them; `OTEL_TRACES_EXPORTER=none` and `OTEL_SDK_DISABLED=true` win. */
export function asksForTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env['OTEL_TRACES_EXPORTER'] ?? '';
  if (exporter !== '') return exporter === 'otlp';
  return [env['OTEL_EXPORTER_OTLP_ENDPOINT'], env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']].some(
    (endpoint) => (endpoint ?? '') !== '',
  );
}

function toAttributes(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value != null)) as Attributes;
}

/** At the end nobody waits longer for a collector that is away, ms. */
const CLOSE_PATIENCE_MS = 2_000;

async function loadTracing(version: string): Promise<Tracing> {
  const [api, { NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources] =
    await Promise.all([
      import('@opentelemetry/api'),
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
  const tracer = provider.getTracer('safety-sync', version);
  const fail = (span: OtelSpan, code: string): void => {
    span.setAttribute('error.type', code);
    span.setStatus({ code: api.SpanStatusCode.ERROR, message: code });
  };
  return {
    span: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes: toAttributes(attributes) }, async (span) => {
        try {
          return await work({
            set: (more) => void span.setAttributes(toAttributes(more)),
            fail: (code) => fail(span, code),
          });
        } catch (error) {
          // The code alone: a message may tell more than a tracing service should know.
          fail(span, error instanceof SafetySyncError ? error.code : 'internal_error');
          throw error;
        } finally {
          span.end();
        }
      }),
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_PATIENCE_MS)));
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

export async function openTracing(env: Environment, version: string): Promise<Tracing> {
  if (!asksForTraces(env)) return noTracing;
  try {
    return await loadTracing(version);
  } catch (error) {
    const message = `OTEL_* variables ask for traces, whose packages cannot be loaded (${(error as Error).message}); install all dependencies, or set OTEL_TRACES_EXPORTER=none`;
    throw new SafetySyncError('configuration_invalid', message, { cause: error });
  }
}
