import { stripVTControlCharacters } from 'node:util';
import { Help } from 'commander';

/** Spaces that begin a line, and the first of several columns after them. */
const BEGINNING = /^( *)(\S+(?: \S+)*? {2,})?/;

/** The next lines begin below the second column, where enough room for words is beside it. */
function wrapLine(line: string, width: number): string {
  // JSON stays on one line, because a break inside a text would make it invalid.
  if (line.startsWith('{')) return line;
  const help = new Help();
  const [both = '', spaces = ''] = BEGINNING.exec(line) ?? [];
  const roomOf = (before: string): number => width - stripVTControlCharacters(before).length;
  const before = roomOf(both) < help.minWidthToWrap ? spaces : both;
  const indent = ' '.repeat(width - roomOf(before));
  return before + help.boxWrap(line.slice(before.length), roomOf(before)).replaceAll('\n', `\n${indent}`);
}

/** Breaks lines between words, where a terminal would break them anywhere. */
export const wrapLines = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        .split('\n')
        .map((line) => wrapLine(line, width))
        .join('\n');
