import { readFileSync } from 'node:fs';
import { PACKAGE_URL } from '../../version.ts';
import { EXIT } from '../run-results.ts';
import type { Verb } from '../verb.ts';

export const settings: Verb = {
  name: 'settings',
  about: 'print every environment variable with its default and meaning, as a file .env to start from',
  runAlone: ({ terminal }) => {
    terminal.printFile(readFileSync(new URL('.env.example', PACKAGE_URL), 'utf8').trimEnd());
    return Promise.resolve(EXIT.ok);
  },
};
