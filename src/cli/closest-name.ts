/** Letters to put in, leave out or change to make one word of the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [line, letter] of Array.from(one).entries()) {
    const next = [line + 1];
    for (const [at, wanted] of Array.from(other).entries()) {
      const change = (row[at] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(change, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const MOST_CHANGES = 2;

/** The name that was probably meant: the beginning of one, or one that was mistyped. */
export function closestName(typed: string, names: readonly string[]): string | undefined {
  const text = typed.toLowerCase();
  const begun = text.length < 3 ? undefined : names.find((name) => name.startsWith(text));
  return begun ?? names.find((name) => distance(text, name) <= MOST_CHANGES);
}
