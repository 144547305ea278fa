/**
 * Cancels statements that are still active after a stop was requested. Without this PostgreSQL would finish them, and keep
 * the lock of the stream until then, because it detects only at their end that the process has ended.
 */
import { SECOND_MS, untilAborted } from '../../shared/time.ts';
import type { Query } from './watch-statements.ts';

type OpenStatements = Set<Query>;

const CANCEL_EVERY_MS = 250;
/** With the time for closing the pool this is below ten seconds, after which service managers kill the process. */
const CANCEL_FOR_MS = 7 * SECOND_MS;

/** Cancels statements that are older than a second; a younger one may be closing the run. */
export const CANCEL = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = any ($1::int[]) and state = 'active' and query_start < statement_timestamp() - interval '1 second'`;

/** One set for all connections that end with one signal. */
const bySignal = new WeakMap<AbortSignal, OpenStatements>();

/**
 * A set that holds statements while they are executed. After the signal `cancel` is called with their
 * backends, repeatedly.
 */
export function statementsUntil(
  signal: AbortSignal,
  cancel: (backends: readonly number[]) => Promise<unknown>,
): OpenStatements {
  const known = bySignal.get(signal);
  if (known !== undefined) return known;
  const statements: OpenStatements = new Set();
  bySignal.set(signal, statements);
  const cancelAll = (): void => {
    const backends = [...statements].flatMap(({ state }) => state?.pid ?? []);
    // An unreachable database has nothing to cancel.
    if (backends.length > 0) cancel([...new Set(backends)]).catch(() => undefined);
  };
  void untilAborted(signal).then(() => {
    cancelAll();
    const timer = setInterval(cancelAll, CANCEL_EVERY_MS).unref();
    setTimeout(() => clearInterval(timer), CANCEL_FOR_MS).unref();
  });
  return statements;
}
