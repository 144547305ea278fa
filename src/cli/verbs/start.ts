import { runWorker } from '../../operate/worker/run-worker.ts';
import { VERSION } from '../../version.ts';
import type { Verb } from '../verb.ts';

export const start: Verb = {
  about: 'the worker: migrate, sync and reconcile on schedule, serve health, metrics and a status page',
  common: ['accounts', 'liftPrivacy'],
  // The worker migrates by itself, as soon as the database is there.
  needs: () => ({ needsService: true, migrates: 'by_itself' }),
  async run({ app }, { liftPrivacy = false }) {
    // Before the first statement and before the port is bound: if either hangs, the log shows which program it is.
    const { accounts, api } = app.config;
    const fields = { version: VERSION, node: process.version, accounts: accounts.length, api };
    app.log.info(fields, `safety-sync ${VERSION} is starting`);
    await runWorker(app, { liftPrivacy });
  },
};
