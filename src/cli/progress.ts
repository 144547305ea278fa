/** Long work on a terminal is a bar or a line of counts, elsewhere a log line now and then. */
import cliProgress from 'cli-progress';
import type { Logger } from '../shared/logger.ts';
import { SECOND_MS } from '../shared/time.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import type { BackfillProgress } from '../engine/reading/step.ts';
import { formatCount, formatDuration } from '../shared/format.ts';

interface Progress {
  update(stream: StreamName, progress: BackfillProgress): void;
  /** Shown on a terminal while there is no bar. */
  read(stream: StreamName, records: number): void;
  /** `ended`: a stream that is read no more; without it, none is. */
  stop(ended?: StreamName): void;
}

/** Length of the text next to the bar, for a million records. */
const LONGEST_TEXT = 70;
/** Erases the line of the cursor. */
const ERASE = '\r\x1b[2K';
const LINE_EVERY_MS = 200;
const LOG_EVERY_MS = 5 * SECOND_MS;

interface Pace {
  readonly rate: number;
  readonly remainingMs: number | null;
}

/** Records a second of this run, and how long the rest takes at that rate. Records of an earlier run say nothing about it. */
function paceOf(first: number, { records, total }: BackfillProgress, elapsedMs: number): Pace {
  const rate = elapsedMs <= 0 ? 0 : ((records - first) / elapsedMs) * SECOND_MS;
  const rest = total === null ? null : Math.max(0, total - records);
  return { rate, remainingMs: rest === null || rate === 0 ? null : (rest / rate) * SECOND_MS };
}

/** Describes streams on one line of a terminal, and counts the others where the line is too short. */
export function describeCounts(counts: ReadonlyMap<string, number>, width: number): string {
  const parts = [...counts].map(([name, count]) => `${name} ${formatCount(count)}`);
  for (let shown = parts.length; ; shown -= 1) {
    const left = parts.length - shown;
    const text = [...parts.slice(0, shown), ...(left === 0 ? [] : [`${left} more`])].join(', ');
    const line = `reading records: ${text}`;
    if (line.length < width || shown === 0) return line;
  }
}

export function createProgress(log: Logger, isInteractive: boolean): Progress {
  const startedMs = performance.now();
  let first: number | undefined;
  let loggedMs = startedMs;
  const bar = isInteractive
    ? new cliProgress.SingleBar({
        format: '{stream} {bar} {percentage}%  {done}/{all} records  {rate}/s  {left}',
        barCompleteChar: '█',
        barIncompleteChar: '░',
        barsize: Math.max(4, Math.min(24, (process.stderr.columns || LONGEST_TEXT + 24) - LONGEST_TEXT)),
        hideCursor: true,
        clearOnComplete: true,
        stream: process.stderr,
      })
    : undefined;
  let isDrawn = false;
  const counts = new Map<StreamName, number>();
  let isLineShown = false;
  let shownMs = -Infinity;
  const erase = (): void => {
    if (isLineShown) process.stderr.write(ERASE);
    isLineShown = false;
  };

  return {
    update(stream, progress) {
      first ??= progress.records;
      const nowMs = performance.now();
      const { rate, remainingMs } = paceOf(first, progress, nowMs - startedMs);
      const { records, total } = progress;
      const left = remainingMs === null ? '' : `${formatDuration(remainingMs)} left`;
      if (bar !== undefined) {
        const shown = { stream, done: formatCount(records), all: total === null ? '?' : formatCount(total) };
        const payload = { ...shown, rate: formatCount(Math.round(rate)), left };
        erase();
        if (!isDrawn) bar.start(Math.max(total ?? 0, records, 1), records, payload);
        isDrawn = true;
        bar.update(records, payload);
      } else if (nowMs - loggedMs >= LOG_EVERY_MS) {
        loggedMs = nowMs;
        const fields = {
          stream,
          records,
          total,
          slices_done: progress.slicesDone,
          records_per_second: Math.round(rate),
        };
        const all = total === null ? '' : ` of ${formatCount(total)}`;
        log.info(
          fields,
          `${stream}: ${formatCount(records)}${all} records, ${formatCount(Math.round(rate))}/s ${left}`.trimEnd(),
        );
      }
    },
    read(stream, records) {
      counts.set(stream, records);
      const nowMs = performance.now();
      if (!isInteractive || isDrawn || nowMs - shownMs < LINE_EVERY_MS) return;
      shownMs = nowMs;
      isLineShown = true;
      process.stderr.write(`${ERASE}${describeCounts(counts, process.stderr.columns || LONGEST_TEXT)}`);
    },
    stop(ended) {
      if (ended === undefined) counts.clear();
      else counts.delete(ended);
      erase();
      if (isDrawn) bar?.stop();
      isDrawn = false;
    },
  };
}
