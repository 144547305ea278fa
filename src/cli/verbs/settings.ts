import { readFile } from 'node:fs/promises';
import { PACKAGE_URL } from '../../version.ts';
import type { Verb } from '../verb.ts';

export const settings: Verb = {
  about: 'print every environment variable with its default and meaning, as a file .env to start from',
  async runAlone({ terminal }) {
    terminal.printFile((await readFile(new URL('.env.example', PACKAGE_URL), 'utf8')).trimEnd());
  },
};
