import { adviseOnReader } from '../database/reader-role.ts';
import { formatNumber } from '../shared/format.ts';
import { EXIT } from './run-results.ts';
import { type AccountOption, type Verb, withApp } from './verb.ts';

export const migrate: Verb<AccountOption> = {
  name: 'migrate',
  about: 'apply the migrations; safe to run by several processes at once',
  hasAccounts: true,
  run: async (context, options) =>
    await withApp(context, { ...options, migrates: 'by_itself' }, async (app) => {
      const { terminal } = context;
      const { applied, known, reader } = await app.migrate();
      terminal.print(
        applied === 0
          ? `The warehouse is up to date (${formatNumber(known, 'migration')}).`
          : `Applied ${formatNumber(applied, 'migration')}; the warehouse is up to date.`,
      );
      const advice = adviseOnReader(reader);
      if (advice !== null) terminal.note(advice);
      return EXIT.ok;
    }),
};
