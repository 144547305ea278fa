import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { toIso } from '../../shared/time.ts';
import { nameEntries } from '../../shared/token-source.ts';
import { tokenSourceOf } from '../../config/account-config.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { App } from '../../app.ts';
import { accountFields, afterBlank, EXIT, outputOf } from '../run-results.ts';
import { runAccounts } from '../run-verb.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import {
  type CommonOptions,
  isAtTerminal,
  JSON_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  withApp,
} from '../verb.ts';

/** For each account its configured types in their order, then the other types that have rows. */
async function readTypes({ accounts, accountIds, db }: App) {
  const stored = await readStoredPartitions(db, accountIds);
  return accounts.flatMap(({ id, config: { equipmentTypes } }) => {
    const own = new Map((stored.get(id) ?? []).map((one) => [one.partition, one]));
    return [...new Set([...equipmentTypes, ...own.keys()])].map((type) => ({
      ...accountFields(accounts.length > 1, id),
      equipment_type_id: type,
      is_configured: equipmentTypes.includes(type),
      live_rows: own.get(type)?.live ?? 0,
      deleted_rows: own.get(type)?.deleted ?? 0,
      last_read_at: toIso(own.get(type)?.readAtMs ?? null),
    }));
  });
}

type TypeRow = Awaited<ReturnType<typeof readTypes>>[number];

const isLeft = (type: TypeRow): boolean => !type.is_configured && type.live_rows > 0;

const listTypes = withApp<CommonOptions>(async ({ app, terminal }) => {
  const types = await readTypes(app);
  const no = (type: TypeRow) => (isLeft(type) ? terminal.colors.yellow('no') : 'no');
  const table = () =>
    renderRows(
      types,
      [
        accountColumn(app.accounts.length > 1),
        { title: 'type', cellOf: (type) => type.equipment_type_id },
        { title: 'configured', cellOf: (type) => (type.is_configured ? 'yes' : no(type)) },
        countColumn('live', (type) => type.live_rows),
        countColumn('deleted', (type) => type.deleted_rows),
        { title: 'last read', cellOf: (type) => formatTime(type.last_read_at) },
      ],
      terminal,
    );
  const advice =
    'Live rows of a type that is not configured stay as they were when last read. To mark them deleted: safety-sync equipment-types retire TYPE';
  const none = 'No equipment type is configured (SAFETY_EQUIPMENT_TYPES), and no equipment is stored.';
  return {
    json: { equipment_types: types },
    lines: () => (types.length === 0 ? [none] : [table(), ...afterBlank(types.some(isLeft) ? [advice] : [])]),
  };
});

const retireType = withApp<CommonOptions>(async (context, options, [type = '']) => {
  const { app, terminal } = context;
  const example = (name: string) => `equipment-types retire ${type} --account ${name}`;
  const account = onlyAccountOf(app, { what: 'an equipment type', example });
  const known = await readTypes(app);
  const found = known.find((one) => one.equipment_type_id === type);
  if (found?.is_configured === true) {
    throw usageError(
      `equipment type ${type} is configured: the next run would bring its rows back`,
      nameEntries(
        'First take it out of SAFETY_EQUIPMENT_TYPES, here and where safety-sync start runs; then try again.',
        [tokenSourceOf(account.config)],
      ),
    );
  }
  if (found === undefined) {
    const others = known.filter((one) => !one.is_configured).map((one) => one.equipment_type_id);
    const which = others.length === 0 ? 'every stored row is of a configured type' : others.join(', ');
    throw usageError(
      `no row is of equipment type ${type}`,
      `Types that have rows and are not configured: ${which}.`,
    );
  }
  const stream = STREAMS.find(({ partitionedBy }) => partitionedBy !== undefined)?.name ?? '';
  const all = await runAccounts(app, {
    kind: 'sync',
    streamsOf: () => [stream],
    allowMassDelete: true,
    retirePartition: type,
    isAtTerminal: isAtTerminal(context, app, options),
  });
  const deleted = all.reduce((sum, { result }) => sum + result.counts.deleted, 0);
  const said =
    deleted === 0
      ? `Every row of equipment type ${type} is marked deleted already.`
      : `${formatNumber(deleted, 'row')} of equipment type ${type} ${deleted === 1 ? 'is' : 'are'} marked deleted. Configured again, the type brings back what the source still has.`;
  const output = outputOf(all, terminal);
  return output.code === EXIT.ok ? { ...output, lines: () => [said] } : output;
});

const listVerb: Verb<CommonOptions> = {
  name: 'list',
  about: 'show equipment types that are configured or have rows, and when each was last read',
  hasAccounts: true,
  options: [JSON_OPTION],
  run: listTypes,
};

const retire: Verb<CommonOptions> = {
  name: 'retire',
  about: 'mark the rows of a type that is not configured any more as deleted',
  takes: [['type', 'equipmentType_id, as it was in SAFETY_EQUIPMENT_TYPES']],
  hasAccounts: ONE_ACCOUNT,
  options: [JSON_OPTION],
  run: retireType,
};

export const equipmentTypes: Verb<CommonOptions> = {
  ...listVerb,
  name: 'equipment-types',
  verbs: [listVerb, retire],
};
