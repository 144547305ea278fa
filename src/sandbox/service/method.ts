import type { Parameters, Rules } from './parameters.ts';
import type { Readings } from './readings.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';

/** A successful response before serialization. Its list holds records of the store. */
export interface MethodResponse {
  fields: Record<string, unknown>;
  list?: { name: string; kind: string; records: readonly object[]; shape?: (record: object) => object };
}

export interface Method {
  rules(readings: Readings): Rules;
  readonly required?: readonly string[];
  respond(parameters: Parameters, context: { store: SandboxStore; readings: Readings }): MethodResponse;
}
