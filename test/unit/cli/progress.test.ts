import pino from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createProgress } from '../../../src/cli/progress.ts';

afterEach(() => vi.restoreAllMocks());

/** The text that a terminal receives. */
function listen(): string[] {
  const written: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  return written;
}

test('a terminal shows how many records each stream has read, on one line that is erased when the stream ends', () => {
  const written = listen();
  const progress = createProgress(pino({ level: 'silent' }), true);
  progress.events.onRead?.('users', 1200);
  expect(written).toEqual(['\r\u001b[2Kreading records: users 1,200']);
  progress.stop('users');
  progress.events.onSession?.('names');
  expect(written.at(-1)).toBe('\r\u001b[2Kreading records: names 0');
  progress.stop('names');
  expect(written.at(-1)).toBe('\r\u001b[2K');
  const width = process.stderr.columns || 70;
  expect(written.every((line) => line.length < width + 5)).toBe(true);
});

test('a backfill at a terminal shows a bar with counts, on one line that is erased at the end', () => {
  const written = listen();
  const progress = createProgress(pino({ level: 'silent' }), true);
  progress.events.onProgress?.('followups', { records: 600, total: 2400, slicesDone: 1 });
  expect(written).toEqual(['\r\u001b[2Kfollowups ███░░░░░░░░░ 25%  600 of 2,400 records, 0/s']);
  progress.stop();
  expect(written.at(-1)).toBe('\r\u001b[2K');
});

test('without a terminal no progress line is written', () => {
  const written = listen();
  const progress = createProgress(pino({ level: 'silent' }), false);
  progress.events.onRead?.('users', 1200);
  progress.stop();
  expect(written).toEqual([]);
});
