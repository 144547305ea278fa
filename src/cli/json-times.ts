const isTimeColumn = (name: string): boolean => name.endsWith('_at') || name.startsWith('watermark');

/** A row of the control tables for `--json`: PostgreSQL's spelling of times becomes the one that all our JSON has. */
export function withIsoTimes<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]: [string, unknown]) => {
    const ms = isTimeColumn(name) && typeof value === 'string' ? Date.parse(value) : NaN;
    return [name, Number.isNaN(ms) ? value : new Date(ms).toISOString()];
  });
  return Object.fromEntries(entries) as Row;
}
