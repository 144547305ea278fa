/** Measures every statement, named by its operation and its table, without its parameters, because these contain texts of people. */
import { formatDuration, formatNumber } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';

interface StatementEvent {
  /** `insert safety.followups` */
  readonly name: string;
  /** From the call to the response, with the wait for a connection. */
  readonly durationMs: number;
  /** Returned or written; null: it failed, or it has none. */
  readonly rows: number | null;
  readonly errorCode: string | null;
}

export type OnStatement = (event: StatementEvent) => void;

const WRITES =
  /\b(insert)\s+into\s+([\w".]+)|\b(update)\s+([\w".]+)\s|\b(delete)\s+from\s+([\w".]+)|^\s*(copy)\s+([\w".]+)|^\s*(create)\s+temporary\s+table\s+(?:if\s+not\s+exists\s+)?([\w".]+)/i;
const READS = /\bfrom\s+([\w"]+\.[\w".]+)/i;

/** The table that a statement writes, else the table that it reads, else its first words. */
export function nameStatement(text: string): string {
  const [, ...groups]: (string | undefined)[] = WRITES.exec(text) ?? [];
  const written = groups.filter((group) => group !== undefined);
  const [verb, table] = written.length > 0 ? written : ['select', READS.exec(text)?.[1]];
  if (table !== undefined) return `${verb} ${table.replaceAll('"', '')}`.toLowerCase();
  return text
    .trim()
    .split(/\s+/, 2)
    .join(' ')
    .replace(/[(;].*$/, '')
    .toLowerCase();
}

/** The used members of a query of postgres.js: it is sent by `handler`, and settles itself through the next two. */
export interface Query {
  handler: (query: Query) => void;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** The connection that executes it. */
  readonly state?: { readonly pid: number | null } | null;
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

export const toStatementCode = (error: unknown): string =>
  String(typeof error === 'object' && error !== null && 'code' in error ? error.code : 'unknown');

/** Begins to measure a statement; the returned function is called when the statement has ended. */
export function timeStatement(text: string, onStatement: OnStatement) {
  const startedMs = performance.now();
  return (rows: number | null, errorCode: string | null): void =>
    onStatement({ name: nameStatement(text), durationMs: performance.now() - startedMs, rows, errorCode });
}

/** undefined: the log does not include this level. */
export function statementLog(log: Logger): OnStatement | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  return ({ name, durationMs, rows, errorCode }) => {
    const outcome = errorCode ?? (rows === null ? 'done' : formatNumber(rows, 'row'));
    log.debug(
      { statement: name, rows, duration_ms: Math.round(durationMs), error_code: errorCode },
      `${name}: ${outcome} in ${formatDuration(durationMs)}`,
    );
  };
}
