import { Help } from 'commander';

function wrapLine(line: string, width: number): string {
  // JSON stays on one line, because a break inside a text would make it invalid.
  if (line.startsWith('{')) return line;
  const [indent] = /^ */.exec(line) ?? [''];
  return new Help().boxWrap(line.trimStart(), width - indent.length).replace(/^(?=.)/gm, indent);
}

/** Breaks lines between words, where a terminal would break them anywhere. */
export const wrapLines = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        .split('\n')
        .map((line) => wrapLine(line, width))
        .join('\n');
