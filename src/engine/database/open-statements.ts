/** The statements of a connection that have no response yet, seen from a second connection. */
import { sleep } from '../../shared/time.ts';
import { toArrayLiteral } from './array-literal.ts';
import type { OpenStatement } from './watch-statements.ts';

/** Asks over a connection that is opened for it. */
type Ask = <Row>(text: string, parameters: readonly unknown[]) => Promise<Row[]>;

/** The least that PostgreSQL shows of a statement. */
const SHOWN_CHARACTERS = 99;

const pidsOf = (statements: Iterable<OpenStatement>): string =>
  toArrayLiteral([...new Set([...statements].flatMap(({ query }) => query.state?.pid ?? []))]);

/**
 * The backends of these statements; behind a pooler, which gives its own numbers, those that run the same text. A backend that
 * waits for the client is not at work: its response, or our COPY, does not arrive.
 */
const IS_AT_WORK = `select coalesce(bool_or(state = 'active' and wait_event_type is distinct from 'Client'), false) as is_at_work
  from pg_stat_activity where usename = session_user
    and (pid = any ($1::int[]) or left(query, ${SHOWN_CHARACTERS}) = any ($2::text[]))`;
/** They would keep their locks until the server, too, sees that the connection is gone. */
const END = `select pg_terminate_backend(pid) from pg_stat_activity where usename = session_user and pid = any ($1::int[])`;

/** False: PostgreSQL works on none of these statements, or cannot be asked. */
export async function areAtWork(statements: readonly OpenStatement[], ask: Ask): Promise<boolean> {
  const texts = toArrayLiteral(statements.map(({ text }) => text.slice(0, SHOWN_CHARACTERS)));
  try {
    const [row] = await ask<{ is_at_work: boolean }>(IS_AT_WORK, [pidsOf(statements), texts]);
    return row?.is_at_work === true;
  } catch {
    return false;
  }
}

export const endBackends = async (statements: readonly OpenStatement[], ask: Ask): Promise<void> => {
  await ask(END, [pidsOf(statements)]).catch(() => undefined);
};

const CANCEL_EVERY_MS = 250;
/** With the time for closing the pool this is below ten seconds, after which service managers kill the process. */
const CANCEL_FOR_MS = 7_000;
/** Statements that are older than a second: a younger one may be closing the run. */
const CANCEL = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = any ($1::int[]) and state = 'active' and query_start < statement_timestamp() - interval '1 second'`;

/**
 * Cancels statements that are still active after a stop was requested. Without this PostgreSQL would finish them, and keep
 * the lock of the stream until then, because it detects only at their end that the process has ended.
 */
export async function cancelStatements(
  statements: ReadonlyMap<unknown, OpenStatement>,
  ask: Ask,
  closed: AbortSignal,
): Promise<void> {
  for (let waitedMs = 0; !closed.aborted && waitedMs < CANCEL_FOR_MS; waitedMs += CANCEL_EVERY_MS) {
    // An unreachable database has nothing to cancel.
    if (statements.size > 0) await ask(CANCEL, [pidsOf(statements.values())]).catch(() => undefined);
    await sleep(CANCEL_EVERY_MS, closed);
  }
}
