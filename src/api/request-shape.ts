const LONGEST_TEXT = 60;
const LONGEST_LIST = 5;
const LONGEST_SHAPE = 400;

function shorten(value: unknown): unknown {
  if (typeof value === 'string' && value.length > LONGEST_TEXT) {
    return `${value.slice(0, LONGEST_TEXT)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) {
    const shown: unknown[] = value.slice(0, LONGEST_LIST).map(shorten);
    return value.length > LONGEST_LIST ? [...shown, `… (${value.length} values)`] : shown;
  }
  return value;
}

/** A request as errors and logs may show it: its parameters without the token, long values shortened. */
export function describeRequestShape(params: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(params)
    .filter(([name]) => name !== 'token')
    .map(([name, value]) => [name, shorten(value)] as const);
  const text = JSON.stringify(Object.fromEntries(shown));
  return text.length > LONGEST_SHAPE ? `${text.slice(0, LONGEST_SHAPE)}…` : text;
}

/** Parameters that say which part of a list is asked for. */
const PART_PARAMETERS = ['page', 'limit', 'updated_after', 'created_after', 'created_before'] as const;

export function partOf(params: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> {
  const named = PART_PARAMETERS.flatMap((name) => {
    const value = params[name];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(named);
}
