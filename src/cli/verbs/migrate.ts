import { formatNumber } from '../../shared/format.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly citus?: true };

export const migrate: Verb<Flags> = {
  about: 'apply the migrations; several processes may do so at once (sync and start do it themselves)',
  options: [['--citus', 'also distribute the tables by account over the nodes of a Citus cluster']],
  needs: () => ({ migrates: 'by_itself' }),
  async run({ app, terminal }, options) {
    const onCitus = options.citus === true;
    const { applied, known, readerAdvice, distributed } = await app.migrate({ onCitus });
    if (applied === 0) terminal.print(`The warehouse is up to date (${formatNumber(known, 'migration')}).`);
    else terminal.print(`Applied ${formatNumber(applied, 'migration')}; the warehouse is up to date.`);
    const tables = formatNumber(distributed.length, 'table');
    if (onCitus)
      terminal.print(`Newly distributed by account over the nodes of the Citus cluster: ${tables}.`);
    if (readerAdvice !== null) terminal.note(readerAdvice);
  },
};
