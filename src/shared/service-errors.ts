/**
 * Failures of requests and reads: error responses of the service, failures of the connection, and contradictions between
 * responses.
 */

/** The next step after an error. */
export type Recovery =
  /** Can succeed later: the request is repeated with growing delays; when attempts run out the stream fails. */
  | 'retry'
  /** This stream cannot continue; the other streams are not affected. Exit code 1. */
  | 'fail_stream'
  /** The service refused the credentials: this run sends no further request. Exit code 3. */
  | 'fail_run'
  /** An alert or a report did not arrive; all other work continues, and it is sent again later. Exit code 1. */
  | 'send_later'
  /** The caller's input is unusable: no work was tried. Exit code 2. */
  | 'fix_usage';

/** docs/errors.md is generated from these texts. */
export interface ErrorKind {
  readonly recovery: Recovery;
  /** The situation, in Markdown. */
  readonly meaning: string;
  /** The next step of an operator in a sentence, as plain text: outputs, logs and alerts end with it. */
  readonly advice: string;
  /** Follows the advice in the documentation, in Markdown. */
  readonly details?: string;
}

/** The service's own identifiers (specification, "Errors"), exhaustively. */
export const SERVICE_ERRORS = {
  api_method_not_found: {
    recovery: 'fail_stream',
    meaning: 'The service knows no method at the address of the request.',
    advice: 'Check SAFETY_BASE_URL: the service does not know this method there.',
    details:
      'For a method that a service may lack nothing is wrong: `status` names it as not offered. For any other method look at the path of the address: `check` shows it.',
  },
  request_method_invalid: {
    recovery: 'fail_stream',
    meaning: 'The request arrived with another HTTP method than POST.',
    advice:
      'Something between worker and service changes POST to another method; check proxies and redirects.',
  },
  request_data_invalid: {
    recovery: 'fail_stream',
    meaning: 'The request arrived without a JSON object that the service could read.',
    advice: 'The service could not read the request; check proxies that rewrite bodies, then report it.',
  },
  rate_limit_exceeded: {
    recovery: 'retry',
    meaning:
      'The service refused a request because the customer sent more than it allows, all integrations together (also any response with HTTP 429). No request of the account starts, in no process, for what `Retry-After` says (an hour at most), else for a minute and up to a tenth more. Then one request goes alone: its success lets the others go, its refusal begins another pause. The run fails when a request was refused again after `RETRY_ATTEMPTS` repetitions.',
    advice:
      'All integrations of the customer share the limit: lower API_REQUESTS_PER_MINUTE, or slow the others down.',
    details: 'Worker, verbs and replicas of an account share one budget; each account has its own.',
  },
  token_missing: {
    recovery: 'fail_run',
    meaning: 'The request held no token.',
    advice: 'Set SAFETY_TOKEN or SAFETY_TOKEN_FILE.',
  },
  token_invalid: {
    recovery: 'fail_run',
    meaning: 'The service does not know the token.',
    advice: 'The service does not know this token; replace SAFETY_TOKEN.',
    details: 'See [rotating the token](operations.md#rotate-the-token).',
  },
  token_inactive: {
    recovery: 'fail_run',
    meaning: 'The token was deactivated at the service.',
    advice: 'The token was deactivated; have a new one issued and replace SAFETY_TOKEN.',
    details: 'See [rotating the token](operations.md#rotate-the-token).',
  },
  token_permission: {
    recovery: 'fail_run',
    meaning:
      'The token is known, but may not use this method. The worker stops the requests of this stream only, and continues with the others. For a method that a service may lack this is no failure: `status` names it as not offered.',
    advice: 'The token lacks a permission that the service requires; have its rights extended.',
    details: '`check` shows which methods the token may use.',
  },
  account_inactive: {
    recovery: 'fail_run',
    meaning: 'The account that the token belongs to is not active at the service.',
    advice: 'The account of this token is not active; ask the service’s administrator.',
  },
  parameter_unexpected: {
    recovery: 'fail_stream',
    meaning:
      'The service does not accept a parameter of the request. The message shows the request without its token.',
    advice: 'The service refuses a parameter that its specification names; report it with the request ID.',
  },
  parameter_missing: {
    recovery: 'fail_stream',
    meaning: 'The service requires a parameter that the request does not have.',
    advice:
      'The service requires a parameter that its specification does not name; report it with the request ID.',
  },
  parameter_invalid: {
    recovery: 'fail_stream',
    meaning:
      'The service does not accept the value of a parameter: most often an id in `SAFETY_EQUIPMENT_TYPES` that it does not know.',
    advice: 'A parameter value is refused; for equipments check SAFETY_EQUIPMENT_TYPES.',
  },
  server_error: {
    recovery: 'retry',
    meaning: 'The service failed internally.',
    advice: 'The service failed by itself; if it lasts, give its operator the request ID.',
  },
  content_not_found: {
    recovery: 'fail_stream',
    meaning:
      'The requested content does not exist at the service. A user id that it does not know is no error: it is looked up again after a month.',
    advice: 'The requested content does not exist; for equipments check SAFETY_EQUIPMENT_TYPES.',
  },
} as const satisfies Record<string, ErrorKind>;

/** Failures between the program and the service, or responses that are not in the specification. */
export const TRANSPORT_ERRORS = {
  service_error_unknown: {
    recovery: 'fail_stream',
    meaning: '`ok` was false with an identifier that the specification does not list. The message quotes it.',
    advice:
      'The service responded with an error identifier that its specification does not name; see the message.',
    details: 'If it lasts, give the service’s operator the request ID.',
  },
  network_error: {
    recovery: 'retry',
    meaning:
      'No response: the name was not resolved, the connection was refused or broke, or TLS failed (minimum TLS 1.2). The message contains the reason of the system.',
    advice:
      'The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates.',
    details: 'No change is lost meanwhile: the worker goes on when the service is back.',
  },
  request_timeout: {
    recovery: 'retry',
    meaning:
      'The response was not complete within `REQUEST_TIMEOUT_MS`, or twice that for a list that comes whole.',
    advice: 'No response in time; raise REQUEST_TIMEOUT_MS if the service is slow but well.',
  },
  response_not_json: {
    recovery: 'retry',
    meaning:
      'The body is not the JSON object in UTF-8 that the service sends; the message quotes its beginning. Redirects count too: the client does not follow them, because the token is in the body.',
    advice: 'Something between worker and service responded in its place (a proxy, a gateway, a login page).',
  },
  response_cut: {
    recovery: 'retry',
    meaning:
      'The response began and ended early. The whole request is repeated; the part that had arrived is dropped.',
    advice: 'The response ended in the middle; check the network between the worker and the service.',
  },
  response_too_large: {
    recovery: 'fail_stream',
    meaning:
      'A response has more than 256 MB, without its compression. It is refused before it is read to its end.',
    advice:
      'The response is larger than this program reads; ask the operator of the service why, with the request ID.',
  },
  response_invalid: {
    recovery: 'retry',
    meaning:
      'The response is JSON without the specified parts (no `ok`, no list, the list twice, `paging` that is not an object), or it has `ok: true` with another HTTP status than 200. The service sends 200 with every response, so a cache or gateway sent this one.',
    advice: 'The response is JSON but not of the specified form; give the service’s operator the request ID.',
  },
} as const satisfies Record<string, ErrorKind>;

/** Failures of a read as a whole: every request succeeded, but the responses contradict each other or the settings. */
export const READ_ERRORS = {
  read_incomplete: {
    recovery: 'fail_stream',
    meaning:
      'In every repetition of the read, responses contradict their own totals or announce pages that cannot be read. The records that arrived are stored, and nothing is marked deleted. Of follow-ups, the range of creation time that the message names stays open in `safety_sync.backfill_slices` with the status `failed`, and every sync reads it again; other changes are stored, and the watermark moves.',
    advice:
      'The service announces other records than it delivers; the records that arrived are stored, no row was deleted.',
    details:
      'Do nothing when the next run succeeds. If it fails again and again the service delivers less than it announces: give its operator the request ID.',
  },
  range_unreadable: {
    recovery: 'fail_stream',
    meaning:
      'The service fails for every response that contains a certain follow-up, and for no other. The message names the range of creation time between its neighbours. All other follow-ups and their changes are stored, and the watermark moves; `safety_sync.backfill_slices` has the range with the status `failed`.\n\nEvery sync reads the range again. Until it is read every run fails, and no row is marked as deleted.',
    advice:
      'The service fails for every response that holds a certain record; give its operator the range and the request ID. All records outside of the range are stored; it is tried again by itself.',
  },
  calculation_unsettled: {
    recovery: 'fail_stream',
    meaning:
      'Pages of the training list kept coming from different calculations of it (`last_updated` differed), each time the read was repeated. They are not mixed, and none is stored.',
    advice: 'The training list changed between pages again and again; the next run tries it again.',
    details: 'If it lasts, the service recalculates more often than its 15-minute cache allows.',
  },
  privacy_key_wrong: {
    recovery: 'fail_stream',
    meaning:
      'The warehouse has forgotten people, but `PRIVACY_KEY` is not set, or is not the key with which they were forgotten. So the run could not recognize them in the source’s records, and would store them.',
    advice:
      'Set PRIVACY_KEY to the key with which they were forgotten: with another one the source would bring them back.',
    details: 'If it is lost: [privacy](privacy.md#turning-it-on-changing-it-turning-it-off).',
  },
  privacy_less: {
    recovery: 'fix_usage',
    meaning:
      'The settings of this command protect less than those with which the account was filled: a column is missing in `PRIVACY_OMIT` or `PRIVACY_PSEUDONYMIZE`, or `USERS_KEEP` has a word more. Nothing is read or stored.',
    advice:
      'Give this command the settings that the others have; or, if less protection is meant, give one command --lift-privacy once.',
    details: 'More: [privacy](privacy.md#turning-it-on-changing-it-turning-it-off).',
  },
  delete_guard: {
    recovery: 'fail_stream',
    meaning:
      'A complete snapshot lacks more than `MAX_DELETE_RATIO` of at least 20 live rows, or the service sends so many of them as deleted. The changes are not stored; for equipment only the type in question is left alone.',
    advice:
      'Too many records are missing or deleted at once. Check in the source whether these records were deleted; if so, sync the stream with --allow-mass-delete.',
    details: 'See [deletions](operations.md#deletions).',
  },
} as const satisfies Record<string, ErrorKind>;
