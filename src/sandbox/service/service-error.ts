/** "Errors": every identifier of the specification with its condition. */
const errorConditions = {
  api_method_not_found: 'the URL matches no method',
  request_method_invalid: 'the HTTP method was not GET or POST',
  request_data_invalid: 'the request has no valid JSON request object',
  rate_limit_exceeded: 'the token exceeds its request limit',
  token_missing: 'no token was included',
  token_invalid: 'the token is invalid',
  token_inactive: 'the token has been deactivated',
  token_permission: 'the token does not have write permission',
  account_inactive: "the token's account is not active",
  parameter_unexpected: 'the request has an unsupported parameter',
  parameter_missing: 'a required parameter is absent',
  parameter_invalid: 'a parameter has a value that is not allowed',
  server_error: 'an internal server error',
  content_not_found: 'the requested content was not found',
} as const;

export type ErrorId = keyof typeof errorConditions;

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** A fault can use an identifier that the specification lacks. */
  readonly id: string;
  /** The description as sent: text, unless a fault sets another type. */
  readonly description: unknown;

  constructor(id: string, description: unknown = (errorConditions as Record<string, string>)[id] ?? id) {
    super(String(description));
    this.id = id;
    this.description = description;
  }
}
