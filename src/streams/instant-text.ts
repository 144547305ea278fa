/** Times as text. Millions of them are made in a first load. */
import { DAY_MS, SECOND_MS } from '../shared/time.ts';

/** The first ms that a four-digit year can say, and the first that it cannot. */
const FIRST_PLAIN_MS = Date.parse('0000-01-01T00:00:00Z');
const END_OF_PLAIN_MS = Date.parse('+010000-01-01T00:00:00Z');

/** Records of one answer lie close together: the text of a day is made once. */
const dayTexts = new Map<number, string>();
const MOST_DAY_TEXTS = 5000;

function toDayText(day: number): string {
  let text = dayTexts.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    if (dayTexts.size >= MOST_DAY_TEXTS) dayTexts.clear();
    dayTexts.set(day, text);
  }
  return text;
}

const PADDED = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));
const two = (number: number): string => PADDED[number]?.slice(1) ?? '';

/** ms since 1970 (specification, "Resources and their fields") → ISO text, microseconds kept, years above 9999 included. */
export function toInstant(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.floor((ms - whole) * 1000);
  if (whole < FIRST_PLAIN_MS || whole >= END_OF_PLAIN_MS) {
    const iso = new Date(whole).toISOString().replace(/^\+0*/, '');
    return micros === 0 ? iso : `${iso.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
  }
  const day = Math.floor(whole / DAY_MS);
  const inDay = whole - day * DAY_MS;
  const seconds = Math.floor(inDay / SECOND_MS);
  const time = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  const fraction = `${PADDED[inDay % SECOND_MS] ?? ''}${micros === 0 ? '' : (PADDED[micros] ?? '')}`;
  return `${toDayText(day)}T${time}.${fraction}Z`;
}
