import { stripVTControlCharacters } from 'node:util';

/** Spaces that begin a line, and the mark of an item or a first column after them. */
const HANGING = /^ *(?:- |\S+(?: \S+)*? {2,})?/;
/** Least room for words beside the indent. */
const LEAST_ROOM = 20;

export const widthOf = (text: string): number => stripVTControlCharacters(text).length;

function wrapLine(line: string, width: number, leastIndent: number): string {
  const bare = stripVTControlCharacters(line);
  // JSON stays on one line, because a break inside a text would make it invalid.
  if (bare.length <= width || bare.startsWith('{')) return line;
  const hanging = HANGING.exec(bare)?.[0].length ?? 0;
  const indent = ' '.repeat(width - hanging < LEAST_ROOM ? 2 : Math.max(hanging, leastIndent));
  const lines: string[] = [];
  let last = '';
  for (const piece of line.match(/ *[^ ]+/g) ?? []) {
    if (last.trim() !== '' && widthOf(last) + widthOf(piece) > width) {
      lines.push(last);
      last = indent + piece.trimStart();
    } else last += piece;
  }
  return [...lines, last].join('\n');
}

/** Breaks lines between words, where a terminal would break them anywhere. A longer word stays whole. */
export function wrapLines(text: string, width: number | undefined, leastIndent = 0): string {
  if (width === undefined) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, width, leastIndent))
    .join('\n');
}
