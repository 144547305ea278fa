import { readStoredPartitions } from '../../engine/control-tables/met-ids.ts';
import { formatNumber } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import { EXIT, outputOf } from '../run-results.ts';
import { runAccounts } from '../run-accounts.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

const retire: Verb = {
  about: 'mark the rows of a type that is not configured any more as deleted',
  takes: [['<type>', 'equipmentType_id, as it was in SAFETY_EQUIPMENT_TYPES']],
  common: ['account', 'json'],
  async run(context, options, [type = '']) {
    const { id, config } = onlyAccountOf(context.app, 'an equipment type');
    const stored = await readStoredPartitions(context.app.db, [id]);
    const types = stored.map(({ partition }) => partition);
    const { equipmentTypes: read } = config;
    const left = types.filter((one) => read.length > 0 && !read.includes(one));
    if (!left.includes(type)) {
      const reason = types.includes(type)
        ? `equipment type ${type} is read: the next run would bring its rows back`
        : `no row is of equipment type ${type}`;
      const advice = `First set SAFETY_EQUIPMENT_TYPES to the other types, here and where safety-sync start runs. Types that are not read: ${left.join(', ') || 'none'}.`;
      throw usageError(reason, advice);
    }
    const all = await runAccounts(context, options, {
      kind: 'sync',
      streams: STREAMS.filter((one) => one.partitionedBy !== undefined).map(({ name }) => name),
      allowMassDelete: true,
      retirePartition: type,
    });
    const output = outputOf(all, context.terminal);
    const deleted = all.reduce((sum, { counts }) => sum + counts.deleted, 0);
    const said = `${formatNumber(deleted, 'row')} of equipment type ${type} marked deleted. Configured again, the type brings back what the source still has.`;
    return output.code === EXIT.ok ? { ...output, lines: [said] } : output;
  },
};

export const equipmentTypes: Verb = {
  about: 'retire equipment types that are not read any more (status names them)',
  verbs: { retire },
};
