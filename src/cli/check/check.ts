import pLimit from 'p-limit';
import { type App, buildApiClient, createApp } from '../../app.ts';
import { checkDatabase } from './check-database.ts';
import { checkPrivacy } from './check-privacy.ts';
import { checkService } from './check-service.ts';
import { type Check, failed, ok, skipped } from './finding.ts';
import type { AccountConfig } from '../../config/account-config.ts';
import type { Config } from '../../config/load-config.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { readReportingTimezones } from '../../warehouse/view-settings.ts';
import { describeUnread, UNREAD_ADVICE } from '../../engine/streams/unread-partitions.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createLogger } from '../../shared/logger.ts';
import { accountFields, EXIT } from '../run-results.ts';
import type { Colors } from '../terminal.ts';
import { type CommonOptions, type CommandContext, configOf, JSON_OPTION, type Verb } from '../verb.ts';
import { readAccountFindings } from '../verbs/accounts.ts';
import { readUnreadPartitions } from '../verbs/status.ts';

/** Retries would only delay the result that the user waits for. */
const CHECK_RETRIES = 1;

function renderCheck({ what, result, finding, advice }: Check, colors: Colors): string {
  const marks = { ok: colors.green('ok  '), failed: colors.red('FAIL'), skipped: colors.yellow('skip') };
  const next = advice === null ? '' : `\n       ${advice}`;
  return `${marks[result]}  ${colors.bold(what)}: ${finding}${next}`;
}

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

async function checkWarehouse(
  context: CommandContext,
  config: Config,
  /** `config` has every account that is configured. */
  hasAll: boolean,
): Promise<Check[]> {
  const say = (line: string) => context.terminal.note(context.terminal.noteColors.dim(line));
  const [account] = config.accounts;
  const isMany = config.accounts.length > 1;
  const whose = isMany ? `${config.accounts.length} accounts` : `account ${account?.accountId ?? ''}`;
  try {
    const app = await createApp({ config, signal: context.signal, say });
    try {
      const checks = await checkDatabase(app.connection, whose);
      if (await app.warehouse.sharesSessions()) {
        checks.push(failed('sessions', POOLED, POOLER_ADVICE));
      }
      const isUsable = checks.every(({ result }) => result !== 'failed');
      if (!isUsable || (await readMigrationStatus(app.connection)).pending > 0) return checks;
      checks.push(...(await checkTimezones(app)), ...(await checkPrivacy(app)));
      return [...checks, ...(await checkStored(app, hasAll))];
    } finally {
      await app.close();
    }
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    return [{ ...failed('database', error.message, error.advice), code: error.code }];
  }
}

async function checkAccount(
  context: CommandContext,
  config: Config,
  { account, onCheck }: { readonly account: AccountConfig; readonly onCheck: (check: Check) => void },
): Promise<void> {
  const log = createLogger({ level: 'silent', format: 'json', colorize: false, secrets: [] });
  const api = buildApiClient(account, { ...config.api, mostRetries: CHECK_RETRIES }, { log });
  try {
    await checkService({ api, equipmentTypes: account.equipmentTypes, signal: context.signal, onCheck });
  } finally {
    await api.close();
  }
}

/** Number of accounts that are checked concurrently. */
const ACCOUNTS_AT_ONCE = 4;

function exitCodeOfChecks(checks: readonly Check[]): number {
  const failures = checks.filter(({ result }) => result === 'failed');
  if (failures.some(({ code }) => code === 'database_newer')) return EXIT.usage;
  if (failures.some(({ isRefusal }) => isRefusal === true)) return EXIT.refused;
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}

async function runCheck(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal } = context;
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
  const usable = isMany
    ? `every variable is usable, ${config.accounts.length} accounts`
    : 'every variable is usable';
  print([ok('configuration', usable)]);
  print(await checkWarehouse(context, config, options.account === undefined));
  const limit = pLimit(ACCOUNTS_AT_ONCE);
  const asked = config.accounts.map((account) =>
    limit(async () => {
      const found: Check[] = [];
      await checkAccount(context, config, {
        account,
        onCheck: (one) => (isMany ? void found.push(one) : print([one], account.accountId)),
      });
      return { accountId: account.accountId, found };
    }),
  );
  // Results are printed in the order of the accounts, because accounts are checked concurrently.
  for (const { accountId, found } of await Promise.all(asked)) print(found, accountId);
  const failures = checks.filter(({ result }) => result === 'failed').length;
  if (options.json) terminal.print(JSON.stringify({ checks }));
  else {
    const isOff = checks.some(({ what, result }) => what === 'clocks' && result !== 'ok');
    const inOrder = isOff ? 'Everything works, but the clocks differ.' : 'Everything is in order.';
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
