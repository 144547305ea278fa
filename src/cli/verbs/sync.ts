import { parseStreams } from '../arguments.ts';
import { runVerb } from '../run-verb.ts';
import { type CommonOptions, type Verb } from '../verb.ts';

interface SyncOptions extends CommonOptions {
  readonly force?: true;
  readonly allowMassDelete?: true;
}

export const sync: Verb<SyncOptions> = {
  name: 'sync',
  about: 'sync all streams or the named ones once, then exit',
  hasStreams: true,
  options: [
    ['--force', 'send requests also when no record can have changed yet (the training cache)'],
    ['--allow-mass-delete', 'accept a snapshot that the delete guard would refuse'],
  ],
  common: ['accounts', 'liftPrivacy', 'json'],
  run: async (context, options, names) =>
    await runVerb(context, options, {
      kind: 'sync',
      streams: parseStreams(names),
      force: options.force,
      allowMassDelete: options.allowMassDelete,
    }),
};
