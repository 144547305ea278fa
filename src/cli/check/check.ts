import pLimit from 'p-limit';
import { type App, buildApiClient, buildLogger, createApp } from '../../app.ts';
import { checkDatabase } from './check-database.ts';
import { checkPrivacy } from './check-privacy.ts';
import { checkService } from './check-service.ts';
import { checkSource, readRows, type RowsOf } from './check-source.ts';
import { checkStreams } from './check-streams.ts';
import { type Check, failed, ok, skipped } from './finding.ts';
import { type AccountConfig, describeUnlimited } from '../../config/account-config.ts';
import type { Config } from '../../config/load-config.ts';
import { describeUnknown } from '../../config/unknown-variables.ts';
import { readOptionalMethods, writeOptionalMethods } from '../../engine/control-tables/optional-methods.ts';
import type { MethodResult } from '../../engine/streams/optional-methods.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { readReportingTimezones } from '../../warehouse/view-settings.ts';
import { describeUnread, UNREAD_ADVICE } from '../../engine/streams/unread-partitions.ts';
import { createBudgetStore } from '../../engine/control-tables/request-budget.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { accountFields, EXIT } from '../run-results.ts';
import type { Colors } from '../terminal.ts';
import { type CommonOptions, type CommandContext, configOf, JSON_OPTION, type Verb } from '../verb.ts';
import { readAccountFindings } from '../verbs/accounts.ts';
import { readUnreadPartitions } from '../verbs/equipment-types.ts';

/** Retries would only delay the result that the user waits for. */
const CHECK_RETRIES = 1;

function renderCheck({ what, result, finding, advice }: Check, colors: Colors): string {
  const marks = { ok: colors.green('ok  '), failed: colors.red('FAIL'), skipped: colors.yellow('skip') };
  const next = advice === null ? '' : `\n       ${advice}`;
  return `${marks[result]}  ${colors.bold(what)}: ${finding}${next}`;
}

const UNLIMITED_ADVICE = 'Remove the variable: 40 a minute are enough for every account.';

const POOLED = 'connections share sessions of the server: a pooler is in transaction mode';
const POOLER_ADVICE =
  'Set the pooler to session mode, or connect DATABASE_URL to PostgreSQL itself: the locks and temporary tables of a run belong to one session.';

/** No check where the warehouse has the configured zone, or where no zone is configured. */
async function checkTimezones({ accounts, accountIds, db }: App): Promise<Check[]> {
  const stored = await readReportingTimezones(db, accountIds);
  return accounts.flatMap(({ id, config: { reportingTimezone: own } }): Check[] => {
    const zone = stored.get(id);
    if (own === null || zone === undefined || zone === own) return [];
    return [
      skipped(
        'reporting time zone',
        `days of ${id} begin in ${zone} in the warehouse, and REPORTING_TIMEZONE is ${own} here`,
        'The next sync or start from here moves them; set the same zone wherever safety-sync is run.',
      ),
    ];
  });
}

/**
 * Finds stored rows that no configured run reads: equipment of other types, and other accounts. `hasAll`: `app` has every
 * configured account, so the others can be found.
 */
async function checkStored(app: App, hasAll: boolean): Promise<Check[]> {
  const isMany = app.accounts.length > 1;
  const unread = [...(await readUnreadPartitions(app))].map(([account, partitions]) =>
    skipped(
      isMany ? `equipments of ${account}` : 'equipments',
      describeUnread(partitions) ?? '',
      UNREAD_ADVICE,
    ),
  );
  const others = hasAll ? await readAccountFindings(app) : [];
  return [...unread, ...others.map(({ finding, advice }) => skipped('accounts', finding, advice))];
}

interface WarehouseChecks {
  readonly found: readonly Check[];
  /** null: the warehouse cannot be used. */
  readonly rowsOf: ((account: string) => RowsOf) | null;
  /** Accounts that belong to another service: no list of it is requested. */
  readonly refused: readonly string[];
}

async function checkWarehouse(app: App, hasAll: boolean): Promise<WarehouseChecks> {
  const { accounts, accountIds, connection } = app;
  const isMany = accounts.length > 1;
  const whose = isMany ? `${accounts.length} accounts` : `account ${accountIds[0] ?? ''}`;
  const found = await checkDatabase(connection, whose);
  if (await app.warehouse.sharesSessions()) found.push(failed('sessions', POOLED, POOLER_ADVICE));
  const isBroken = found.some(({ result }) => result === 'failed');
  if (isBroken || (await readMigrationStatus(connection)).pending > 0)
    return { found, rowsOf: null, refused: [] };
  found.push(...(await checkTimezones(app)), ...(await checkPrivacy(app)));
  found.push(...(await checkStored(app, hasAll)), ...(await checkStreams(app)));
  const refused: string[] = [];
  for (const one of accounts) {
    const checked = await checkSource(one, isMany ? `source of ${one.id}` : 'source');
    if (checked !== undefined) found.push(checked);
    if (checked?.result === 'failed') refused.push(one.id);
  }
  return { found, rowsOf: await readRows(app), refused };
}

/** Without a warehouse there is no budget to share with other processes. */
const MOST_WITHOUT_BUDGET = 10;

interface AccountCheck {
  readonly context: CommandContext;
  readonly config: Config;
  /** With a usable warehouse; undefined: there is none. */
  readonly app: App | undefined;
  readonly rowsOf: RowsOf;
  readonly onCheck: (check: Check) => void;
}

async function checkAccount(
  account: AccountConfig,
  { context, config, app, rowsOf, onCheck }: AccountCheck,
): Promise<void> {
  const { accountId, equipmentTypes } = account;
  const limits = { ...config.api, mostRetries: app === undefined ? 0 : CHECK_RETRIES };
  const store = app === undefined ? null : createBudgetStore(app.db, accountId);
  const api = buildApiClient(account, limits, { log: buildLogger(config), store });
  try {
    const optional = app && {
      states: await readOptionalMethods(app.db, accountId),
      remember: async (result: MethodResult) => {
        await writeOptionalMethods(app.db, { accountId, now: 'now' }, [result]);
      },
    };
    const mostRequests = app === undefined ? MOST_WITHOUT_BUDGET : Infinity;
    const { signal } = context;
    const settings = { api, equipmentTypes, rowsOf, signal, mostRequests, onCheck };
    await checkService({ ...settings, ...(optional && { optional }) });
  } finally {
    await api.close();
  }
}

/** Number of accounts that are checked concurrently. */
const ACCOUNTS_AT_ONCE = 4;

function exitCodeOfChecks(checks: readonly Check[]): number {
  const failures = checks.filter(({ result }) => result === 'failed');
  if (failures.some(({ code }) => code === 'database_newer' || code === 'source_changed')) return EXIT.usage;
  if (failures.some(({ isRefusal }) => isRefusal === true)) return EXIT.refused;
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}

/** Of the configuration, which was read already. */
function checkSettings({ accounts, api, unknownVariables }: Config): Check[] {
  const many = accounts.length > 1 ? `, ${accounts.length} accounts` : '';
  const unlimited = describeUnlimited(accounts, api.requestsPerMinute);
  const unknown = describeUnknown(unknownVariables);
  return [
    ok('configuration', `every variable is usable${many}`),
    ...(unlimited === null ? [] : [skipped('request limit', unlimited, UNLIMITED_ADVICE)]),
    ...(unknown === null
      ? []
      : [
          {
            ...skipped(
              'configuration',
              unknown,
              'Correct or remove them (all there are: safety-sync settings).',
            ),
            remark: 'some variables are not known',
          },
        ]),
  ];
}

async function runCheck(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal, signal } = context;
  const config = configOf(context, { ...options, needsService: true });
  const isMany = config.accounts.length > 1;
  const checks: (Check & { readonly account_id?: string })[] = [];
  const print = (more: readonly Check[], accountId?: string) => {
    const own = accountId === undefined ? {} : accountFields(isMany, accountId);
    checks.push(...more.map((one) => ({ ...own, ...one })));
    if (options.json) return;
    const label = isMany && accountId !== undefined ? `${accountId}: ` : '';
    for (const one of more) {
      terminal.print(renderCheck({ ...one, what: `${label}${one.what}` }, terminal.colors));
    }
  };
  print(checkSettings(config));
  let app: App | undefined;
  let warehouse: WarehouseChecks = { found: [], rowsOf: null, refused: [] };
  try {
    try {
      const say = (line: string) => terminal.note(terminal.noteColors.dim(line));
      const api = { ...config.api, mostRetries: CHECK_RETRIES };
      app = await createApp({ config: { ...config, api }, signal, say });
      warehouse = await checkWarehouse(app, options.account === undefined);
      print(warehouse.found);
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      print([{ ...failed('database', error.message, error.advice), code: error.code }]);
    }
    const { rowsOf, refused } = warehouse;
    const usable = rowsOf === null ? undefined : app;
    const limit = pLimit(ACCOUNTS_AT_ONCE);
    const asked = config.accounts.map((account) =>
      limit(async () => {
        const { accountId } = account;
        const found: Check[] = [];
        const onCheck = (one: Check) => (isMany ? void found.push(one) : print([one], accountId));
        const rows = rowsOf?.(accountId) ?? (() => undefined);
        if (!refused.includes(accountId))
          await checkAccount(account, { context, config, app: usable, rowsOf: rows, onCheck });
        return { accountId, found };
      }),
    );
    // Results are printed in the order of the accounts, because accounts are checked concurrently.
    for (const { accountId, found } of await Promise.all(asked)) print(found, accountId);
  } finally {
    await app?.close();
  }
  const failures = checks.filter(({ result }) => result === 'failed').length;
  if (options.json) terminal.print(JSON.stringify({ checks }));
  else {
    const remarks = [...new Set(checks.flatMap(({ remark }) => remark ?? []))];
    const inOrder =
      remarks.length === 0 ? 'Everything is in order.' : `Everything works, but ${remarks.join(', and ')}.`;
    terminal.print(`\n${failures === 0 ? inOrder : `${failures} of ${checks.length} checks failed.`}`);
  }
  return exitCodeOfChecks(checks);
}

export const check: Verb<CommonOptions> = {
  name: 'check',
  about:
    'test configuration, database and service; print each problem with its remedy; count forgotten people',
  hasAccounts: true,
  options: [JSON_OPTION],
  run: runCheck,
};
