import { adviseOnReader } from '../../warehouse/reader-role.ts';
import { formatNumber } from '../../shared/format.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, type Verb, withApp } from '../verb.ts';

type MigrateOptions = CommonOptions & { readonly citus?: true };

export const migrate: Verb<MigrateOptions> = {
  name: 'migrate',
  about: 'apply the migrations; several processes may do so at once (sync and start do it themselves)',
  hasAccounts: 'store the reporting time zone of this account only; the tables are common to all',
  options: [
    ['--citus', 'also distribute the tables by account over the nodes of a Citus cluster; can be run again'],
  ],
  run: withApp(
    async ({ app, terminal }, options) => {
      const { applied, known, reader, distributed } = await app.migrate({ onCitus: options.citus === true });
      terminal.print(
        applied === 0
          ? `The warehouse is up to date (${formatNumber(known, 'migration')}).`
          : `Applied ${formatNumber(applied, 'migration')}; the warehouse is up to date.`,
      );
      if (distributed.length > 0) {
        terminal.print(
          `Distributed by account over the nodes of the Citus cluster: ${formatNumber(distributed.length, 'table')}.`,
        );
      } else if (options.citus === true) terminal.print('Every table is distributed already.');
      const advice = adviseOnReader(reader);
      if (advice !== null) terminal.note(advice);
      return EXIT.ok;
    },
    { migrates: 'by_itself' },
  ),
};
