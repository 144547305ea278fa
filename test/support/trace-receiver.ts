import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReceivedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** 2: an error. */
  readonly status: number;
}

/** Receives traces as a collector does: OTLP over HTTP, as JSON. */
export interface TraceReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All received requests, unchanged. */
  readonly bodies: readonly string[];
  close(): Promise<void>;
}

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

function toSpan({ name, spanId, parentSpanId, attributes = [], status }: OtlpSpan): ReceivedSpan {
  return {
    name,
    spanId,
    parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)])),
    status: status?.code ?? 0,
  };
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get spans() {
      return bodies
        .flatMap((body) => (JSON.parse(body) as OtlpBody).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(toSpan)));
    },
    bodies,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
