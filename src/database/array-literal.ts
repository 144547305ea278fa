/** A PostgreSQL array as one text, however many values there are: `{"a","b\"c"}` */
export function toArrayLiteral(values: readonly (string | number | null)[]): string {
  const cells = values.map((value) =>
    value === null ? 'NULL' : `"${String(value).replace(/[\\"]/g, '\\$&')}"`,
  );
  return `{${cells.join(',')}}`;
}
