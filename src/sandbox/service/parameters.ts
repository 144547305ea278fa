import type { Readings } from './readings.ts';
import { ServiceError } from './service-error.ts';

export type Parameters = Readonly<Record<string, unknown>>;

interface ParameterRule {
  isRequired: boolean;
  expected: string;
  accepts: (value: unknown) => boolean;
}

export type Rules = Readonly<Record<string, ParameterRule>>;

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isText = (value: unknown): value is string => typeof value === 'string';

function optional(expected: string, accepts: (value: unknown) => boolean): ParameterRule {
  return { isRequired: false, expected, accepts };
}

export const aNumber = optional('a number', isNumber);
export const aText = optional('a string', isText);
export const aBoolean = optional('true or false', (value) => typeof value === 'boolean');
export const aPage = wholeNumber(1, Number.MAX_SAFE_INTEGER);
export const numbers = optional(
  'a list of numbers',
  (value) => Array.isArray(value) && value.every(isNumber),
);
export const texts = optional('a list of strings', (value) => Array.isArray(value) && value.every(isText));

export function wholeNumber(min: number, max: number): ParameterRule {
  return optional(
    `a whole number from ${min} to ${max}`,
    (value) => isNumber(value) && Number.isInteger(value) && value >= min && value <= max,
  );
}

export function oneOf(...values: readonly string[]): ParameterRule {
  return optional(values.join(', '), (value) => isText(value) && values.includes(value));
}

export function eachOf(values: readonly string[]): ParameterRule {
  return optional(
    `a list of ${values.join(', ')}`,
    (value) => Array.isArray(value) && value.every((item) => isText(item) && values.includes(item)),
  );
}

export function required(rule: ParameterRule): ParameterRule {
  return { ...rule, isRequired: true };
}

/**
 * Names unsupported parameters first, then missing ones, then invalid values. An explicit null is always an invalid value.
 */
export function checkParameters(parameters: Parameters, rules: Rules, readings: Readings): void {
  const all: Rules = { ...rules, pretty: aBoolean };
  if (readings.unknownParameters === 'refused') {
    for (const name of Object.keys(parameters)) {
      if (!Object.hasOwn(all, name)) throw new ServiceError('parameter_unexpected', `unsupported: ${name}`);
    }
  }
  for (const [name, rule] of Object.entries(all)) {
    const value = parameters[name];
    if (value === undefined) {
      if (rule.isRequired) throw new ServiceError('parameter_missing', `required: ${name}`);
    } else if (!rule.accepts(value)) {
      throw new ServiceError('parameter_invalid', `${name}: expected ${rule.expected}`);
    }
  }
}
