/** Reads a connection string as libpq does. A problem repeats no part of it but the name of a parameter. */
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { SafetySyncError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/loopback.ts';

const UNREADABLE =
  'is not a URL that can be read (the value is not shown): in user and password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F and % as %25; the password p@ss/word is p%40ss%2Fword';

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * The names of libpq. Those of the last three lines are read and not used: neither the server nor the protection of the connection
 * depends on them. Keep-alives are on and texts are UTF-8 anyway, and sessions are recognized by names of our own.
 */
const NAMES = new Set(
  `host hostaddr port dbname user password connect_timeout options channel_binding sslmode sslrootcert sslcert sslkey sslpassword
   ssl_min_protocol_version ssl_max_protocol_version
   application_name fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout passfile client_encoding
   krbsrvname gsslib gssdelegation gssencmode sslcompression sslsni sslcertmode sslkeylogfile sslnegotiation load_balance_hosts target_session_attrs
   min_protocol_version max_protocol_version`.split(/\s+/),
);
const SOCKET_FOLDERS = ['/run/postgresql', '/var/run/postgresql', '/tmp'];
const CONNECT_TIMEOUT_SECONDS = 10;

type Parameters = Readonly<Record<string, string | undefined>>;

function refuse(problem: string): never {
  throw new SafetySyncError('configuration_invalid', problem);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse(UNREADABLE);
  }
}

/** The last of several with one name counts, as in libpq. */
function readParameters(query: string): Parameters {
  const parameters: Record<string, string> = {};
  for (const pair of query.split('&').filter((one) => one !== '')) {
    const [name = '', ...rest] = pair.split('=').map(decode);
    const value = rest.join('=');
    if (name === 'gssencmode' && value === 'require') refuse('gssencmode=require is not supported: use TLS');
    if (name === 'ssl' && value === 'true') parameters['sslmode'] = 'require';
    else if (NAMES.has(name)) parameters[name] = value;
    else {
      const shown = /^\w{1,40}$/.test(name) ? name : 'with a name that is not shown';
      refuse(`the parameter ${shown} is not supported: take it out`);
    }
  }
  return parameters;
}

function readParameterFile(name: string, path: string | undefined): Buffer | undefined {
  if (path === undefined || path === '' || path === 'system') return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    return refuse(`${name} names a file that cannot be read (${code})`);
  }
}

/**
 * null: no TLS. The driver cannot bind SCRAM to the channel. A verified certificate protects from the same attack, a
 * server in between: `channel_binding=require` means `verify-full`.
 */
function readTls(parameters: Parameters, host: string) {
  const { sslmode, sslrootcert, channel_binding: binding } = parameters;
  if (sslmode !== undefined && !MODES.includes(sslmode)) refuse(`sslmode must be one of ${MODES.join(', ')}`);
  const isBound = binding === 'require' || sslrootcert === 'system';
  if (isBound && sslmode === 'disable')
    refuse('channel_binding and sslrootcert need TLS, which sslmode=disable turns off');
  // As in libpq, an authority that is named is required.
  const named = sslmode === 'require' && sslrootcert !== undefined ? 'verify-ca' : sslmode;
  const mode = isBound ? 'verify-full' : (named ?? (isLoopback(host) ? 'disable' : 'prefer'));
  if (mode === 'disable') return null;
  const isVerified = mode.startsWith('verify');
  const options: TlsOptions = {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: isVerified,
    ...(mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ca: isVerified ? readParameterFile('sslrootcert', sslrootcert) : undefined,
    cert: readParameterFile('sslcert', parameters['sslcert']),
    key: readParameterFile('sslkey', parameters['sslkey']),
    passphrase: parameters['sslpassword'],
    minVersion: parameters['ssl_min_protocol_version'] as TlsOptions['minVersion'],
    maxVersion: parameters['ssl_max_protocol_version'] as TlsOptions['maxVersion'],
  };
  /** Optional: goes on without TLS where the server has none. */
  return { isOptional: mode === 'allow' || mode === 'prefer', options };
}

/** Without a name of a host: the socket of a server on this machine, if there is one. */
const findHost = (port: number): string =>
  process.env['PGHOST'] ??
  SOCKET_FOLDERS.find((folder) => existsSync(`${folder}/.s.PGSQL.${port}`)) ??
  'localhost';

export type DatabaseAddress = ReturnType<typeof parseDatabaseUrl>;

/** Error: `configuration_invalid`. */
export function parseDatabaseUrl(text: string) {
  // A second @, or one after a /, belongs to the password, and a part of it would be looked up as the host.
  const [, userInfo = '', hosts = '', database = '', query = ''] =
    /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@?#]*))?(?:\?([^@#]*))?(?:#[^@]*)?$/i.exec(
      text,
    ) ?? refuse(UNREADABLE);
  const [user = '', ...password] = userInfo.split(':');
  const parameters = readParameters(query);
  // Locks and staging belong to one server.
  if ([hosts, parameters['host'], parameters['hostaddr'], parameters['port']].join('').includes(','))
    refuse('names several hosts: name one, or an address that always leads to the server in charge');
  const [, hostText = '', portText = ''] =
    /^(\[[^\]]*\]|[^:\s]*)(?::(\d*))?$/.exec(hosts) ?? refuse(UNREADABLE);
  const port = Number((parameters['port'] ?? portText) || (process.env['PGPORT'] ?? '5432'));
  if (!(port > 0 && port < 65536)) refuse('names a port that is no number from 1 to 65535');
  const name = parameters['host'] ?? decode(hostText).replace(/^\[(.*)\]$/, '$1');
  const host = name || (parameters['hostaddr'] ?? findHost(port));
  const path = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined;
  const timeout = parameters['connect_timeout'] ?? String(CONNECT_TIMEOUT_SECONDS);
  if (!/^\d+$/.test(timeout)) refuse('connect_timeout must be a number of seconds');
  return {
    host: parameters['hostaddr'] ?? host,
    port,
    /** The file of a Unix socket; undefined: TCP. */
    path,
    /** Undefined: PostgreSQL's own variables decide, as PGUSER, or the name of the user of the system. */
    user: (parameters['user'] ?? decode(user)) || undefined,
    password: (parameters['password'] ?? decode(password.join(':'))) || undefined,
    database: (parameters['dbname'] ?? decode(database)) || undefined,
    tls: path === undefined ? readTls(parameters, host) : null,
    connectTimeoutSeconds: Number(timeout) || CONNECT_TIMEOUT_SECONDS,
    /** For the server: `-c role=loader`. */
    options: parameters['options'],
  };
}

/** The parts of a URL that must not be shown. The redactor knows their other spellings. */
export function secretsOfDatabaseUrl(text: string): string[] {
  const { password = '' } = parseDatabaseUrl(text);
  const written = text.match(/(?<=:\/\/)[^/?#:]*:[^/?#]+@|(?<=[?&])(?:ssl)?password=[^&]*/g) ?? [];
  // A short password is redacted in its URL only, because it may also be a word, and logs without that word would be unreadable.
  return [...written, ...(password.length >= 8 ? [password] : [])];
}
