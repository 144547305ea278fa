import type { Readings } from './readings.ts';

/** The HTTP Date header. A proxy may have set it, by another clock or in an older format of HTTP. */
export function toDateHeader(nowMs: number, readings: Readings): string | undefined {
  const date = new Date(nowMs + readings.dateHeaderAheadMs);
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  const text = date.toUTCString();
  const [weekday = '', day = '', month = '', year = '', time = ''] = text.replace(',', '').split(' ');
  switch (readings.dateHeader) {
    case 'present':
      return text;
    case 'absent':
      return undefined;
    case 'asctime':
      return `${weekday} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`;
    case 'iso':
      return date.toISOString();
    case 'unreadable':
      return 'now';
  }
}
