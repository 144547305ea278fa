/** `.env.example`: every variable with its default or an example, and its meaning. */
import { readFileSync } from 'node:fs';

export function listSettings() {
  let group = '';
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  const parts = text.matchAll(/^# --- (.+) ---$|((?:^# .*\n)+)#([A-Z_]+)=(.*)$/gm);
  return [...parts].flatMap(([, title, about = '', name = '', value = '']) => {
    group = title ?? group;
    if (title !== undefined) return [];
    const meaning = about.replaceAll(/^# |\n$/gm, '').replaceAll('\n', ' ');
    return [{ group, name, value: value.replace(/^"(.*)"$/, '$1'), about: meaning }];
  });
}
