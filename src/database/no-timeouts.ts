/**
 * An expression that frees a session from the time-outs that somebody has set on the role or the database: they are for
 * others. A merge and a migration take as long as they take, and a session is idle while the service is waited for. Not every
 * version of PostgreSQL has all of them.
 */
export const NO_TIMEOUTS = `(select count(set_config(name, '0', false)) from pg_settings where name in ('statement_timeout',
  'lock_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'))`;
