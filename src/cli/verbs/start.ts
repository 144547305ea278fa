import { buildLogger } from '../../app.ts';
import { describeUnlimited } from '../../config/account-config.ts';
import { describeUnknown } from '../../config/unknown-variables.ts';
import { runWorker } from '../../operate/worker/run-worker.ts';
import { VERSION } from '../../version.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, configOf, runWithApp, type Verb } from '../verb.ts';

export const start: Verb<CommonOptions> = {
  name: 'start',
  about:
    'the worker: migrate, sync and reconcile on schedule, serve health, metrics and a status page, stop on SIGTERM',
  common: ['accounts', 'liftPrivacy'],
  async run(context, options) {
    // The worker migrates by itself, as soon as the database is there.
    const needs = { ...options, needsService: true, migrates: 'by_itself' } as const;
    // Before the first statement and before the port is bound: if either hangs, the log shows which program it is.
    const config = configOf(context, needs);
    const { accounts, api } = config;
    const log = buildLogger(config);
    const first = accounts
      .slice(0, 5)
      .map(({ accountId, schedule }) => ({ account_id: accountId, ...schedule }));
    log.info(
      { version: VERSION, node: process.version, accounts: accounts.length, first, api },
      `safety-sync ${VERSION} is starting`,
    );
    const unlimited = describeUnlimited(accounts, api.requestsPerMinute);
    for (const warning of [unlimited, describeUnknown(config.unknownVariables)])
      if (warning !== null) log.warn(warning);
    return await runWithApp(context, needs, async (app) => {
      await runWorker(app, { liftPrivacy: options.liftPrivacy ?? false });
      return EXIT.ok;
    });
  },
};
