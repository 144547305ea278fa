/** The output of a verb: results to stdout, everything else to stderr. */
import { createInterface } from 'node:readline';
import pc from 'picocolors';
import type { Environment } from '../config/read-variables.ts';
import { usageError } from '../shared/errors.ts';
import { wrapLines } from '../shared/wrap-lines.ts';

export type Colors = ReturnType<typeof pc.createColors>;

export type Terminal = Readonly<ReturnType<typeof createTerminal>>;

/** Node.js leaves `isTTY` undefined if it is false, and for undefined picocolors decides itself. */
const isTerminal = (stream: { readonly isTTY?: boolean }): boolean => stream.isTTY === true;

/** Ctrl-C and Ctrl-D end the question, as an empty line does. */
function askAtTerminal(question: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    reader.once('close', () => resolve(''));
    reader.question(question, (line) => {
      resolve(line);
      reader.close();
    });
  });
}
/**
 * Control characters, and characters that change the direction of text. The group matches the colours that the commands
 * use.
 */
const UNPRINTABLE =
  // eslint-disable-next-line no-control-regex -- The expression matches control characters on purpose.
  /(\x1b\[(?:[012]|22|3[0-79]|9[0-7])m)|[\0-\x08\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export const toEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes a text for a terminal, because content of the service or of a file may clear the screen or imitate other output.
 * The escapes are those of JSON, so JSON keeps its meaning.
 */
export const toPrintable = (text: string): string =>
  text.replace(UNPRINTABLE, (found, color?: string) => color ?? toEscape(found));

const USUAL_WIDTH = 80;

export function createTerminal(env: Environment) {
  const plain = (env['NO_COLOR'] ?? '') !== '';
  // A terminal of unknown width has 0 columns.
  const columnsOf = ({ isTTY, columns }: NodeJS.WriteStream) => (isTTY ? columns || USUAL_WIDTH : undefined);
  const toLines = (text: string, stream: NodeJS.WriteStream): string =>
    `${wrapLines(toPrintable(text), columnsOf(stream))}\n`;
  const print = (text: string): void => void process.stdout.write(toLines(text, process.stdout));
  return {
    /** stdout: the result of the command. */
    print,
    /** Writes a file to stdout unchanged, unless stdout is a terminal. */
    printFile: isTerminal(process.stdout) ? print : (text: string) => void process.stdout.write(`${text}\n`),
    /** stderr: notes, progress, errors. */
    note: (text: string): void => void process.stderr.write(toLines(text, process.stderr)),
    /** For stdout. */
    colors: pc.createColors(isTerminal(process.stdout) && !plain),
    /** For stderr. */
    noteColors: pc.createColors(isTerminal(process.stderr) && !plain),
    /** stderr is a terminal. */
    isInteractive: isTerminal(process.stderr),
    /** Asks at the terminal for a line; undefined: stdin or stderr is no terminal. */
    ask: isTerminal(process.stdin) && isTerminal(process.stderr) ? askAtTerminal : undefined,
    /** Characters in a line of stdout; undefined when it is no terminal. */
    get width() {
      return columnsOf(process.stdout);
    },
  };
}

/** Throws `usage_invalid` unless the change is confirmed by the name that is typed, or by --yes. */
export async function confirm(
  { ask }: Terminal,
  { yes }: { readonly yes?: true },
  name: string,
  command: string,
): Promise<void> {
  if (yes === true) return;
  if (ask === undefined)
    throw usageError('off a terminal this needs --yes', `If it is meant: ${command} --yes`);
  const typed = await ask(`Type ${name} to go on: `);
  if (typed.trim() !== name) throw usageError(`that was not ${name}: nothing was changed`);
}
