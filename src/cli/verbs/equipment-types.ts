import { sql } from 'drizzle-orm';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { nameEntries, usageError } from '../../shared/errors.ts';
import { toIso } from '../../shared/time.ts';
import { tokenSourceOf } from '../../config/account-config.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import { type StoredPartition, unreadOf } from '../../engine/streams/unread-partitions.ts';
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

/** By account, only those with rows of equipment types that are not configured. */
export async function readUnreadPartitions({
  accounts,
  accountIds,
  db,
}: App): Promise<Map<string, StoredPartition[]>> {
  const stored = await readStoredPartitions(db, accountIds);
  const unread = accounts.map(
    ({ id, config }) => [id, unreadOf(stored.get(id) ?? [], config.equipmentTypes)] as const,
  );
  return new Map(unread.filter(([, partitions]) => partitions.length > 0));
}

/** For each account its configured types in their order, then those that are listed or have rows. Where none is configured all are read. */
async function readTypes({ accounts, accountIds, db }: App) {
  const stored = await readStoredPartitions(db, accountIds);
  const listed = await db.execute<{ account_id: string; id: string; title: string | null }>(
    sql`select account_id, id, title from safety.equipment_types
      where account_id = any (${toArrayLiteral(accountIds)}::text[]) order by title, id`,
  );
  return accounts.flatMap(({ id, config: { equipmentTypes } }) => {
    const own = new Map((stored.get(id) ?? []).map((one) => [one.partition, one]));
    const titles = new Map(listed.filter((one) => one.account_id === id).map((one) => [one.id, one.title]));
    return [...new Set([...equipmentTypes, ...titles.keys(), ...own.keys()])].map((type) => ({
      ...accountFields(accounts.length > 1, id),
      equipment_type_id: type,
      title: titles.get(type) ?? null,
      is_configured: equipmentTypes.includes(type),
      is_read: equipmentTypes.length === 0 || equipmentTypes.includes(type),
      live_rows: own.get(type)?.live ?? 0,
      deleted_rows: own.get(type)?.deleted ?? 0,
      last_read_at: toIso(own.get(type)?.readAtMs ?? null),
    }));
  });
}

type TypeRow = Awaited<ReturnType<typeof readTypes>>[number];

const isLeft = (type: TypeRow): boolean => !type.is_read && type.live_rows > 0;

const listTypes = withApp<CommonOptions>(async ({ app, terminal }) => {
  const types = await readTypes(app);
  const no = (type: TypeRow) => (isLeft(type) ? terminal.colors.yellow('no') : 'no');
  const table = () =>
    renderRows(
      types,
      [
        accountColumn(app.accounts.length > 1),
        { title: 'type', cellOf: (type) => type.equipment_type_id },
        { title: 'title', isCut: true, cellOf: (type) => type.title ?? '–' },
        { title: 'read', cellOf: (type) => (type.is_read ? 'yes' : no(type)) },
        countColumn('live', (type) => type.live_rows),
        countColumn('deleted', (type) => type.deleted_rows),
        { title: 'last read', cellOf: (type) => formatTime(type.last_read_at) },
      ],
      terminal,
    );
  const advice =
    'Live rows of a type that is not read stay as they were. To mark them deleted: safety-sync equipment-types retire TYPE';
  const none =
    'The service has listed no equipment type yet, none is configured (SAFETY_EQUIPMENT_TYPES), and no equipment is stored.';
  return {
    json: { equipment_types: types },
    lines: () => (types.length === 0 ? [none] : [table(), ...afterBlank(types.some(isLeft) ? [advice] : [])]),
  };
});

const retireType = withApp<CommonOptions>(async (context, options, [type = '']) => {
  const { app, terminal } = context;
  const account = onlyAccountOf(app, 'an equipment type');
  const known = await readTypes(app);
  const found = known.find((one) => one.equipment_type_id === type);
  if (found === undefined || found.is_read) {
    const left = known.filter((one) => !one.is_read).map((one) => one.equipment_type_id);
    const first =
      'First set SAFETY_EQUIPMENT_TYPES to the other types, here and where safety-sync start runs.';
    throw found === undefined
      ? usageError(
          `no row is of equipment type ${type}`,
          `Types that are not read: ${left.join(', ') || 'none'}.`,
        )
      : usageError(
          `equipment type ${type} is read: the next run would bring its rows back`,
          nameEntries(first, [tokenSourceOf(account.config)]),
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
  about:
    'show the equipment types that the service lists, that are configured or have rows, and when each was last read',
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
