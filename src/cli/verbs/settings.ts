import { listSettings, readSettingsFile } from '../../config/settings-file.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, JSON_OPTION, type Verb } from '../verb.ts';

export const settings: Verb<CommonOptions> = {
  name: 'settings',
  about: 'print every environment variable with its default and meaning, as a file .env to start from',
  options: [JSON_OPTION],
  run: ({ terminal }, { json }) => {
    terminal.printFile(json ? JSON.stringify({ settings: listSettings() }) : readSettingsFile().trimEnd());
    return Promise.resolve(EXIT.ok);
  },
};
