/** The progress of a command: on a terminal one line that is drawn again and again, elsewhere a log line now and then. */
import type { Logger } from '../shared/logger.ts';
import { streamNamed } from '../engine/streams/index.ts';
import { SECOND_MS } from '../shared/time.ts';
import type { RunEvents } from '../engine/sync/run.ts';
import { formatCount, formatDuration, formatNumber } from '../shared/format.ts';

/** Characters of the bar. */
const BAR = 12;
/** Where the width of the terminal is unknown. */
const LONGEST_TEXT = 70;
/** Erases the line of the cursor. */
const ERASE = '\r\x1b[2K';
const DRAW_EVERY_MS = SECOND_MS / 5;
const LOG_EVERY_MS = 5 * SECOND_MS;

export function createProgress(log: Logger, isInteractive: boolean) {
  const startedMs = performance.now();
  /** Records before the first slice of this run; undefined: nothing is read in slices. */
  let first: number | undefined;
  let shownMs = isInteractive ? -Infinity : startedMs;
  function isDue(): boolean {
    const isOver = performance.now() - shownMs >= (isInteractive ? DRAW_EVERY_MS : LOG_EVERY_MS);
    if (isOver) shownMs = performance.now();
    return isOver;
  }
  const draw = (line: string): boolean =>
    process.stderr.write(`${ERASE}${line.slice(0, (process.stderr.columns || LONGEST_TEXT) - 1)}`);

  const events: Pick<RunEvents, 'onRead'> = {
    onRead(stream, received, progress) {
      if (progress === undefined) {
        if (isInteractive && first === undefined && isDue())
          draw(`reading ${streamNamed(stream).contents}: ${formatNumber(received, 'record')}`);
        return;
      }
      const { records, total, slicesDone } = progress;
      first ??= records;
      if (!isDue()) return;
      const rate = Math.round(((records - first) / Math.max(1, performance.now() - startedMs)) * SECOND_MS);
      const share = total === null ? 0 : Math.min(1, records / Math.max(1, total));
      const left = total === null || rate === 0 ? 0 : Math.max(0, total - records) / rate;
      const of = total === null ? '' : ` of ${formatCount(total)}`;
      const pace = `${formatCount(records)}${of} records, ${formatCount(rate)}/s`;
      const text = left === 0 ? pace : `${pace}, ${formatDuration(left * SECOND_MS)} left`;
      if (isInteractive) {
        const bar = '█'.repeat(Math.floor(share * BAR)).padEnd(BAR, '░');
        draw(`${stream} ${bar} ${Math.floor(share * 100)}%  ${text}`);
      } else {
        const fields = { stream, records, total, slices_done: slicesDone, records_per_second: rate };
        log.info(fields, `${stream}: ${text}`);
      }
    },
  };
  return {
    events,
    /** Removes the line, so that another one can follow. */
    erase(): void {
      if (isInteractive && shownMs > 0) process.stderr.write(ERASE);
    },
  };
}
