/** A refusal with an error identifier, of the specification or of a fault. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly id: string;
  /** As sent: text or absent, unless a fault sets another type. */
  readonly description: unknown;

  constructor(id: string, description?: unknown) {
    super(id);
    this.id = id;
    this.description = description;
  }
}
