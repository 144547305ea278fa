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

/**
 * `meaning`: the situation, in Markdown; docs/errors.md is generated from it. `advice`: the next step of an operator in a sentence,
 * as plain text: outputs, logs and alerts end with it.
 */
const kindOf = (recovery: Recovery) => (meaning: string, advice: string) => ({ recovery, meaning, advice });
const retry = kindOf('retry');
const failRun = kindOf('fail_run');
export const failStream = kindOf('fail_stream');
export const sendLater = kindOf('send_later');
export const fixUsage = kindOf('fix_usage');

/** The service's own identifiers (specification, "Errors"), exhaustively. */
export const SERVICE_ERRORS = {
  api_method_not_found: failStream(
    'The service knows no method at the address of the request. For a method that a service may lack nothing is wrong: `status` names it as not offered.',
    'Check SAFETY_BASE_URL: the service does not know this method there.',
  ),
  request_method_invalid: failStream(
    'The request arrived with another HTTP method than POST.',
    'Something between worker and service changes POST to another method; check proxies and redirects.',
  ),
  request_data_invalid: failStream(
    'The request arrived without a JSON object that the service could read.',
    'The service could not read the request; check proxies that rewrite bodies, then report it.',
  ),
  rate_limit_exceeded: retry(
    'The service refused a request because the customer sent more than it allows, all integrations together (also any response with HTTP 429). No request of the account starts, in no process, for what `Retry-After` says (an hour at most), else for a minute and up to a tenth more; then one request goes alone. The run fails when a request was refused again after `RETRY_ATTEMPTS` repetitions.',
    'All integrations of the customer share the limit: lower API_REQUESTS_PER_MINUTE, or slow the others down.',
  ),
  token_missing: failRun(
    'The request held no token.',
    'Set SAFETY_TOKEN or SAFETY_TOKEN_FILE, or token of the account in SAFETY_ACCOUNTS_FILE.',
  ),
  token_invalid: failRun(
    'The service does not know the token, or refuses it with another identifier that begins with `token_`, which the message quotes. See [rotating the token](operations.md#rotate-the-token).',
    'The service does not know this token; replace SAFETY_TOKEN, or token of the account in SAFETY_ACCOUNTS_FILE.',
  ),
  token_inactive: failRun(
    'The token was deactivated at the service.',
    'The token was deactivated; have a new one issued and replace SAFETY_TOKEN, or token of the account in SAFETY_ACCOUNTS_FILE.',
  ),
  token_permission: failRun(
    'The token is known, but may not use this method. The worker stops the requests of this stream only, and continues with the others. For a method that a service may lack this is no failure: `status` names it as not offered.',
    'The token lacks a permission that the service requires; have its rights extended.',
  ),
  account_inactive: failRun(
    'The account that the token belongs to is not active at the service.',
    'The account of this token is not active; ask the service’s administrator.',
  ),
  parameter_unexpected: failStream(
    'The service does not accept a parameter of the request. The message shows the request without its token.',
    'The service refuses a parameter that its specification names; report it with the request ID.',
  ),
  parameter_missing: failStream(
    'The service requires a parameter that the request does not have.',
    'The service requires a parameter that its specification does not name; report it with the request ID.',
  ),
  parameter_invalid: failStream(
    'The service does not accept the value of a parameter: most often an id in `SAFETY_EQUIPMENT_TYPES` that it does not know.',
    'A parameter value is refused; for equipments check SAFETY_EQUIPMENT_TYPES.',
  ),
  server_error: retry(
    'The service failed internally.',
    'The service failed by itself; if it lasts, give its operator the request ID.',
  ),
  content_not_found: failStream(
    'The requested content does not exist at the service.',
    'The requested content does not exist; for equipments check SAFETY_EQUIPMENT_TYPES.',
  ),
};

/** Failures between the program and the service, or responses that are not in the specification. */
export const TRANSPORT_ERRORS = {
  service_error_unknown: failStream(
    '`ok` was false with an identifier that the specification does not list. The message quotes it.',
    'The service responded with an error identifier that its specification does not name; see the message.',
  ),
  network_error: retry(
    'No response: the name was not resolved, the connection was refused or broke, or TLS failed (minimum TLS 1.2). The message contains the reason of the system.',
    'The service cannot be reached; check SAFETY_BASE_URL, DNS, firewall, proxy and TLS certificates.',
  ),
  request_timeout: retry(
    'The response was not complete within `REQUEST_TIMEOUT_MS`, or twice that for a list that comes whole.',
    'No response in time; raise REQUEST_TIMEOUT_MS if the service is slow but well.',
  ),
  response_not_json: retry(
    'The body is not the JSON object in UTF-8 that the service sends; the message quotes its beginning. Redirects count too: the client does not follow them, because the token is in the body.',
    'Something between worker and service responded in its place (a proxy, a gateway, a login page).',
  ),
  response_cut: retry(
    'The response began and ended early. The whole request is repeated; the part that had arrived is dropped.',
    'The response ended in the middle; check the network between the worker and the service.',
  ),
  response_too_large: failStream(
    'A response has more than 256 MB, without its compression. It is refused before it is read to its end.',
    'The response is larger than this program reads; ask the operator of the service why, with the request ID.',
  ),
  response_invalid: retry(
    'The response is JSON without the specified parts (no `ok`, no list, the list twice, `paging` that is not an object), or it has `ok: true` with another HTTP status than 200. The service sends 200 with every response, so a cache or gateway sent this one.',
    'The response is JSON but not of the specified form; give the service’s operator the request ID.',
  ),
};

/** Failures of a read as a whole: every request succeeded, but the responses contradict each other or the settings. */
export const READ_ERRORS = {
  read_incomplete: failStream(
    'In every repetition of the read, responses contradict their own totals or announce pages that cannot be read. The records that arrived are stored, and nothing is marked deleted. Of follow-ups, the range of creation time that the message names stays open in `safety_sync.backfill_slices` with the status `failed`, and every sync reads it again; other changes are stored, and the watermark moves.',
    'The service announces other records than it delivers; the records that arrived are stored, no row was deleted.',
  ),
  range_unreadable: failStream(
    'The service fails for every response that contains a certain follow-up, and for no other. The message names the range of creation time between its neighbours. All other follow-ups and their changes are stored, and the watermark moves; `safety_sync.backfill_slices` has the range with the status `failed`.\n\nEvery sync reads the range again. Until it is read every run fails, and no row is marked as deleted.',
    'The service fails for every response that holds a certain record; give its operator the range and the request ID. All records outside of the range are stored; it is tried again by itself.',
  ),
  calculation_unsettled: failStream(
    'Pages of the training list kept coming from different calculations of it (`last_updated` differed), each time the read was repeated. They are not mixed, and none is stored.',
    'The training list changed between pages again and again; the next run tries it again.',
  ),
  privacy_key_wrong: fixUsage(
    'The warehouse has forgotten people, but `PRIVACY_KEY` is not set, or is not the key with which they were forgotten. So the run could not recognize them in the source’s records, and would store them. If the key is lost: [privacy](privacy.md#turning-it-on-changing-it-turning-it-off).',
    'Set PRIVACY_KEY to the key with which they were forgotten: with another one the source would bring them back.',
  ),
  privacy_less: fixUsage(
    'The settings of this command protect less than those with which the account was filled: a column is missing in `PRIVACY_OMIT` or `PRIVACY_PSEUDONYMIZE`, or `USERS_KEEP` has a word more. Nothing is read or stored. See [privacy](privacy.md#turning-it-on-changing-it-turning-it-off).',
    'Give this command the settings that the others have; or, if less protection is meant, give one command --lift-privacy once.',
  ),
  delete_guard: failStream(
    'A complete snapshot lacks more than `MAX_DELETE_RATIO` of at least 20 live rows, or the service sends so many of them as deleted. The changes are not stored; for equipment only the type in question is left alone. See [deletions](operations.md#deletions).',
    'Too many records are missing or deleted at once. Check in the source whether these records were deleted; if so, sync the stream with --allow-mass-delete.',
  ),
};
