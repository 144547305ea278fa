/** Follows every statement from its call to its response. */
import { formatDuration, formatNumber } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';

/** The used members of a query of postgres.js: it is sent by `handler`, and settles itself through the next two. */
export interface Query {
  handler: (query: Query) => void;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** The connection that executes it. */
  readonly state?: { readonly pid: number | null } | null;
}

export interface OpenStatement {
  readonly query: Query;
  readonly text: string;
  /** When it was called, by the monotonic clock. */
  readonly sinceMs: number;
  /** Of a COPY: called at its end. */
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
}

interface Outcome {
  /** Returned or written; null: it failed, or it has none. */
  readonly rows: number | null;
  readonly errorCode: string | null;
}

export type OnStatement = (statement: OpenStatement, outcome: Outcome) => void;

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
  asked.begin = (...request) => {
    const work = request.pop() as (transaction: object) => unknown;
    return begin(...request, (transaction: object) => {
      watchStatements(transaction, watch);
      return work(transaction);
    });
  };
}

export function toRowCount(result: unknown): number | null {
  const count = typeof result === 'object' && result !== null && 'count' in result ? result.count : null;
  return typeof count === 'number' ? count : null;
}

const SHOWN_CHARACTERS = 100;

/** Logs statements without their parameters, because these contain texts of people. undefined: the log leaves this level out. */
export function statementLog(log: Logger): OnStatement | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  return ({ text, sinceMs }, { rows, errorCode }) => {
    const statement = text.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS);
    const durationMs = performance.now() - sinceMs;
    const outcome = errorCode ?? (rows === null ? 'done' : formatNumber(rows, 'row'));
    log.debug(
      { statement, rows, duration_ms: Math.round(durationMs), error_code: errorCode },
      `${statement}: ${outcome} in ${formatDuration(durationMs)}`,
    );
  };
}
