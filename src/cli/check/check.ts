import pLimit from 'p-limit';
import { type App, buildApiClient, createApp } from '../../app.ts';
import { checkDatabase } from './check-database.ts';
import { checkService, type CheckServiceOptions, type Say } from './check-service.ts';
import { readForgotten } from '../../engine/privacy/settings.ts';
import { describeSource, sourceChanged } from '../../engine/sync/source.ts';
import { createBudgetStore } from '../../engine/control-tables/request-budget.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { readProblems } from '../../operate/worker/read-problems.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { ERROR_KINDS, type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { createLogger } from '../../shared/logger.ts';
import { EXIT, EXIT_CODE_OF } from '../run-results.ts';
import { type CommonOptions, configOf, type Verb } from '../verb.ts';
import { readStored } from '../verbs/accounts.ts';

/** Retries would only delay the result that the user waits for. */
const CHECK_RETRIES = 1;
const ACCOUNTS_AT_ONCE = 4;

const UNLIMITED_ADVICE = 'Remove the variable: 40 a minute are enough for every account.';
const UNKNOWN_ADVICE = 'Correct or remove them (all there are: safety-sync settings).';
const POOLED = 'connections share sessions of the server: a pooler is in transaction mode';
const POOLER_ADVICE =
  'Set the pooler to session mode, or connect DATABASE_URL to PostgreSQL itself: the locks and temporary tables of a run belong to one session.';

/** `account`: null where the line is about all. */
type SayOf = (account: string | null) => Say;

const sayError = (say: Say, what: string, { message, advice, code }: SafetySyncError): void =>
  say('failed', what, message, advice, code);

/** By account. */
type StoredAccounts = Map<string, NonNullable<CheckServiceOptions['warehouse']>>;

/**
 * Of the stored data: the key of forgotten people, and the problems that `status` lists. A problem of a run is no failure of the
 * configuration.
 */
async function checkStored(app: App, sayOf: SayOf): Promise<StoredAccounts> {
  const { accountIds, db, config } = app;
  for (const id of accountIds)
    await readForgotten(db, id, config.privacy).catch((error: unknown) => {
      if (!(error instanceof SafetySyncError) || error.code !== 'privacy_key_wrong') throw error;
      sayError(sayOf(id), 'privacy', error);
    });
  const { problems, accounts } = await readProblems(app);
  const counts = await countRows(db, accountIds);
  const stored: StoredAccounts = new Map(
    accounts.map(({ id, streams }) => {
      const read = streams.filter(({ lastSuccessMs }) => lastSuccessMs !== null);
      const listedOf = (stream: StreamName) =>
        counts.find((one) => one.account_id === id && one.stream === stream)?.listed ?? 0;
      return [id, { db, rows: new Map(read.map(({ stream }) => [stream, listedOf(stream)])) }];
    }),
  );
  const shown = problems.filter(({ kind, level, accountId }) => {
    // The first sync will read all streams, not only those that are a note when absent.
    const isAhead =
      kind === 'never_synced' && level === 'note' && stored.get(accountId ?? '')?.rows.size === 0;
    return level !== 'busy' && !isAhead;
  });
  for (const { text, problem } of describeProblems(shown)) {
    // The service is asked only after these lines.
    const isOfService = problem.kind === 'credentials_refused' || problem.kind === 'service_away';
    const what = problem.kind === 'differs' ? 'stored data' : 'streams';
    sayOf(problem.accountId)('skipped', what, isOfService ? `at the last run: ${text}` : text);
  }
  return stored;
}

/** Whether each service is the one that was read. No list is requested of another one. */
async function checkSources({ accounts }: App, sayOf: SayOf, checked: StoredAccounts): Promise<void> {
  for (const { id, source } of accounts) {
    const { stored, current, isOther } = await source.compare();
    if (stored === undefined) continue;
    if (isOther) {
      checked.delete(id);
      sayError(sayOf(id), 'source', sourceChanged(id, stored, current));
    } else sayOf(id)('ok', 'source', `account ${id} belongs to ${describeSource(current)}`);
  }
}

/** Returns the accounts that are not refused; undefined: there is no migrated warehouse. */
async function checkWarehouse(app: App, sayOf: SayOf, { account }: CommonOptions) {
  const say = sayOf(null);
  const isUsable = await checkDatabase(app.connection, say);
  const isPooled = await app.warehouse.sharesSessions();
  if (isPooled) say('failed', 'sessions', POOLED, POOLER_ADVICE);
  if (isPooled || !isUsable) return undefined;
  const stored = await checkStored(app, sayOf);
  // Others can be found if `app` has every configured account.
  const { findings } = account ? { findings: [] } : await readStored(app);
  for (const { finding, advice } of findings) say('skipped', 'accounts', finding, advice);
  await checkSources(app, sayOf, stored);
  return stored;
}

export const check: Verb = {
  about: 'test configuration, database and service; print each problem with its remedy',
  common: ['accounts', 'json'],
  async runAlone(context, options) {
    const { terminal, signal } = context;
    const { colors } = terminal;
    const config = configOf(context, { ...options, needsService: true });
    const marks = {
      ok: `${colors.green('ok')}  `,
      failed: colors.red('FAIL'),
      skipped: colors.yellow('skip'),
    };
    const checks: { readonly result: keyof typeof marks; readonly code?: ErrorCode | undefined }[] = [];
    const sayOf: SayOf =
      (account) =>
      (result, what, finding, advice = null, code) => {
        const ofAccount = account !== null && config.accounts.length > 1 ? { account_id: account } : {};
        checks.push({ ...ofAccount, ...{ what, result, finding, advice, code } });
        const next = advice === null ? '' : `\n       ${advice.replaceAll('\n', '\n       ')}`;
        const name = colors.bold([...Object.values(ofAccount), what].join(': '));
        if (!options.json) terminal.print(`${marks[result]}  ${name}: ${finding}${next}`);
      };
    const say = sayOf(null);
    say('ok', 'configuration', 'every variable is usable');
    const { unlimited, unknown } = config.warnings;
    if (unlimited !== null) say('skipped', 'request limit', unlimited, UNLIMITED_ADVICE);
    if (unknown !== null) say('skipped', 'configuration', unknown, UNKNOWN_ADVICE);
    const api = { ...config.api, mostRetries: CHECK_RETRIES };
    const onServer = (line: string) => terminal.note(terminal.noteColors.dim(line));
    const sayDatabase = (error: unknown): undefined => {
      if (!(error instanceof SafetySyncError)) throw error;
      sayError(say, 'database', error);
    };
    const app = await createApp({ config: { ...config, api }, signal, say: onServer }).catch(sayDatabase);
    try {
      const stored = app && (await checkWarehouse(app, sayOf, options).catch(sayDatabase));
      const log = createLogger({ ...config.log, secrets: config.secrets });
      await pLimit(ACCOUNTS_AT_ONCE).map(config.accounts, async (account) => {
        const { accountId } = account;
        const warehouse = stored?.get(accountId);
        if (stored !== undefined && warehouse === undefined) return;
        const store = warehouse === undefined ? null : createBudgetStore(warehouse.db, accountId);
        const limits = warehouse === undefined ? { ...api, mostRetries: 0 } : api;
        const client = buildApiClient(account, limits, { log, store });
        await checkService({ api: client, account, signal, say: sayOf(accountId), warehouse });
        await client.close();
      });
    } finally {
      await app?.close();
    }
    const failed = checks.filter(({ result }) => result === 'failed');
    const isInOrder = checks.every(({ result }) => result === 'ok');
    const well = isInOrder ? 'Everything is in order.' : 'Nothing failed; skip marks what to look at.';
    const codes = failed.map(({ code }) =>
      code === undefined ? EXIT.failed : EXIT_CODE_OF[ERROR_KINDS[code].recovery],
    );
    const verdict = failed.length === 0 ? well : `${failed.length} of ${checks.length} checks failed.`;
    return {
      json: { checks },
      lines: [`\n${verdict}`],
      code: Math.max(EXIT.ok, ...codes),
    };
  },
};
