import { startReceivingServer } from './receiving-server.ts';

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

interface OtlpSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes?: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly status?: { readonly code?: number };
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

function toValue({ stringValue, intValue, doubleValue, boolValue }: OtlpValue): string | number | boolean {
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
}

function toSpan({ name, spanId, parentSpanId, attributes = [], status }: OtlpSpan) {
  return {
    name,
    spanId,
    parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)])),
    /** 2: an error. */
    status: status?.code ?? 0,
  };
}

/** Receives traces as a collector does: OTLP over HTTP, as JSON. */
export async function startTraceReceiver() {
  /** All received requests, unchanged. */
  const bodies: string[] = [];
  const server = await startReceivingServer((response, _request, body) => {
    bodies.push(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  return {
    ...server,
    get spans() {
      return bodies
        .flatMap((body) => (JSON.parse(body) as OtlpBody).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(toSpan)));
    },
    bodies,
  };
}
