/** Spans, as far as this program needs them: whoever makes them gets a `Tracing`, and does not know what is behind it. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Span {
  /** What is null or undefined is left out. */
  set(attributes: SpanAttributes): void;
  /** It went wrong; `code` is one of our error codes. */
  fail(code: string): void;
}

export interface Tracing {
  /** Does the work inside of a span; spans that it makes become children. A rejection is noted and passed on. */
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** Sends what was not sent yet. */
  close(): Promise<void>;
}

const NO_SPAN: Span = { set: () => undefined, fail: () => undefined };

export const noTracing: Tracing = {
  span: (_name, _attributes, work) => work(NO_SPAN),
  close: () => Promise.resolve(),
};
