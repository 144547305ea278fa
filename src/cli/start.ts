import { describeConfig } from '../worker/describe-config.ts';
import { runWorker } from '../worker/run-worker.ts';
import { VERSION } from '../version.ts';
import { EXIT } from './run-results.ts';
import { type AccountOption, type Verb, withApp } from './verb.ts';

export const start: Verb<AccountOption> = {
  name: 'start',
  about:
    'the long-lived worker: migrates, syncs on schedule, serves health, metrics and a status page, stops on SIGTERM',
  hasAccounts: true,
  run: async (context, options) =>
    await withApp(
      context,
      {
        ...options,
        needsService: true,
        // The worker migrates by itself, as soon as the database is there.
        migrates: 'by_itself',
        // Before the database is asked and the port is bound: whatever hangs then, the log says who it is.
        begin: (config, log) =>
          log.info(describeConfig(config, VERSION), `safety-sync ${VERSION} is starting`),
      },
      async (app) => {
        await runWorker(app);
        return EXIT.ok;
      },
    ),
};
