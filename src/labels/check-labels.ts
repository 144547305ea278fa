/** What is wrong with lines beside each other and beside the labels that stay: duplicates, missing parents, circles. Pure. */
import type { LabelKind } from '../database/labels.ts';
import type { BadLine, Label, LabelLine } from './labels-file.ts';

/** Kinds have no space in them. */
const keyOf = (kind: LabelKind, id: string): string => `${kind} ${id}`;

function duplicatesOf(lines: readonly LabelLine[]): BadLine[] {
  const first = new Map<string, number>();
  return lines.flatMap(({ line, kind, id }) => {
    const key = keyOf(kind, id);
    const before = first.get(key);
    if (before === undefined) first.set(key, line);
    return before === undefined
      ? []
      : [{ line, problem: `${key} stands on line ${before} already; keep one of them` }];
  });
}

/** From a label up to its own again; null where it ends. */
function circleOf({ kind, id }: Label, parents: ReadonlyMap<string, string | null>): string[] | null {
  const parentOf = (one: string) => parents.get(keyOf(kind, one)) ?? null;
  const way = new Set<string>();
  for (let at = parentOf(id); at !== null; at = parentOf(at)) {
    if (at === id) return [id, ...way, id];
    // A circle further up is told of the lines that are in it.
    if (way.has(at)) return null;
    way.add(at);
  }
  return null;
}

/** `staying`: labels that the lines do not replace. */
export function checkLabels(lines: readonly LabelLine[], staying: readonly Label[]): BadLine[] {
  const parents = new Map(
    [...staying, ...lines].map(({ kind, id, parentId }) => [keyOf(kind, id), parentId] as const),
  );
  const hierarchy = lines.flatMap((line): BadLine[] => {
    const { kind, id, parentId } = line;
    if (parentId === null) return [];
    if (!parents.has(keyOf(kind, parentId))) {
      const problem = `parent_id ${parentId} of ${keyOf(kind, id)} has no label; add a line ${kind},${parentId} with one, or empty the parent_id`;
      return [{ line: line.line, problem }];
    }
    const circle = circleOf(line, parents);
    if (circle === null) return [];
    const problem = `${keyOf(kind, id)} belongs to itself (${circle.join(' → ')}); empty the parent_id of the topmost`;
    return [{ line: line.line, problem }];
  });
  return [...duplicatesOf(lines), ...hierarchy];
}
