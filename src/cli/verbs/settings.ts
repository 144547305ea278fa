import { readSettingsFile } from '../../config/settings-file.ts';
import { EXIT } from '../run-results.ts';
import type { Verb } from '../verb.ts';

export const settings: Verb = {
  name: 'settings',
  about: 'print every environment variable with its default and meaning, as a file .env to start from',
  run: ({ terminal }) => {
    terminal.printFile(readSettingsFile().trimEnd());
    return Promise.resolve(EXIT.ok);
  },
};
