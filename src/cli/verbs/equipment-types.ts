import { readStoredParts } from '../../engine/control-tables/stored-parts.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { toIso } from '../../shared/time.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StoredPart } from '../../engine/streams/unread-parts.ts';
import { runStream } from '../../engine/sync/run-stream.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import type { Account, App } from '../../app.ts';
import { accountFields, EXIT, exitCodeOf, logRun, printResults, toJsonResults } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import {
  type CommonOptions,
  type CommandContext,
  isAtTerminal,
  JSON_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  withApp,
} from '../verb.ts';

interface EquipmentType extends StoredPart {
  readonly accountId: string;
  readonly isConfigured: boolean;
}

/** For each account its configured types in their order, then the other types that have rows. */
async function readTypes({ accounts, warehouse }: App): Promise<EquipmentType[]> {
  const ids = accounts.map(({ id }) => id);
  const stored = await readStoredParts(warehouse.connection.db, ids);
  return accounts.flatMap(({ id, config }) => {
    const own = stored.get(id) ?? [];
    const configured = [...new Set(config.equipmentTypes)].map(
      (part) => own.find((one) => one.part === part) ?? { part, live: 0, deleted: 0, readAtMs: null },
    );
    const others = own.filter(({ part }) => !config.equipmentTypes.includes(part));
    return [
      ...configured.map((one) => ({ ...one, accountId: id, isConfigured: true })),
      ...others.map((one) => ({ ...one, accountId: id, isConfigured: false })),
    ];
  });
}

async function listTypes(context: CommandContext, options: CommonOptions): Promise<number> {
  return await withApp(context, options, async (app) => {
    const { terminal } = context;
    const types = await readTypes(app);
    const isMany = app.accounts.length > 1;
    if (options.json) {
      const rows = types.map(({ accountId, part, isConfigured, live, deleted, readAtMs }) => ({
        ...accountFields(isMany, accountId),
        equipment_type_id: part,
        is_configured: isConfigured,
        live_rows: live,
        deleted_rows: deleted,
        last_read_at: toIso(readAtMs),
      }));
      terminal.print(JSON.stringify({ equipment_types: rows }));
      return EXIT.ok;
    }
    if (types.length === 0) {
      terminal.print('No equipment type is configured (SAFETY_EQUIPMENT_TYPES), and no equipment is stored.');
      return EXIT.ok;
    }
    const { colors } = terminal;
    const no = ({ live }: EquipmentType) => (live > 0 ? colors.yellow('no') : 'no');
    const text = renderRows(
      types,
      [
        accountColumn(isMany, ({ accountId }) => accountId),
        { title: 'type', cellOf: ({ part }) => part },
        { title: 'configured', cellOf: (type) => (type.isConfigured ? 'yes' : no(type)) },
        countColumn('live', ({ live }) => live),
        countColumn('deleted', ({ deleted }) => deleted),
        { title: 'last read', cellOf: ({ readAtMs }) => formatTime(readAtMs) },
      ],
      terminal,
    );
    terminal.print(text);
    if (types.some(({ isConfigured, live }) => !isConfigured && live > 0)) {
      terminal.print(
        '\nLive rows of a type that is not configured stay as they were when last read. To mark them deleted: safety-sync equipment-types retire TYPE',
      );
    }
    return EXIT.ok;
  });
}

/** The setting that lists the types of an account. */
const placeOf = ({ config }: Account): string =>
  config.service?.entry === undefined
    ? 'SAFETY_EQUIPMENT_TYPES'
    : `equipment_types of the entry ${config.service.entry} in SAFETY_ACCOUNTS_FILE`;

async function retireType(
  context: CommandContext,
  options: CommonOptions,
  [type = '']: readonly string[],
): Promise<number> {
  return await withApp(context, options, async (app) => {
    const { terminal } = context;
    const example = (name: string) => `equipment-types retire ${type} --account ${name}`;
    const account = onlyAccountOf(app, { what: 'an equipment type', example });
    const known = (await readTypes(app)).filter(({ accountId }) => accountId === account.id);
    const found = known.find(({ part }) => part === type);
    if (found?.isConfigured === true) {
      throw usageError(
        `equipment type ${type} is configured: the next run would bring its rows back`,
        `First take it out of ${placeOf(account)}, here and where safety-sync start runs; then try again.`,
      );
    }
    if (found === undefined) {
      const others = known.filter(({ isConfigured }) => !isConfigured).map(({ part }) => part);
      const which = others.length === 0 ? 'every stored row is of a configured type' : others.join(', ');
      throw usageError(
        `no row is of equipment type ${type}`,
        `Types that have rows and are not configured: ${which}.`,
      );
    }
    const stream = STREAMS.find(({ partition }) => partition !== undefined)?.name ?? '';
    const isSeen = isAtTerminal(context, app);
    const result = await runStream(account.runContext(buildRunEvents(account)), {
      stream,
      kind: 'sync',
      trigger: 'manual',
      force: false,
      allowMassDelete: true,
      retirePart: type,
    });
    logRun(account, result, { kind: 'sync', isAtTerminal: isSeen });
    const all = [{ accountId: account.id, results: [result] }];
    if (options.json) terminal.print(JSON.stringify({ runs: toJsonResults(all) }));
    else if (result.outcome === 'failed') printResults(all, terminal);
    else {
      const { deleted } = result.counts;
      terminal.print(
        deleted === 0
          ? `Every row of equipment type ${type} is marked deleted already.`
          : `${formatNumber(deleted, 'row')} of equipment type ${type} ${deleted === 1 ? 'is' : 'are'} marked deleted. Configured again, the type brings back what the source still has.`,
      );
    }
    return exitCodeOf([result]);
  });
}

const ABOUT_LIST = 'show equipment types that are configured or have rows, and when each was last read';

const list: Verb<CommonOptions> = {
  name: 'list',
  about: ABOUT_LIST,
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
  name: 'equipment-types',
  about: ABOUT_LIST,
  hasAccounts: true,
  options: [JSON_OPTION],
  verbs: [list, retire],
  run: listTypes,
};
