/** Long work on a terminal is one line, a bar or counts, that is drawn again and again; elsewhere it is a log line now and then. */
import type { Logger } from '../shared/logger.ts';
import { SECOND_MS } from '../shared/time.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import type { BackfillProgress } from '../engine/reading/step.ts';
import type { RunEvents } from '../engine/sync/run.ts';
import { formatCount, formatDuration } from '../shared/format.ts';

/** Characters of the bar. */
const BAR = 12;
/** Where the width of the terminal is unknown. */
const LONGEST_TEXT = 70;
/** Erases the line of the cursor. */
const ERASE = '\r\x1b[2K';
const LINE_EVERY_MS = 200;
const LOG_EVERY_MS = 5 * SECOND_MS;

/** `rate`: records a second. */
function describePace({ records, total }: BackfillProgress, rate: number): string {
  const all = total === null ? '' : ` of ${formatCount(total)}`;
  const pace = `${formatCount(records)}${all} records, ${formatCount(Math.round(rate))}/s`;
  if (total === null || rate === 0) return pace;
  if (records >= total) return `${pace}, storing the last ones`;
  return `${pace} ${formatDuration((Math.max(0, total - records) / rate) * SECOND_MS)} left`;
}

/** The share of the records that are read; empty while the number of all records is unknown. */
function barOf({ records, total }: BackfillProgress): string {
  if (total === null) return '░'.repeat(BAR);
  const share = Math.min(1, records / Math.max(1, total));
  const full = Math.floor(share * BAR);
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${Math.floor(share * 100)}%`;
}

const describeCounts = (counts: ReadonlyMap<string, number>): string =>
  `reading records: ${[...counts].map(([name, count]) => `${name} ${formatCount(count)}`).join(', ')}`;

export function createProgress(log: Logger, isInteractive: boolean) {
  const startedMs = performance.now();
  let first: number | undefined;
  let loggedMs = startedMs;
  const counts = new Map<StreamName, number>();
  let hasBar = false;
  let isShown = false;
  let shownMs = -Infinity;
  function draw(text: string): void {
    const nowMs = performance.now();
    if (nowMs - shownMs < LINE_EVERY_MS) return;
    shownMs = nowMs;
    isShown = true;
    const width = process.stderr.columns || LONGEST_TEXT;
    process.stderr.write(`${ERASE}${text.slice(0, width - 1)}`);
  }

  function count(stream: StreamName, records: number): void {
    counts.set(stream, records);
    if (isInteractive && !hasBar) draw(describeCounts(counts));
  }

  const events: Pick<RunEvents, 'onSession' | 'onProgress' | 'onRead'> = {
    // Its first response may take long.
    onSession: (stream) => count(stream, 0),
    onProgress(stream, progress) {
      first ??= progress.records;
      const nowMs = performance.now();
      const elapsedMs = nowMs - startedMs;
      // Records of an earlier run are subtracted, because the rate is that of this run.
      const rate = elapsedMs <= 0 ? 0 : ((progress.records - first) / elapsedMs) * SECOND_MS;
      const text = describePace(progress, rate);
      if (isInteractive) {
        hasBar = true;
        draw(`${stream} ${barOf(progress)}  ${text}`);
      } else if (nowMs - loggedMs >= LOG_EVERY_MS) {
        loggedMs = nowMs;
        const { records, total, slicesDone } = progress;
        const fields = {
          stream,
          records,
          total,
          slices_done: slicesDone,
          records_per_second: Math.round(rate),
        };
        log.info(fields, `${stream}: ${text}`);
      }
    },
    /** Shown on a terminal while there is no bar. */
    onRead: count,
  };
  return {
    events,
    /** `ended`: a stream that is read no more; without it, none is. */
    stop(ended?: StreamName): void {
      if (ended === undefined) counts.clear();
      else counts.delete(ended);
      if (isShown) process.stderr.write(ERASE);
      isShown = false;
      hasBar = false;
      shownMs = -Infinity;
    },
  };
}
