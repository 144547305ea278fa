import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

export interface LoggerOptions {
  readonly level: string;
  /** `json`: every field, for machines. `pretty`: time and sentence alone, for a person at a terminal. */
  readonly format: 'json' | 'pretty';
  /** Of `pretty`. */
  readonly colorize: boolean;
  /** Texts that must never be written: they are blotted out wherever they appear. */
  readonly secrets: readonly string[];
}

const BLOT = '[secret]';

/** Every spelling in which a secret can stand in a line: as it is, inside JSON, inside a URL. */
function spellings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, inJson, encodeURIComponent(secret)])].filter((text) => text.length >= 4);
}

/** From this many secrets on, looking for one after the other would cost more than writing the line. */
const FEW_SECRETS = 16;

/** Looks at every place of a text once, however many secrets there are: by their first characters. */
function createManyBlotter(needles: readonly string[]): (text: string) => string {
  const anchorLength = Math.min(8, ...needles.map(({ length }) => length));
  const byAnchor = new Map<string, string[]>();
  for (const needle of needles) {
    const anchor = needle.slice(0, anchorLength);
    const before = byAnchor.get(anchor);
    if (before === undefined) byAnchor.set(anchor, [needle]);
    else before.push(needle);
  }
  // A secret that begins with another one goes as a whole.
  for (const some of byAnchor.values()) some.sort((one, other) => other.length - one.length);
  return (text) => {
    let clean = '';
    let from = 0;
    for (let at = 0; at + anchorLength <= text.length;) {
      const found = byAnchor
        .get(text.slice(at, at + anchorLength))
        ?.find((needle) => text.startsWith(needle, at));
      if (found === undefined) at += 1;
      else {
        clean += text.slice(from, at) + BLOT;
        at += found.length;
        from = at;
      }
    }
    return clean + text.slice(from);
  };
}

/** Replaces secrets in a text that is about to be written. */
export function createBlotter(secrets: readonly string[]): (text: string) => string {
  const needles = secrets.flatMap(spellings);
  if (needles.length > FEW_SECRETS) return createManyBlotter(needles);
  return (text) => needles.reduce((line, needle) => line.replaceAll(needle, BLOT), text);
}

/** Logs go to stderr: stdout belongs to the answers of the command. */
export function createLogger({ level, format, colorize, secrets }: LoggerOptions): Logger {
  const blot = createBlotter(secrets);
  const sink = { write: (line: string) => void process.stderr.write(blot(line)) };
  if (format === 'json') {
    return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  }
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      sink.write(chunk.toString());
      done();
    },
  });
  const stream = pretty({
    colorize,
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss',
    hideObject: true,
    destination,
    sync: true,
  });
  return pino({ level, base: null }, stream);
}
