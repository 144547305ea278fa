import { expect, test } from 'vitest';
import { ElementCutter } from '../../../src/engine/api/element-cutter.ts';

test('a response of 200 MB needs no more memory than a small one', () => {
  const record = JSON.stringify({ id: 'u1', status: 'active', tags: ['a', 'b'], note: 'x'.repeat(400) });
  const part = Buffer.from(`${record},`.repeat(130));
  const cutter = new ElementCutter('items');
  cutter.push(Buffer.from('{"ok":true,"items":['));
  const before = process.memoryUsage().rss;
  let peak = before;
  let records = 0;
  let bytes = 0;
  while (bytes < 200_000_000) {
    cutter.push(part);
    records += cutter.take().length;
    bytes += part.length;
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  cutter.push(Buffer.from(`${record}]}`));
  records += cutter.take().length;
  expect(cutter.end()).toEqual({ envelope: { ok: true, items: [] }, count: records });
  expect(records).toBe((bytes / part.length) * 130 + 1);
  expect(peak - before).toBeLessThan(100 * 1024 * 1024);
});
