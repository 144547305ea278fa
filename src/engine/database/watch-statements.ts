/** Follows every statement of a client of postgres.js from its call to its response. */

/** The used members of a query of postgres.js: it is sent by `handler`, and settles itself through the next two. */
export interface Query {
  handler: (query: Query) => void;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** Cancels it over a connection of its own. */
  canceller: ((query: Query) => Promise<void>) | null;
  /** The connection that executes it. */
  readonly state?: { readonly pid: number | null } | null;
}

/** A statement from its call to its response. */
export interface OpenStatement {
  readonly query: Query;
  readonly text: string;
  /** When it was called, by the monotonic clock. */
  readonly sinceMs: number;
  /** Of a COPY: called at its end. */
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
}

interface Client {
  unsafe: (text: string, ...rest: unknown[]) => Query;
  begin?: (...request: unknown[]) => unknown;
}

/** From here on `client` calls `watch` with every statement that it receives as text, also within its transactions. */
export function watchStatements(client: object, watch: (query: Query, text: string) => void): void {
  const asked = client as Client;
  const { unsafe, begin } = asked;
  asked.unsafe = (text, ...rest) => {
    const query = unsafe(text, ...rest);
    watch(query, text);
    return query;
  };
  if (begin === undefined) return;
  asked.begin = (work: unknown) =>
    begin((transaction: object) => {
      watchStatements(transaction, watch);
      return (work as (transaction: object) => unknown)(transaction);
    });
}
