/** The rows in groups with equal keys, in the order of their first rows. `Map.groupBy` needs Node.js 21. */
export function groupBy<Row>(rows: Iterable<Row>, keyOf: (row: Row) => string): [Row, ...Row[]][] {
  const groups = new Map<string, [Row, ...Row[]]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}
