/** A method: rules for its parameters, and a response. */
import * as z from 'zod';
import type { SandboxStore } from '../store/sandbox-store.ts';
import type { Readings } from './readings.ts';
import { ServiceError } from './service-error.ts';

export type Parameters = Readonly<Record<string, unknown>>;

/** Each describes the accepted values. */
export type Rules = Readonly<Record<string, z.ZodType>>;

/** Checked parameters; required ones are optional here, too. */
export type Checked<R extends Rules> = { readonly [Name in keyof R]?: z.output<R[Name]> };

export const aNumber = z.number().describe('a number');
export const aText = z.string().describe('a string');
export const aBoolean = z.boolean().describe('true or false');
export const wholeNumber = (min: number, max: number) =>
  z.int().min(min).max(max).describe(`a whole number from ${min} to ${max}`);
export const aPage = wholeNumber(1, Number.MAX_SAFE_INTEGER);
export const numbers = z.array(z.number()).describe('a list of numbers');
export const texts = z.array(z.string()).describe('a list of strings');
export const oneOf = <Value extends string>(...values: readonly Value[]) =>
  z.enum(values).describe(values.join(', '));
export const eachOf = (values: readonly string[]) =>
  z.array(z.enum(values)).describe(`a list of ${values.join(', ')}`);

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

/**
 * Names unsupported parameters first, then missing ones, then invalid values. An explicit null is always an invalid value.
 */
export function checkParameters(
  parameters: Parameters,
  { rules, required = [] }: Pick<Method, 'rules' | 'required'>,
  readings: Readings,
): void {
  const all: Rules = { ...rules(readings), pretty: aBoolean };
  if (readings.unknownParameters === 'refused') {
    for (const name of Object.keys(parameters)) {
      if (!Object.hasOwn(all, name)) throw new ServiceError('parameter_unexpected', `unsupported: ${name}`);
    }
  }
  for (const [name, rule] of Object.entries(all)) {
    const value = parameters[name];
    if (value === undefined) {
      if (required.includes(name)) throw new ServiceError('parameter_missing', `required: ${name}`);
    } else if (!rule.safeParse(value).success) {
      throw new ServiceError('parameter_invalid', `${name}: expected ${String(rule.description)}`);
    }
  }
}
