/** `.env.example`: every variable with its default or an example, and its meaning. `safety-sync settings` prints it. */
import { readFileSync } from 'node:fs';
import { PACKAGE_URL } from '../version.ts';

export const readSettingsFile = (): string => readFileSync(new URL('.env.example', PACKAGE_URL), 'utf8');

export function listSettings() {
  let group = '';
  const parts = readSettingsFile().matchAll(/^# --- (.+) ---$|((?:^# .*\n)+)#([A-Z_]+)=(.*)$/gm);
  return [...parts].flatMap(([, title, about = '', name = '', value = '']) => {
    group = title ?? group;
    if (title !== undefined) return [];
    const meaning = about.replaceAll(/^# |\n$/gm, '').replaceAll('\n', ' ');
    return [{ group, name, value: value.replace(/^"(.*)"$/, '$1'), about: meaning }];
  });
}
