import pLimit from 'p-limit';
import { type App, buildApiClient, buildLogger, createApp } from '../../app.ts';
import { checkDatabase } from './check-database.ts';
import { checkService, type RowsOf } from './check-service.ts';
import { type Check, failed, ok, skipped } from './finding.ts';
import { describeUnlimited } from '../../config/account-config.ts';
import type { Config } from '../../config/load-config.ts';
import { describeUnknown } from '../../config/unknown-variables.ts';
import { readOptionalMethods, writeOptionalMethods } from '../../engine/control-tables/optional-methods.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { readForgottenWithKey } from '../../engine/privacy/settings.ts';
import { describeSource, sourceChanged } from '../../engine/sync/source.ts';
import { createBudgetStore } from '../../engine/control-tables/request-budget.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { readAccounts } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { readProblems } from '../../operate/worker/what-is-wrong.ts';
import { readReportingTimezones } from '../../warehouse/view-settings.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, type CommandContext, configOf, type Verb } from '../verb.ts';
import { readAccountFindings } from '../verbs/accounts.ts';

/** Retries would only delay the result that the user waits for. */
const CHECK_RETRIES = 1;
const ACCOUNTS_AT_ONCE = 4;
/** Without a warehouse there is no budget to share with other processes. */
const MOST_WITHOUT_BUDGET = 10;

const UNLIMITED_ADVICE = 'Remove the variable: 40 a minute are enough for every account.';
const UNKNOWN_ADVICE = 'Correct or remove them (all there are: safety-sync settings).';
const POOLED = 'connections share sessions of the server: a pooler is in transaction mode';
const POOLER_ADVICE =
  'Set the pooler to session mode, or connect DATABASE_URL to PostgreSQL itself: the locks and temporary tables of a run belong to one session.';

const failedWith = ({ message, advice, code }: SafetySyncError, what: string): Check => ({
  ...failed(what, message, advice),
  code,
});

/** Of the configuration, which was read already. */
function checkSettings({ accounts, api, unknownVariables }: Config): Check[] {
  const unlimited = describeUnlimited(accounts, api.requestsPerMinute);
  const unknown = describeUnknown(unknownVariables);
  return [
    ok('configuration', 'every variable is usable'),
    ...(unlimited === null ? [] : [skipped('request limit', unlimited, UNLIMITED_ADVICE)]),
    ...(unknown === null ? [] : [skipped('configuration', unknown, UNKNOWN_ADVICE)]),
  ];
}

/** `account`: null where the check is about all. */
type OnCheck = (account: string | null, check: Check) => void;

/** Of the stored data: the key of forgotten people, and what `status` says. A problem of a run is no failure of the configuration. */
async function checkStored(app: App, onCheck: OnCheck): Promise<void> {
  for (const id of app.accountIds)
    await readForgottenWithKey(app.db, id, app.config.privacy).catch((error: unknown) => {
      if (!(error instanceof SafetySyncError) || error.code !== 'privacy_key_wrong') throw error;
      onCheck(id, failedWith(error, 'privacy'));
    });
  const { problems } = await readProblems(app);
  for (const { text, problem } of describeProblems(problems.filter(({ level }) => level !== 'busy')))
    onCheck(problem.accountId, skipped(problem.kind === 'differs' ? 'stored data' : 'streams', text));
}

/** Only where a command with another zone has moved the days. */
async function checkTimezones({ accounts, accountIds, db }: App, onCheck: OnCheck): Promise<void> {
  const stored = await readReportingTimezones(db, accountIds);
  for (const { id, config } of accounts) {
    const [zone, own] = [stored.get(id), config.reportingTimezone];
    if (own === null || zone === undefined || zone === own) continue;
    const finding = `days of ${id} begin in ${zone} in the warehouse, and REPORTING_TIMEZONE is ${own} here`;
    onCheck(id, skipped('reporting time zone', finding, 'Set the same zone wherever safety-sync is run.'));
  }
}

/** Whether each service is the one that was read. Returns accounts of another one: no list of it is requested. */
async function checkSources({ accounts }: App, onCheck: OnCheck): Promise<string[]> {
  const refused: string[] = [];
  for (const { id, source } of accounts) {
    const { stored, current, isOther } = await source.compare();
    if (stored?.isRead !== true) continue;
    if (isOther) {
      refused.push(id);
      onCheck(id, failedWith(sourceChanged(id, stored, current), 'source'));
    } else onCheck(id, ok('source', `account ${id} belongs to ${describeSource(current)}`));
  }
  return refused;
}

/** The records that the service should have, by account; undefined: they were not read yet. */
async function readRows({ db, connection, accountIds, clock }: App): Promise<(account: string) => RowsOf> {
  const counts = [...(await countRows(db, accountIds))];
  const { accounts } = await readAccounts(connection, accountIds, { clock });
  return (account) => (stream) => {
    const read = accounts.get(account)?.find((one) => one.stream === stream);
    if (read?.lastSuccessMs == null) return undefined;
    return counts.find((one) => one.account_id === account && one.stream === stream)?.listed ?? 0;
  };
}

function exitCodeOfChecks(checks: readonly Check[]): number {
  const failures = checks.filter(({ result }) => result === 'failed');
  if (failures.some(({ code }) => code === 'database_newer' || code === 'source_changed')) return EXIT.usage;
  if (failures.some(({ isRefusal }) => isRefusal === true)) return EXIT.refused;
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}

async function runCheck(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal, signal } = context;
  const { colors } = terminal;
  const config = configOf(context, { ...options, needsService: true });
  const marks = { ok: colors.green('ok  '), failed: colors.red('FAIL'), skipped: colors.yellow('skip') };
  const checks: (Check & { readonly account_id?: string })[] = [];
  const onCheck: OnCheck = (account, check) => {
    const isOneOfMany = account !== null && config.accounts.length > 1;
    checks.push(isOneOfMany ? { account_id: account, ...check } : check);
    if (options.json) return;
    const { result, what, finding, advice } = check;
    const next = advice === null ? '' : `\n       ${advice.replaceAll('\n', '\n       ')}`;
    const name = colors.bold(isOneOfMany ? `${account}: ${what}` : what);
    terminal.print(`${marks[result]}  ${name}: ${finding}${next}`);
  };
  for (const check of checkSettings(config)) onCheck(null, check);
  let app: App | undefined;
  let rowsOf: ((account: string) => RowsOf) | undefined;
  let refused: string[] = [];
  try {
    try {
      const say = (line: string) => terminal.note(terminal.noteColors.dim(line));
      const api = { ...config.api, mostRetries: CHECK_RETRIES };
      app = await createApp({ config: { ...config, api }, signal, say });
      for (const check of await checkDatabase(app.connection)) onCheck(null, check);
      if (await app.warehouse.sharesSessions()) onCheck(null, failed('sessions', POOLED, POOLER_ADVICE));
      const isBroken = checks.some(({ result }) => result === 'failed');
      if (!isBroken && (await readMigrationStatus(app.connection)).pending === 0) {
        await checkTimezones(app, onCheck);
        await checkStored(app, onCheck);
        // Others can be found if `app` has every configured account.
        for (const { finding, advice } of options.account ? [] : await readAccountFindings(app))
          onCheck(null, skipped('accounts', finding, advice));
        refused = await checkSources(app, onCheck);
        rowsOf = await readRows(app);
      }
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      onCheck(null, failedWith(error, 'database'));
    }
    const db = rowsOf && app?.db;
    const limits = { ...config.api, mostRetries: db === undefined ? 0 : CHECK_RETRIES };
    const limit = pLimit(ACCOUNTS_AT_ONCE);
    await limit.map(config.accounts, async (account) => {
      const { accountId, equipmentTypes } = account;
      if (refused.includes(accountId)) return;
      const store = db === undefined ? null : createBudgetStore(db, accountId);
      const api = buildApiClient(account, limits, { log: buildLogger(config), store });
      await checkService({
        api,
        equipmentTypes,
        signal,
        rowsOf: rowsOf?.(accountId) ?? (() => undefined),
        mostRequests: db === undefined ? MOST_WITHOUT_BUDGET : Infinity,
        onCheck: onCheck.bind(null, accountId),
        states: db === undefined ? new Map() : await readOptionalMethods(db, accountId),
        remember: async (result) => {
          if (db !== undefined) await writeOptionalMethods(db, { accountId, now: 'now' }, [result]);
        },
      });
      await api.close();
    });
  } finally {
    await app?.close();
  }
  const failures = checks.filter(({ result }) => result === 'failed').length;
  if (options.json) terminal.print(JSON.stringify({ checks }));
  else {
    const isInOrder = checks.every(({ result }) => result === 'ok');
    const well = isInOrder ? 'Everything is in order.' : 'Nothing failed; skip marks what to look at.';
    terminal.print(`\n${failures === 0 ? well : `${failures} of ${checks.length} checks failed.`}`);
  }
  return exitCodeOfChecks(checks);
}

export const check: Verb = {
  name: 'check',
  about: 'test configuration, database and service; print each problem with its remedy',
  common: ['accounts', 'json'],
  runAlone: runCheck,
};
