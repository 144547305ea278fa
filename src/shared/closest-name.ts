/** Number of letters to insert, delete or exchange to turn one word into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1];
    for (let at = 0; at < other.length; at += 1) {
      const change = (row[at] ?? 0) + (one[line] === other[at] ? 0 : 1);
      next.push(Math.min(change, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The name with the fewest typing errors, if there are at most this many. */
export function closestName(typed: string, names: readonly string[], mostErrors = 2): string | undefined {
  const [closest] = names
    .map((name) => ({ name, errors: editDistance(typed, name) }))
    .filter(({ errors }) => errors <= mostErrors)
    .toSorted((one, other) => one.errors - other.errors);
  return closest?.name;
}
