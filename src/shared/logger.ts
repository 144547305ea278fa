import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
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
  const toLine = prettyFactory({ colorize, translateTime: 'SYS:yyyy-mm-dd HH:MM:ss', hideObject: true });
  const sink = {
    write(json: string) {
      const columns = (stderr.isTTY && stderr.columns) || undefined;
      stderr.write(format === 'json' ? redact(json) : wrapLines(redact(toLine(json)), columns));
    },
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}
