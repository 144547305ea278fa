import { expect, it } from 'vitest';
import { logResult } from '../../../src/operate/worker/run-log.ts';
import { type ErrorCode, SafetySyncError } from '../../../src/shared/errors.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { RunResult } from '../../../src/engine/sync/run.ts';
import { noCounts } from '../../../src/engine/control-tables/record-counts.ts';

const record = {
  runId: 42,
  watermarkBefore: '2026-03-01T11:00:00.000Z',
  watermarkAfter: '2026-03-01T12:00:00.000Z',
};
const figures = {
  record,
  stream: 'followups',
  counts: noCounts(),
  requests: 1,
  retries: 0,
  throttled: 0,
  durationMs: 10,
  repaired: null,
} as const;

function lineOf(result: RunResult, isKnown = false): { level: string; fields: Record<string, unknown> } {
  const lines: { level: string; fields: Record<string, unknown> }[] = [];
  const write = (level: string) => (fields: Record<string, unknown>) => void lines.push({ level, fields });
  const log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  } as unknown as Logger;
  logResult({ log }, result, { isKnown });
  const [line, ...others] = lines;
  if (line === undefined || others.length > 0) throw new Error(`${lines.length} lines`);
  return line;
}

const failed = (code: ErrorCode): RunResult => ({
  ...figures,
  outcome: 'failed',
  error: new SafetySyncError(code, 'why'),
});

const skipped = { ...figures, outcome: 'skipped', reason: 'why' } as const;

it('the log line of a run contains its id and its watermarks before and after', () => {
  const { level, fields } = lineOf({ ...figures, outcome: 'succeeded', note: null });
  expect(level).toBe('info');
  expect(fields).toMatchObject({
    run_id: 42,
    stream: 'followups',
    watermark_before: record.watermarkBefore,
    watermark_after: record.watermarkAfter,
  });
});

it('a failed run is logged as an error, unless somebody interrupted it or its outage was logged', () => {
  expect(lineOf(failed('delete_guard')).level).toBe('error');
  expect(lineOf(failed('interrupted')).level).toBe('warn');
  expect(lineOf(failed('network_error'), true).level).toBe('debug');
});

it('a skipped run is logged, unless its reason is known or another worker runs the stream', () => {
  expect(lineOf(skipped).level).toBe('info');
  expect(lineOf(skipped, true).level).toBe('debug');
  expect(lineOf({ ...skipped, isTaken: true }).level).toBe('debug');
});
