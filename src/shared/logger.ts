import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { createRedactor } from './redact.ts';
import { wrapLines } from './wrap-lines.ts';

export type { Logger } from 'pino';

interface LoggerOptions {
  readonly level: string;
  /** `json`: every field, for machines. `pretty`: time and sentence alone, for a person at a terminal. */
  readonly format: 'json' | 'pretty';
  /** For `pretty` only. */
  readonly colorize: boolean;
  /** Texts that must never be written: they are redacted wherever they appear. */
  readonly secrets: readonly string[];
}

/** Logs go to stderr: stdout belongs to the result of the command. */
export function createLogger({ level, format, colorize, secrets }: LoggerOptions): Logger {
  const redact = createRedactor(secrets);
  const { stderr } = process;
  const sink = { write: (line: string) => void stderr.write(redact(line)) };
  if (format === 'json') {
    return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  }
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stderr.write(wrapLines(redact(chunk.toString()), (stderr.isTTY && stderr.columns) || undefined, 2));
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
