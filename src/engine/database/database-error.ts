import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';

/** The error and its causes: drizzle wraps the errors of postgres.js, and Node.js those of several addresses. */
function causesOf(error: unknown): Error[] {
  if (!(error instanceof Error)) return [];
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return [error, ...causesOf(cause)];
}

/** The SQLSTATE or system code. */
export function databaseCode(error: unknown): string | undefined {
  return causesOf(error)
    .filter((one) => !(one instanceof SafetySyncError))
    .map((one) => (one as { code?: unknown }).code)
    .find((code) => typeof code === 'string');
}

/** The innermost message: that of PostgreSQL itself, without the statement that drizzle adds. */
export const databaseMessage = (error: unknown): string =>
  causesOf(error).findLast(({ message }) => message !== '')?.message ?? String(error);

export const READ_ONLY_ADVICE =
  'Point DATABASE_URL at the primary server, or take default_transaction_read_only back.';

/** Codes of the system, the driver and PostgreSQL: shutting down, crashed, starting up, no connection left, read-only. */
const UNREACHABLE = new Set(
  `ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN ETIMEDOUT EHOSTUNREACH ENETUNREACH EPIPE ENOENT EACCES CONNECT_TIMEOUT
   CONNECTION_CLOSED CONNECTION_SILENT CONNECTION_ENDED CONNECTION_DESTROYED TLS_NOT_OFFERED
   57P01 57P02 57P03 53300 25006`.split(/\s+/),
);

/** Node.js: the server's certificate is not trusted, or belongs to another server. */
const CERTIFICATE = /CERT|LEAF_SIGNATURE/;

/** PostgreSQL has refused or ended the connection, with any code: `connect` was revoked (42501), too many connections. */
const isConnectionRefused = (error: unknown): boolean =>
  causesOf(error).some((one) => (one as { severity?: unknown }).severity === 'FATAL');

const OPTIONS_ADVICE =
  'This PostgreSQL lacks a setting, role, collation or type that is named: take it out of the options in DATABASE_URL, or create it.';

const ADVICE: Readonly<Record<string, string>> = {
  '28P01':
    'Correct user and password in DATABASE_URL; @ / : # ? % in them are written %40 %2F %3A %23 %3F %25. A password with characters such as ﬁ, ½ or a soft hyphen is kept in another form (SASLprep): use one without them.',
  '28000':
    'PostgreSQL does not let this user log in from here: see alter role … login, and pg_hba.conf; where it wants TLS, add ?sslmode=require to DATABASE_URL.',
  '3D000': 'Create it with createdb, or correct DATABASE_URL.',
  '42501': 'This user may not connect to the database: grant connect on it, as its owner.',
  '53300':
    'PostgreSQL has no connection left: a worker takes up to 3, and one for each of at most 20 runs under way. Raise max_connections there, or the limit of the role or the database.',
  '25006': READ_ONLY_ADVICE,
  TLS_NOT_OFFERED:
    'This PostgreSQL does not speak TLS: switch it on there (ssl = on), or take sslmode out of DATABASE_URL.',
  '40P01':
    'Another session and this one waited for each other, so PostgreSQL ended this one; nothing is half stored. Run the command again. If it returns, find out what else writes to the schema safety or locks its tables.',
  '22023': OPTIONS_ADVICE,
  '42704': OPTIONS_ADVICE,
  '57014':
    'Remove a time-out for this role or database (alter role … reset statement_timeout), or ask who cancelled the statement.',
  '55P03':
    'Another session locks the table, for example an index build or a forgotten transaction: select pid, usename, query from pg_stat_activity where pid in (select pid from pg_locks where granted). Run the command again when it has ended, or remove lock_timeout of this role or database.',
  '53100': 'The disk of PostgreSQL is full: make room there.',
};
const CERTIFICATE_ADVICE =
  'Name the authority of the server’s certificate in sslrootcert (DATABASE_URL) or NODE_EXTRA_CA_CERTS, or ask for less with sslmode=require, without channel_binding.';

/** A statement that was cancelled from outside, and a later one in its transaction. */
const CANCELLED = ['57014', '25P02'];

/** A value that PostgreSQL cannot store, as opposed to a wrong statement or server. */
export const isDataError = (error: unknown): boolean =>
  /^(22|23|54)[0-9A-Z]{3}$/.test(databaseCode(error) ?? '');

/** Converts a failure of the database to an error with a code; one that already has a code, or a cause with one, is that. */
export function toDatabaseError(error: unknown): SafetySyncError {
  const known = causesOf(error).find((one) => one instanceof SafetySyncError);
  if (known !== undefined) return known;
  const code = databaseCode(error) ?? '';
  const said = databaseMessage(error);
  const message = `PostgreSQL: ${said}${said.includes(code) ? '' : ` (${code})`}`;
  const toError = (kind: ErrorCode, advice?: string) =>
    new SafetySyncError(kind, message, { cause: error, advice });
  if (CERTIFICATE.test(code)) return toError('database_unreachable', CERTIFICATE_ADVICE);
  if (UNREACHABLE.has(code) || code.startsWith('08') || isConnectionRefused(error))
    return toError('database_unreachable', ADVICE[code]);
  if (code === '42501') return toError('database_permission');
  if (['42P01', '3F000', '42703'].includes(code)) return toError('database_not_migrated');
  return toError('database_error', ADVICE[code]);
}

/** For callers that cannot retry: an error of the program, without statement and parameters. `signal`: that of a stop. */
export function toKnownError(error: unknown, signal?: AbortSignal): SafetySyncError {
  if (signal?.aborted === true && CANCELLED.includes(databaseCode(error) ?? '')) {
    const message = 'a statement was cancelled because a stop was requested';
    return new SafetySyncError('interrupted', message, { cause: error });
  }
  const isKnown = (one: Error): boolean => one instanceof SafetySyncError || one.name === 'PostgresError';
  if (causesOf(error).some(isKnown)) return toDatabaseError(error);
  // A defect of the program, as opposed to an error of the code that uses PostgreSQL.
  return new SafetySyncError('internal_error', databaseMessage(error), { cause: error });
}
