/** The settings that a session makes for itself, independent of server, database and role. */

/**
 * Not every version of PostgreSQL has all of these. Time-outs of the role or the database are intended for other sessions: a merge
 * or a migration may take long, and a session is idle during requests to the service. Tables grow during a session, and a plan
 * from the time when they were empty would still scan them sequentially. JIT is off, because compiling a statement takes longer
 * than the statement.
 */
const WHERE_KNOWN = `(select count(set_config(name, value, false)) from (values ('idle_in_transaction_session_timeout', '0'),
    ('idle_session_timeout', '0'), ('lock_timeout', '0'), ('statement_timeout', '0'), ('transaction_timeout', '0'),
    ('plan_cache_mode', 'force_custom_plan'), ('jit', 'off')) as t (name, value) where current_setting(name, true) <> value)`;

/**
 * The server ends a session, with its locks, when its client has been unreachable for about a minute, also while a response is on
 * its way: then it probes no more.
 */
const KEEP_ALIVES = `set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false),
  set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '60000', false)`;

/**
 * Settings of the server, the database or the role on which the statements of a session depend: search_path alone decides
 * which function a name means, and by a stricter isolation a merge fails where another run has written.
 */
export const OWN_SETTINGS = `set_config('search_path', 'pg_catalog', false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('extra_float_digits', '1', false), set_config('array_nulls', 'on', false),
  set_config('transform_null_equals', 'off', false), ${KEEP_ALIVES}, ${WHERE_KNOWN}`;

/**
 * Sent at the beginning of a connection: PostgreSQL's formats of times and texts. Other settings
 * are not sent here, because a pooler refuses a connection with unknown settings, and PgBouncer accepts few others.
 */
export const TEXT_SETTINGS = { DateStyle: 'ISO, YMD', TimeZone: 'UTC', standard_conforming_strings: 'on' };
