const NEEDS_ESCAPE = /[\\"]/;

function quoteElement(text: string): string {
  return NEEDS_ESCAPE.test(text) ? `"${text.replace(/[\\"]/g, '\\$&')}"` : `"${text}"`;
}

/** A PostgreSQL array as one text, with any number of values: `{"a","b\"c"}` */
export function toArrayLiteral(values: readonly (string | number | null)[]): string {
  const cells = values.map((value) => (value === null ? 'NULL' : quoteElement(String(value))));
  return `{${cells.join(',')}}`;
}
